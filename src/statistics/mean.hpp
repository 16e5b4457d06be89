// SPDX-License-Identifier: Apache-2.0
// The arithmetic mean of keys.
#pragma once

#include <cstdint>
#include <span>

#include "device/block_sums.hpp"
#include "spansort/types.hpp"
#include "statistics/select.hpp"

namespace spansort::statistics {

/// Returns the mean of the keys that are not NaN; NaN where there are none, and where +inf meets -inf. Integers are
/// summed exactly. Floats are summed in double, in blocks of fixed size whose sums are added with compensation: the
/// result does not depend on the number of threads. Infinite where the sum overflows. One parallel read; blocks.
[[nodiscard]] double mean(const const_key_span& keys);

/// Returns the mean of keys on devices, with the same bits, however the keys are cut into chunks: blocks that lie in
/// two chunks are brought to the host. Memory there: 32 bytes a block, and up to two blocks a chunk. Throws what queued
/// work throws.
[[nodiscard]] double mean(key_type type, std::span<const key_chunk> chunks);

/// What the mean of one process's keys among several is made of.
struct number_total {
  std::int64_t high = 0;  ///< integers: the sum is high * 2^64 + low, exactly
  std::uint64_t low = 0;
  double of_floats = 0;  ///< floats: the sum is of_floats + lost
  double lost = 0;
  std::uint64_t num_numbers = 0;
};
/// Adds the sum of the block of keys that follows those added before. The total of all blocks is that of total_of().
void add_to(number_total& total, const device::block_sum& block);
[[nodiscard]] number_total total_of(key_type type, std::span<const key_chunk> chunks);

/// Returns the mean of all totals together, in their order. One total gives the same bits as mean(); of several, sums
/// of floats are rounded otherwise than those of the same keys in one process.
[[nodiscard]] double mean_of(key_type type, std::span<const number_total> totals);

}  // namespace spansort::statistics
