// SPDX-License-Identifier: Apache-2.0
// Sizes of the counting finish.
#pragma once

#include <cstdint>

#include "device/cuda/tuning/kernel_family.hpp"

namespace spansort::device::cuda {

/// Keys of 4 bytes are counted by their lowest 16 bits, in buckets of those that agree in the others.
inline constexpr unsigned counted_bits = 16;
inline constexpr unsigned counted_values = 1U << counted_bits;
inline constexpr unsigned counted_buckets = 1U << (32 - counted_bits);

/// Positions have 32 bits, also those behind the last tile, and values are held in registers.
inline constexpr std::uint64_t most_counted_records = (std::uint64_t{1} << 32) - (std::uint64_t{1} << 16);
inline constexpr unsigned most_counted_value_bytes = 8;
[[nodiscard]] constexpr bool is_counted_width(unsigned value_bytes) noexcept {
  return value_bytes == 0 || value_bytes == 4 || value_bytes == most_counted_value_bytes;
}

/// Threads of a block: the first for keys alone and for fewer records with values, the second for more of these.
inline constexpr unsigned counting_finish_threads[2] = {512, 1024};
/// Blocks for each multiprocessor, where it has room.
[[nodiscard]] constexpr unsigned counting_finish_blocks_each(unsigned threads, unsigned value_bytes) noexcept {
  return (value_bytes == 0 ? 1536 : 1024) / threads;
}

/// Keys that a thread holds of a bucket of few.
inline constexpr unsigned counting_finish_held_keys = 9;
/// Buckets may have so many records on average for blocks of the lesser size to hold them: these have an eighth more
/// room, which is 8 deviations of an even bucket's size at the least.
inline constexpr std::uint64_t most_average_of_few = std::uint64_t{8} * counting_finish_threads[0];

/// Buckets of no more keys are counted in 2 bits a value first: one in 8 of the largest has a value of more than three.
inline constexpr unsigned most_keys_of_2_bits = counted_values / 12;
/// Keys alone of no more are counted in 4 bits a value, of which there are then two keys at most on average.
inline constexpr unsigned most_sparse_keys = 2 * counted_values;
/// Keys that are written from shared memory at once, where they are not few.
inline constexpr unsigned staged_keys = 15360;

/// Blocks have counters of 64 KiB and more beside them.
[[nodiscard]] constexpr bool has_counting_finish(kernel_family family) noexcept {
  return family != kernel_family::turing;
}

}  // namespace spansort::device::cuda
