// SPDX-License-Identifier: Apache-2.0
// Numbers of records up to which the sorts of few records are the best choice.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/cuda/tuning/small_sorts_policy.hpp"

namespace spansort::device::cuda {

inline constexpr std::string_view small_sorts_provenance = "race of several shapes on an H200 with CUDA 13.0";

/// One block sorts what it can: up to there it is faster than several that meet. Measured on an H200, us of a call
/// that waits, for u32, u64 and u64(u64) by a block and by a grid: 16, 16 and 20 against 24, 24 and 26 for 2^12
/// uniform records, 21, 22 and 26 against 24, 23 and 26 for 2^13; where keys crowd (AND of four words) 33, 55 and 61
/// against 42, 70 and 77 for 2^13.
inline constexpr std::uint64_t most_paying_block_sort_keys = most_block_sort_keys;

/// Returns the number of records up to which a grid is the better choice. Measured on an H200, us of a call that waits
/// by a grid and by onesweep. Where the highest digit tells keys apart (uniform ones) it pays up to 2^20: 24 and 69
/// for 2^18 u32, 26 and 99 for 2^18 u64, 37 and 104 for 2^19 u64, 46 and 156 for 2^19 u64(u64). Where keys crowd, those
/// of 8 bytes go by splitters: f64 of [0, 1) 74 and 105 for 2^19, f64(u64) 108 and 200, zipf 1 72 and 101, 16 values 51
/// and 93; the AND of two and of four words, whose buckets crowd, too, 133 and 108, and 114 and 105. Keys of 4 bytes go
/// by all digits: 61 and 71 for 2^19 u32 but 82 and 73 for 2^20, 58 and 67 for 2^18 f32(u32) but 81 and 69 for 2^19.
/// Keys of one and two bytes: 27 and 32, and 39 and 44, for 2^20, but 41 and 39, and 63 and 54, for 2^21.
[[nodiscard]] constexpr std::uint64_t most_paying_grid_sort_keys(unsigned key_bytes, unsigned value_bytes) noexcept {
  if (key_bytes == 8) return std::uint64_t{1} << 19;
  if (value_bytes != 0) return std::uint64_t{1} << 18;
  return key_bytes == 4 ? std::uint64_t{1} << 19 : std::uint64_t{1} << 20;
}

}  // namespace spansort::device::cuda
