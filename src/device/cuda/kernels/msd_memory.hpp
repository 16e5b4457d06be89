// SPDX-License-Identifier: Apache-2.0
// The kernels of the MSD hybrid sort tell each other of buckets that are still large and of jobs of the finish, and
// this is the device memory where these lie. All of it is made on the device, so that no level of the sort waits for
// the host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/math.hpp"
#include "device/cuda/tuning/msd_hybrid_policy.hpp"

namespace spansort::device::cuda {

/// Levels of digits: all of a 64-bit key, behind the two of records in order.
inline constexpr unsigned max_msd_levels = 10;

/// Inputs of 2^32 records and more are sorted by another algorithm: positions have 32 bits.
inline constexpr std::uint64_t most_msd_keys = (std::uint64_t{1} << 32) - 1;

/// Buckets that are too large for a finish are partitioned once more, level by level, or each of them is sorted by one
/// block. That is one launch, but slow where they are many or very large.
enum class large_buckets : std::uint8_t { by_levels, by_one_block_each };

/// The order in which a sort finds its records, and how it goes on.
struct msd_beginning {
  /// They are in order by so many of the highest bits in which their keys may differ, which are 8 at least and not all,
  /// and more than 8 of those of a whole key that goes by levels; 0: in none. Keys that have a spread are in order by
  /// their buckets instead, of which there are 2 to the power of this.
  unsigned num_bits = 0;
  large_buckets large = large_buckets::by_levels;  ///< of those in order; others go by levels

  /// Returns the number of buckets that fall into 256 smaller ones each as the sort begins.
  [[nodiscard]] constexpr std::uint64_t num_buckets() const noexcept {
    return num_bits == 0 ? 1 : std::uint64_t{1} << (num_bits - max_partition_bits);
  }
};

/// A bucket that is partitioned. Of the two arrays, `side` tells in which one its records lie.
struct alignas(16) msd_bucket {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
  std::uint32_t first_tile = 0;
  std::uint16_t side = 0;
  std::uint16_t stays = 0;  ///< all records have the same digit, so they stay where they are
};

/// Neighbouring records that one block finishes.
struct alignas(8) msd_job {
  std::uint32_t begin = 0;
  std::uint32_t count_and_side = 0;  ///< twice the count, and the side

  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return count_and_side >> 1; }
  [[nodiscard]] constexpr std::uint32_t side() const noexcept { return count_and_side & 1; }
};

/// Counters, which are zeroed before.
struct msd_control {
  std::uint32_t num_buckets[max_msd_levels + 1] = {};
  std::uint32_t num_tiles[max_msd_levels + 1] = {};
  std::uint32_t next_tile[max_msd_levels] = {};
  std::uint32_t num_jobs[num_finish_sizes] = {};
};

/// Device memory of one sort. What two levels share alternates between them: one reads what it was told, and tells the
/// next.
struct msd_memory {
  msd_control* control = nullptr;
  std::uint64_t* tile_states = nullptr;   ///< [most_tiles][max_partition_buckets], zeroed before; of partitions alone
  std::uint32_t* counts[2] = {};          ///< [most_buckets][max_partition_buckets]
  msd_bucket* buckets[2] = {};            ///< [most_buckets]
  std::uint32_t* bucket_of_tile[2] = {};  ///< [most_tiles]
  msd_job* jobs[num_finish_sizes] = {};   ///< [most_jobs] each
  std::uint32_t most_buckets = 0;
  std::uint32_t most_tiles = 0;
  std::uint64_t zeroed_bytes = 0;  ///< from the beginning on
  std::uint64_t size_bytes = 0;

  /// Lays the memory out for so many records; with `memory` null it only tells the size. `num_other_jobs` are those of
  /// each size that the caller adds to what the sort makes.
  [[nodiscard]] static msd_memory in(void* memory, std::uint64_t num_keys, const msd_limits& limits,
                                     std::uint64_t num_other_jobs = 0, const msd_beginning& beginning = {}) noexcept {
    // Large buckets do not overlap, and neither do their tiles. A level may add a tile that is not full to each.
    const std::uint64_t most_buckets = std::max(num_keys / limits.most_finished() + 1, beginning.num_buckets());
    const std::uint64_t most_tiles = num_keys / limits.tile_keys + most_buckets + 1;
    std::uint64_t at = 0;
    const auto take = [&](std::uint64_t bytes) {
      char* const taken = memory == nullptr ? nullptr : static_cast<char*>(memory) + at;
      at += base::ceil_div(bytes, std::uint64_t{256}) * 256;
      return taken;
    };
    msd_memory m;
    m.most_buckets = static_cast<std::uint32_t>(most_buckets);
    m.most_tiles = static_cast<std::uint32_t>(most_tiles);
    m.control = reinterpret_cast<msd_control*>(take(sizeof(msd_control)));
    // The first bucket's counts and all states are zeroed together. Counts of later buckets are zeroed with their
    // making.
    const std::uint64_t num_states =
        beginning.large == large_buckets::by_levels ? most_tiles * max_partition_buckets : 0;
    m.tile_states = reinterpret_cast<std::uint64_t*>(take(num_states * sizeof(std::uint64_t)));
    m.zeroed_bytes = at + max_partition_buckets * sizeof(std::uint32_t);
    for (unsigned i = 0; i < 2; ++i) {
      m.counts[i] =
          reinterpret_cast<std::uint32_t*>(take(most_buckets * max_partition_buckets * sizeof(std::uint32_t)));
    }
    for (unsigned i = 0; i < 2; ++i) {
      m.buckets[i] = reinterpret_cast<msd_bucket*>(take(most_buckets * sizeof(msd_bucket)));
      m.bucket_of_tile[i] = reinterpret_cast<std::uint32_t*>(take(most_tiles * sizeof(std::uint32_t)));
    }
    for (msd_job*& jobs : m.jobs) {
      jobs = reinterpret_cast<msd_job*>(
          take((most_jobs(num_keys, most_buckets, limits) + num_other_jobs) * sizeof(msd_job)));
    }
    m.size_bytes = at;
    return m;
  }

  /// Returns more jobs than any input makes. Fused neighbours begin in a cell of their own but where a bucket that is
  /// not fused lies between: that one adds itself and two that are cut short. Large ones are such on every level.
  [[nodiscard]] static std::uint64_t most_jobs(std::uint64_t num_keys, std::uint64_t most_buckets,
                                               const msd_limits& limits) noexcept {
    const std::uint64_t of_cells = num_keys / limits.cell_keys;
    const std::uint64_t of_others = 3 * (num_keys / limits.fused_keys);
    const std::uint64_t of_large = 4 * max_msd_levels * most_buckets;
    return of_cells + of_others + of_large + 64;
  }
};

}  // namespace spansort::device::cuda
