// SPDX-License-Identifier: Apache-2.0
// The short way of a sort: small arrays of keys alone, of which nobody wants to hear more than the result.
#pragma once

#include "algorithms/sort_settings.hpp"
#include "spansort/types.hpp"

namespace spansort::sorting {

/// Returns whether a sort by `options` may take the short way: these are valid, leave the choice of devices and
/// algorithm open or name the CPU alone, set no ceiling on memory, and want neither report nor progress.
[[nodiscard]] bool allow_short_way(const sort_options& options);

/// Sorts small arrays on the calling thread, after the checks that every sort makes. Returns false, with nothing done,
/// where there are too many keys.
bool sort_short(key_span keys, direction d);

}  // namespace spansort::sorting
