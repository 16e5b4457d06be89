// SPDX-License-Identifier: Apache-2.0
// The keys beyond the whiskers of a box plot: all of them, which a summary does not hold.
#pragma once

#include "base/byte_buffer.hpp"
#include "spansort/statistics.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

/// Those of `keys`, in their order, as write_outliers() writes them.
[[nodiscard]] base::byte_buffer outliers_of(const const_key_span& keys, const summary& box);

}  // namespace spansort::files
