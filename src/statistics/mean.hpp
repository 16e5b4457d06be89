// SPDX-License-Identifier: Apache-2.0
// The arithmetic mean of keys.
#pragma once

#include <cstdint>
#include <span>

#include "spansort/types.hpp"
#include "statistics/select.hpp"

namespace spansort::statistics {

/// Of the keys that are not NaN; NaN where there are none, and where +inf meets -inf. Integers are summed exactly. Floats
/// are summed in double, in blocks of fixed size whose sums are added with compensation: the result does not depend on
/// the number of threads. Infinite where the sum overflows. One parallel read; blocks.
[[nodiscard]] double mean(const const_key_span& keys);

/// The same of keys on devices, and the same bits, however the keys are cut into chunks: blocks that lie in two chunks are
/// brought to the host. Memory there: 32 bytes a block, and up to two blocks a chunk. Throws what queued work throws.
[[nodiscard]] double mean(key_type type, std::span<const key_chunk> chunks);

}  // namespace spansort::statistics
