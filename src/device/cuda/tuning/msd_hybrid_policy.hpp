// SPDX-License-Identifier: Apache-2.0
// Sizes of the MSD hybrid sort: the partition of large buckets, the finish of small ones in blocks of three sizes, and
// from where on a bucket is small.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "device/cuda/tuning/kernel_family.hpp"
#include "device/cuda/tuning/workspace_sizes.hpp"

namespace spansort::device::cuda {

/// A block of the histogram or the partition.
struct msd_partition_policy {
  unsigned threads = 0;
  unsigned items = 0;        ///< records that a thread takes of a tile
  unsigned blocks_each = 0;  ///< blocks for each multiprocessor, which all run at once
  unsigned histogram_blocks_each = 0;
  unsigned look_back = 0;  ///< earlier tiles whose states are read together

  [[nodiscard]] constexpr unsigned tile_keys() const noexcept { return threads * items; }
  friend constexpr bool operator==(const msd_partition_policy&, const msd_partition_policy&) = default;
};

/// A record takes the room of the longer one of its key and its value in shared memory, and 2 bytes for the place that
/// a value comes from. Two blocks fit a multiprocessor, each with counters of 16 KiB for its warps and 2 KiB of others.
[[nodiscard]] constexpr tuned<msd_partition_policy> msd_partition_policy_of(unsigned key_bytes,
                                                                            unsigned value_bytes) noexcept {
  constexpr unsigned threads = 512;
  constexpr unsigned counters_bytes = threads / 32 * 1024 + 2048;
  const unsigned record_bytes = std::max(key_bytes, value_bytes) + (value_bytes == 0 ? 0 : 2);
  const unsigned fitting = ((99U << 10) - counters_bytes) / threads / record_bytes;
  const unsigned most = value_bytes != 0 ? 26 : (key_bytes == 8 ? 18 : 34);
  return {{threads, std::min(most, fitting), 2, 2, 4}, "computed from shared memory, not measured"};
}

/// A bucket is finished by a block of the least size that has room for it.
inline constexpr unsigned num_finish_sizes = 3;
inline constexpr std::array<unsigned, num_finish_sizes> finish_threads{256, 512, 1024};

/// Bins of a finish for each thread. A bin is a counter of 16 bits.
inline constexpr unsigned bins_a_thread = 8;

/// Records that a thread takes of a finish. The largest blocks hold 8-byte keys with the places that they came from in
/// the 99 KiB that a block may have.
[[nodiscard]] constexpr unsigned finish_items(unsigned key_bytes, bool keeps_places, unsigned threads) noexcept {
  return key_bytes == 8 && keeps_places && threads == 1024 ? 8 : 9;
}
/// Blocks of a finish that one multiprocessor has room for; their registers add up to what it has.
[[nodiscard]] constexpr unsigned finish_blocks_each(unsigned threads) noexcept { return 1024 / threads; }

/// A finish orders records by bins where that takes no more than so many comparisons a record, else by rounds of
/// digits. Not measured.
inline constexpr unsigned most_comparisons_each = 16;

/// The number of a bucket's records decides this.
struct msd_limits {
  unsigned finish_keys[num_finish_sizes] = {};  ///< records of the largest bucket that each size finishes
  unsigned fused_keys = 0;                      ///< neighbours up to this size may be fused
  unsigned cell_keys = 0;                       ///< neighbours that begin in the same cell of so many records are
  unsigned tile_keys = 0;                       ///< of a partition

  [[nodiscard]] constexpr unsigned most_finished() const noexcept { return finish_keys[num_finish_sizes - 1]; }
};

/// Returns the limits for a shape. What is fused fits in a block of the middle size: a cell, and what its last bucket
/// has behind it.
[[nodiscard]] constexpr msd_limits msd_limits_of(unsigned key_bytes, unsigned value_bytes, bool keeps_places) noexcept {
  msd_limits limits;
  for (unsigned i = 0; i < num_finish_sizes; ++i) {
    limits.finish_keys[i] = finish_threads[i] * finish_items(key_bytes, keeps_places, finish_threads[i]);
  }
  limits.fused_keys = limits.finish_keys[1] / 4;
  limits.cell_keys = limits.finish_keys[1] - limits.fused_keys;
  limits.tile_keys = msd_partition_policy_of(key_bytes, value_bytes).sizes.tile_keys();
  return limits;
}

/// All levels of up to so many records are one launch. On an H100 that took for 2^20 / 2^22 / 2^24 / 2^26 u64, the look
/// at the keys included, 0.132 / 0.323 / 0.895 / 2.83 ms instead of 0.215 / 0.366 / 0.922 / 2.80, for u64(u64) 0.142 /
/// 0.441 / 1.31 / 4.73 instead of 0.227 / 0.529 / 1.30 / 4.47.
inline constexpr std::uint64_t most_keys_of_one_launch = std::uint64_t{1} << 24;

/// GPUs that have too little shared memory for these kernels sort by another algorithm.
[[nodiscard]] constexpr bool has_msd_hybrid(kernel_family family) noexcept { return family != kernel_family::turing; }

}  // namespace spansort::device::cuda
