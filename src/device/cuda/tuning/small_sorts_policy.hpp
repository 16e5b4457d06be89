// SPDX-License-Identifier: Apache-2.0
// Sizes of the sorts of few records: in one block, which holds all of them on chip, and in one launch of blocks that
// run at once and meet at barriers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "device/cuda/tuning/kernel_family.hpp"

namespace spansort::device::cuda {

/// Threads of a block, and records that each of them takes.
struct block_sort_shape {
  unsigned threads = 0;  ///< a multiple of the 256 buckets of a digit
  unsigned items = 0;

  [[nodiscard]] constexpr unsigned most_keys() const noexcept { return threads * items; }
  friend constexpr bool operator==(const block_sort_shape&, const block_sort_shape&) = default;
};

/// The least shape that has room for the records sorts them. Each step of a sort is straight code for all items of a
/// thread, and a kernel that runs for a few microseconds waits for its instructions to come from memory: so shapes have
/// few items where records are few.
inline constexpr std::array<block_sort_shape, 4> block_sort_shapes{{{256, 4}, {512, 4}, {1024, 4}, {1024, 8}}};
inline constexpr unsigned most_block_sort_keys = block_sort_shapes.back().most_keys();

/// Keys that spread over bins are ordered by comparisons within each bin where that takes no more than so many a key,
/// else by digits.
inline constexpr unsigned most_chip_comparisons_each = 16;

/// Keys that differ in no more bits go by digits, which are two then.
inline constexpr unsigned most_digit_sort_bits = 16;

inline constexpr unsigned grid_sort_threads = 1024;

/// The sizes of a grid sort. A block has a tile of items for each thread, or several. Buckets of its partition are
/// finished on chip where `finish_items` for each thread have room for them.
struct grid_sort_shape {
  unsigned items = 0;
  unsigned finish_items = 0;
};
inline constexpr unsigned num_grid_sort_shapes = 2;

/// The first shape is for records of which each block has few. The second fills the 99 KiB that a block may have.
[[nodiscard]] constexpr grid_sort_shape grid_sort_shape_of(unsigned number, unsigned key_bytes,
                                                           unsigned value_bytes) noexcept {
  if (number == 0) return {2, 4};
  return {value_bytes == 16 ? 4U : 8U, key_bytes == 8 ? 8U : 12U};
}

/// Counts of a block's records are kept in 16 bits.
inline constexpr unsigned most_grid_sort_block_keys = 0xffff;

/// Blocks that meet, for whose counts the workspace has room.
inline constexpr unsigned most_grid_sort_blocks = 240;
inline constexpr std::uint64_t most_grid_sort_keys = std::uint64_t{1} << 22;

/// GPUs that have too little shared memory for these kernels sort by onesweep.
[[nodiscard]] constexpr bool has_small_sorts(kernel_family family) noexcept { return family != kernel_family::turing; }

}  // namespace spansort::device::cuda
