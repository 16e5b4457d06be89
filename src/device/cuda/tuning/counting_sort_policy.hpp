// SPDX-License-Identifier: Apache-2.0
// Sizes of the counting sort of narrow keys.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/cuda/tuning/kernel_family.hpp"

namespace spansort::device::cuda {

/// Threads of a block that counts, and vectors of 16 bytes that each of them loads before it counts.
inline constexpr unsigned counting_threads = 1024;
inline constexpr unsigned counting_vectors = 4;

/// Threads of a block that writes, and vectors of 16 bytes that each of them writes.
inline constexpr unsigned filling_threads = 256;
inline constexpr unsigned filling_vectors = 4;
/// Values of a block that writes, whose places it keeps in shared memory. A block with more looks them up in memory.
inline constexpr unsigned most_filled_values = 4096;

/// Values that a key of so many bytes may have.
[[nodiscard]] constexpr unsigned num_values(unsigned key_bytes) noexcept { return 1U << (8 * key_bytes); }

/// A block counts the keys of one range of values, for which shared memory has room: each range reads all keys.
[[nodiscard]] constexpr unsigned num_value_ranges(kernel_family family, unsigned key_bytes) noexcept {
  if (key_bytes == 1) return 1;
  return family == kernel_family::hopper ? 2 : 4;
}
/// Counters of one value, side by side, so that threads meet less often where there are few values.
[[nodiscard]] constexpr unsigned num_count_columns(unsigned key_bytes) noexcept { return key_bytes == 1 ? 8 : 1; }
[[nodiscard]] constexpr unsigned counting_shared_bytes(kernel_family family, unsigned key_bytes) noexcept {
  return num_values(key_bytes) / num_value_ranges(family, key_bytes) * num_count_columns(key_bytes) * 4;
}
static_assert(counting_shared_bytes(kernel_family::turing, 2) <= most_shared_bytes(kernel_family::turing));
static_assert(counting_shared_bytes(kernel_family::ampere, 2) <= most_shared_bytes(kernel_family::ampere));
static_assert(counting_shared_bytes(kernel_family::hopper, 2) <= most_shared_bytes(kernel_family::hopper));

/// Keys that a thread takes where one block sorts keys of one byte in one launch.
inline constexpr unsigned block_counting_keys = 4;
inline constexpr std::uint64_t most_block_counting_keys = std::uint64_t{counting_threads} * block_counting_keys;

inline constexpr std::string_view counting_provenance = "race with the sorts of few records on an H100 with CUDA 13.0";

/// Returns the number of keys from which on counting is faster than the sorts of few records, and than onesweep.
/// Measured on an H100, us of a call that waits, by counting and by the better of the others: 2^19 u8 22 to 28 and 24
/// to 26, 2^20 26 and 28; 2^20 u16 51 and 38, and 75 and 42 of the AND of four words; 2^24 102 and 176, and 159 and
/// 202; 2^28 502 and 1,916, and 893 and 2,139; 2^28 u8 264 and 1,011.
[[nodiscard]] constexpr std::uint64_t least_counted_keys(unsigned key_bytes) noexcept {
  return std::uint64_t{1} << (key_bytes == 1 ? 19 : 23);
}

}  // namespace spansort::device::cuda
