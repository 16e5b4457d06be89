// SPDX-License-Identifier: Apache-2.0
// Sizes of the segmented sort: up to which length a thread, a warp and a block sort a segment, and from where on it is
// partitioned. The bounds between threads, warps and blocks are computed from registers and shared memory of compute
// capability 9.0; blocks of 128 threads were faster than ones of 256 for a thread's segments (H200, CUDA 13.0).
#pragma once

#include <array>
#include <cstdint>

#include "device/cuda/tuning/kernel_family.hpp"
#include "device/cuda/tuning/msd_hybrid_policy.hpp"
#include "device/cuda/tuning/small_sorts_policy.hpp"

namespace spansort::device::cuda {

/// One thread sorts a segment of so many keys in its registers.
inline constexpr unsigned most_thread_keys = 32;
inline constexpr unsigned segment_thread_block = 128;  ///< threads of a block that does, at most
/// Blocks that one multiprocessor runs at once. Registers bound them: of each item a thread holds 4, 8 or 12 bytes.
[[nodiscard]] constexpr unsigned segment_thread_blocks_each(unsigned item_bytes) noexcept {
  return item_bytes == 4 ? 8 : (item_bytes == 8 ? 5 : 4);
}

/// Neighbouring lanes of a warp sort a segment together, each with some of its keys in its registers.
struct segment_warp_class {
  unsigned lanes = 0;  ///< of each segment
  unsigned each = 0;   ///< keys of each lane

  [[nodiscard]] constexpr unsigned most_keys() const noexcept { return lanes * each; }
  /// Returns how far apart a warp's segments lie in shared memory: they have room for the padding of their results, and
  /// lanes that read neighbouring keys of all segments find them in different banks.
  [[nodiscard]] constexpr unsigned stride() const noexcept {
    unsigned stride = most_keys() + most_keys() / 16;
    while (lanes != 32 && stride % 32 != lanes) ++stride;
    return stride;
  }
};
/// Segments are listed by the least class that has room for them: 4, 8, 16 or 32 lanes with 12 or 16 keys each.
inline constexpr unsigned num_warp_classes = 8;
[[nodiscard]] constexpr segment_warp_class segment_warp_class_of(unsigned number) noexcept {
  return {4U << number / 2, number % 2 == 0 ? 12U : 16U};
}
inline constexpr unsigned most_warp_keys = segment_warp_class_of(num_warp_classes - 1).most_keys();
/// Returns the length from which on segments are of another class than those before: 1 more than the class before has.
[[nodiscard]] constexpr unsigned least_keys_of_class(unsigned number) noexcept {
  return number == 0 ? most_thread_keys + 1 : segment_warp_class_of(number - 1).most_keys() + 1;
}
/// Shared memory of a warp has room for so many keys.
inline constexpr unsigned segment_warp_slots = 544;
inline constexpr unsigned segment_warp_block = 128;
[[nodiscard]] constexpr unsigned segment_warp_blocks_each(unsigned item_bytes) noexcept {
  return item_bytes == 4 ? 8 : (item_bytes == 8 ? 6 : 4);
}

/// A block sorts longer ones, and the parts into which the longest have been partitioned, on chip: the least of three
/// shapes that has room. Segments that are partitioned are read three times, so that the largest shape has as many
/// records as a multiprocessor has registers for, and as 99 KiB of shared memory, which every GPU from Ampere on lets
/// a block have, hold with keys of 4 bytes.
[[nodiscard]] constexpr block_sort_shape segment_block_shape_of(unsigned number, unsigned key_bytes,
                                                                bool keeps_places) noexcept {
  if (number < num_finish_sizes - 1) return {256U << number, 8};
  return {1024, key_bytes == 8 ? 8U : (keeps_places ? 12U : 20U)};
}
/// Records that each thread of a block takes of jobs that have no more: code for more of them is slower. On an H200
/// 2^24 u32 in rows of 8,192 took 190 us, and 253 by code for 20.
inline constexpr unsigned few_segment_items = 8;
/// Blocks of a shape that one multiprocessor runs at once, by their registers.
[[nodiscard]] constexpr unsigned segment_blocks_each(unsigned threads) noexcept { return 1024 / threads; }

/// Returns the limits of the partitions of longer segments.
[[nodiscard]] constexpr msd_limits segment_limits_of(unsigned key_bytes, unsigned value_bytes) noexcept {
  msd_limits limits;
  for (unsigned i = 0; i < num_finish_sizes; ++i) {
    limits.finish_keys[i] = segment_block_shape_of(i, key_bytes, value_bytes != 0).most_keys();
  }
  limits.fused_keys = limits.finish_keys[1] / 4;
  limits.cell_keys = limits.finish_keys[1] - limits.fused_keys;
  limits.tile_keys = msd_partition_policy_of(key_bytes, value_bytes).sizes.tile_keys();
  return limits;
}

/// GPUs that have too little shared memory for the blocks' kernels sort no segments.
[[nodiscard]] constexpr bool has_segmented_sort(kernel_family family) noexcept {
  return has_msd_hybrid(family) && has_small_sorts(family);
}

}  // namespace spansort::device::cuda
