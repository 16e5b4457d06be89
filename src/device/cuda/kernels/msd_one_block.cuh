// SPDX-License-Identifier: Apache-2.0
// One block sorts each large bucket here. A look at the keys has promised that there are none or few of them, so that
// one launch that mostly has nothing to do takes the place of three for each level that a key could take.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/msd_levels.cuh"
#include "device/cuda/kernels/one_block_partition.cuh"

namespace spansort::device::cuda {

inline constexpr unsigned msd_one_block_threads = 512;

/// Sorts the large buckets that are listed for a level by the lowest `num_bits` bits, in which alone the keys of each
/// differ. Any number of blocks of msd_one_block_threads threads. For every 8 bits the keys are read, and records are
/// read and written where these bits differ; they are once more where they would end on the wrong side.
template <class K, class V, class Order>
__global__ void __launch_bounds__(msd_one_block_threads)
    msd_one_block_kernel(Order order, __grid_constant__ const msd_arguments<K, V> a, unsigned level,
                         unsigned num_bits) {
  if constexpr (compiles_msd_hybrid) {
    using partition = one_block_partition<msd_one_block_threads>;
    __shared__ typename partition::shared_memory shared;
    const std::uint32_t num_buckets = a.memory.control->num_buckets[level];
    for (std::uint32_t b = blockIdx.x; b < num_buckets; b += gridDim.x) {
      const msd_bucket bucket = a.memory.buckets[level % 2][b];
      const auto records_on = [&](unsigned side) {
        typed_records<K, V> all = a.sides[side];
        all.keys += bucket.begin;
        if constexpr (value_bytes_of<V> != 0) all.values += bucket.begin;
        return all;
      };
      unsigned side = bucket.side;
      for (unsigned shift = 0; shift < num_bits; shift += partition::digit_bits) {
        const unsigned mask = (1U << min(partition::digit_bits, num_bits - shift)) - 1;
        const auto digit_of = [&](K key) { return digit_of_key(order, key, shift, mask); };
        // Large buckets are most often those of one key.
        if (partition::count_digits(records_on(side).keys, bucket.count, digit_of, shared)) continue;
        partition::move(records_on(side), records_on(side ^ 1U), bucket.count, digit_of, shared);
        side ^= 1U;
      }
      if (side == a.result_side) continue;
      const typed_records<K, V> from = records_on(side);
      const typed_records<K, V> to = records_on(a.result_side);
      for (std::uint32_t i = threadIdx.x; i < bucket.count; i += msd_one_block_threads) {
        store_global(to.keys + i, from.keys[i]);
        if constexpr (value_bytes_of<V> != 0) store_global(to.values + i, from.values[i]);
      }
    }
  }
}

}  // namespace spansort::device::cuda
