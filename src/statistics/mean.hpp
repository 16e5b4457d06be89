// SPDX-License-Identifier: Apache-2.0
// The arithmetic mean of keys.
#pragma once

#include <cstdint>

#include "spansort/types.hpp"

namespace spansort::statistics {

/// Of the keys that are not NaN; NaN where there are none, and where +inf meets -inf. Integers are summed exactly. Floats
/// are summed in double, in blocks of fixed size whose sums are added with compensation: the result does not depend on
/// the number of threads. Infinite where the sum overflows. One parallel read; blocks.
[[nodiscard]] double mean(const const_key_span& keys);

}  // namespace spansort::statistics
