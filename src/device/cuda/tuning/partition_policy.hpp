// SPDX-License-Identifier: Apache-2.0
// Sizes of the partition kernel by the bytes of key and value.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "device/cuda/tuning/kernel_family.hpp"
#include "device/cuda/tuning/workspace_sizes.hpp"

namespace spansort::device::cuda {

struct partition_policy {
  unsigned threads = 0;       ///< of a block; at least the number of buckets, for each bucket has a thread
  unsigned items = 0;         ///< records that a thread takes
  unsigned least_blocks = 0;  ///< blocks that fit one multiprocessor at once, which bounds the registers of a thread
  unsigned look_back = 0;     ///< earlier tiles whose states are read together

  friend constexpr bool operator==(const partition_policy&, const partition_policy&) = default;
};

/// The bytes of keys and of values that partitions are compiled for.
inline constexpr std::array partition_key_bytes{1U, 2U, 4U, 8U};
inline constexpr std::array partition_value_bytes{0U, 4U, 8U, 16U};

struct partition_entry {
  kernel_family family = kernel_family::hopper;
  unsigned key_bytes = 0;
  unsigned value_bytes = 0;
  tuned<partition_policy> policy;
};

// The figures of `hopper` are one pass over 2^27 uniform records, over 2^28 where the entry says so, on an H100 with
// CUDA 13.0. They come from a sweep of 256 to 1,024 threads, 8 to 44 items, 1 to 5 blocks and 2 to 8 states; sizes that
// make the compiler spill lose. Those of keys of 4 bytes are from a sweep on an H200 with CUDA 13.0, and those of pairs
// from `./dev tune` there. Where sizes are within 3 % of each other those with more threads on a multiprocessor, or
// smaller tiles, are taken: inputs of a few million records have few tiles. The shared memory of a tile grows with
// threads * items, and partition_kernel asserts that it fits.
inline constexpr std::array<partition_entry, 37> partition_entries{{
    {kernel_family::hopper, 1, 0, {{512, 30, 2, 4}, "sweep on an H100: 0.44 ms"}},
    {kernel_family::hopper, 2, 0, {{512, 30, 2, 4}, "sweep on an H100: 0.47 ms"}},
    {kernel_family::hopper, 4, 0, {{384, 30, 3, 4}, "sweep on an H200: 0.91 ms for 2^28 records"}},
    {kernel_family::hopper, 8, 0, {{512, 18, 2, 4}, "sweep on an H100: 1.76 ms for 2^28 records"}},
    {kernel_family::hopper, 1, 4, {{512, 26, 2, 4}, "carried over from keys of 4 bytes, not measured"}},
    {kernel_family::hopper, 2, 4, {{512, 26, 2, 4}, "carried over from keys of 4 bytes, not measured"}},
    {kernel_family::hopper, 4, 4, {{512, 27, 2, 4}, "./dev tune on an H200: 1.49 ms for 2^28 records"}},
    {kernel_family::hopper, 8, 4, {{384, 21, 2, 4}, "./dev tune on an H200: 2.18 ms for 2^28 records"}},
    {kernel_family::hopper, 1, 8, {{512, 15, 2, 4}, "carried over from keys of 4 bytes, not measured"}},
    {kernel_family::hopper, 2, 8, {{512, 15, 2, 4}, "carried over from keys of 4 bytes, not measured"}},
    {kernel_family::hopper, 4, 8, {{384, 25, 2, 4}, "./dev tune on an H200: 2.16 ms for 2^28 records"}},
    {kernel_family::hopper, 8, 8, {{1024, 14, 1, 4}, "./dev tune on an H200: 2.52 ms for 2^28 records"}},
    {kernel_family::hopper, 1, 16, {{384, 12, 2, 4}, "carried over from keys of 4 bytes, not measured"}},
    {kernel_family::hopper, 2, 16, {{384, 12, 2, 4}, "carried over from keys of 4 bytes, not measured"}},
    {kernel_family::hopper, 4, 16, {{1024, 10, 1, 4}, "./dev tune on an H200: 3.17 ms for 2^28 records"}},
    {kernel_family::hopper, 8, 16, {{1024, 10, 1, 4}, "./dev tune on an H200: 3.66 ms for 2^28 records"}},
    {kernel_family::ampere, 4, 4, {{512, 26, 2, 4}, "the best within 99 KiB, on an H200; not measured"}},
    {kernel_family::ampere, 4, 8, {{512, 15, 2, 4}, "the best within 99 KiB, on an H200; not measured"}},
    {kernel_family::ampere, 8, 8, {{512, 15, 2, 4}, "the best within 99 KiB, on an H200; not measured"}},
    {kernel_family::ampere, 4, 16, {{384, 12, 2, 4}, "the best within 99 KiB, on an H200; not measured"}},
    {kernel_family::ampere, 8, 16, {{384, 12, 2, 4}, "the best within 99 KiB, on an H200; not measured"}},
    {kernel_family::turing, 1, 0, {{384, 21, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 2, 0, {{384, 21, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 4, 0, {{384, 21, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 8, 0, {{384, 10, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 1, 4, {{384, 14, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 2, 4, {{384, 14, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 4, 4, {{384, 14, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 8, 4, {{384, 8, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 1, 8, {{384, 8, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 2, 8, {{384, 8, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 4, 8, {{384, 8, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 8, 8, {{384, 8, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 1, 16, {{384, 4, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 2, 16, {{384, 4, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 4, 16, {{384, 4, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
    {kernel_family::turing, 8, 16, {{384, 4, 1, 4}, "computed from 64 KiB of shared memory, not measured"}},
}};

/// Returns the shared memory that a tile takes for each record: for the longer one of its key and its value, and for
/// the place in the tile that a value comes from.
[[nodiscard]] constexpr unsigned tile_record_bytes(unsigned key_bytes, unsigned value_bytes) {
  return std::max({key_bytes, value_bytes, 4U}) + (value_bytes == 0 ? 0 : 2);
}

/// Returns how `turing` is computed: half of the shared memory is for the records of a tile, the other half for the
/// counters.
static_assert(std::ranges::all_of(partition_entries, [](const partition_entry& e) {
  const partition_policy& p = e.policy.sizes;
  return e.family != kernel_family::turing ||
         p.items == 32768 / p.threads / tile_record_bytes(e.key_bytes, e.value_bytes);
}));

/// Returns the table's entry. `ampere` has entries of its own where those of `hopper` take more shared memory than it
/// has; it takes the others over. A combination of bytes that the table lacks does not compile where the compiler asks.
[[nodiscard]] constexpr tuned<partition_policy> partition_policy_of(kernel_family family, unsigned key_bytes,
                                                                    unsigned value_bytes) {
  const auto entry_for = [&](kernel_family of) {
    return std::ranges::find_if(partition_entries, [&](const partition_entry& e) {
      return e.family == of && e.key_bytes == key_bytes && e.value_bytes == value_bytes;
    });
  };
  const auto own = entry_for(family);
  if (own == partition_entries.end() && family == kernel_family::ampere) {
    return {entry_for(kernel_family::hopper)->policy.sizes, "carried over from 9.0, not measured"};
  }
  return own->policy;
}

/// Returns the sizes for digits of 9 bits: 512 threads, as there are buckets, and a tile that leaves room for the
/// counters of 16 warps and for the targets.
[[nodiscard]] constexpr tuned<partition_policy> wide_partition_policy_of(kernel_family family, unsigned key_bytes,
                                                                         unsigned value_bytes) {
  constexpr unsigned threads = 1U << max_published_bits;
  constexpr unsigned counters_bytes = threads / 32 * threads * 4;
  constexpr unsigned other_bytes = threads * 16 + 1024;
  const unsigned shared_bytes = std::min(most_shared_bytes(family), most_shared_bytes(kernel_family::ampere));
  const unsigned fitting = (shared_bytes - counters_bytes - other_bytes) / threads;
  const partition_policy& narrow = partition_policy_of(family, key_bytes, value_bytes).sizes;
  const unsigned items =
      std::min(narrow.threads * narrow.items / threads, fitting / tile_record_bytes(key_bytes, value_bytes));
  return {{threads, items, narrow.least_blocks, narrow.look_back}, "computed from shared memory, not measured"};
}

[[nodiscard]] constexpr partition_policy partition_policy_for(kernel_family family, unsigned key_bytes,
                                                              unsigned value_bytes, unsigned digit_bits) {
  return digit_bits > max_partition_bits ? wide_partition_policy_of(family, key_bytes, value_bytes).sizes
                                         : partition_policy_of(family, key_bytes, value_bytes).sizes;
}

/// Sizes of the partition that leaves keys of a bucket in any order.
struct unordered_partition_policy {
  unsigned threads = 0;  ///< of a block; at least the number of buckets, for each bucket has a thread
  unsigned items = 0;    ///< keys that a thread takes
  unsigned least_blocks = 0;
  unsigned crowded_part =
      0;  ///< a bucket with more than this part of a tile's keys has threads take positions by warps

  friend constexpr bool operator==(const unordered_partition_policy&, const unordered_partition_policy&) = default;
};

/// The figures are one pass over 2^28 uniform keys; with sizes that lose there by little, crowded buckets took longer
/// than in the ordered partition: 1,024 threads of 16 keys take 0.72 ms for uniform keys of 4 bytes, and 1.01 ms in the
/// place of 0.87 where six keys in ten share a digit.
[[nodiscard]] constexpr tuned<unordered_partition_policy> unordered_partition_policy_of(kernel_family family,
                                                                                        unsigned key_bytes) {
  if (family == kernel_family::turing) {
    return {{512, key_bytes == 8 ? 14U : 28U, 1, 8}, "computed from 64 KiB of shared memory, not measured"};
  }
  if (key_bytes == 8) return {{512, 20, 2, 8}, "sweep on an H200: 1.33 ms, where the ordered one takes 1.42"};
  if (key_bytes == 4) return {{512, 40, 1, 8}, "./dev tune on an H200: 0.74 ms, where the ordered one takes 0.90"};
  return {{512, 32, 2, 8}, "carried over from keys of 4 bytes, not measured"};
}

/// Returns the sizes for digits of max_unordered_bits of keys of 8 bytes: a thread a bucket, and as many keys as shared
/// memory has room for, so that a tile has some of each bucket.
[[nodiscard]] constexpr tuned<unordered_partition_policy> wide_unordered_policy_of(kernel_family family) {
  constexpr unsigned threads = 1U << max_unordered_bits;
  if (family == kernel_family::hopper) return {{threads, 20, 1, 8}, "H100: 41 us for 3.9e6 keys; no sweep"};
  const unsigned shared_bytes = std::min(most_shared_bytes(family), most_shared_bytes(kernel_family::ampere));
  const unsigned other_bytes = threads * 12 + 1024;
  return {{threads, (shared_bytes - other_bytes) / threads / 8, 1, 8}, "computed from shared memory, not measured"};
}

[[nodiscard]] constexpr unordered_partition_policy unordered_partition_policy_for(kernel_family family,
                                                                                  unsigned key_bytes,
                                                                                  unsigned digit_bits) {
  return digit_bits > max_partition_bits ? wide_unordered_policy_of(family).sizes
                                         : unordered_partition_policy_of(family, key_bytes).sizes;
}

}  // namespace spansort::device::cuda
