// SPDX-License-Identifier: Apache-2.0
// The kernels around the partitions of long segments: what begins them, and the blocks that finish on chip what they
// have made small, together with segments that a block sorts as they are.
#pragma once

#include "device/cuda/kernels/chip_sort.cuh"
#include "device/cuda/kernels/segment_arguments.cuh"

namespace spansort::device::cuda {

/// Returns whether long segments can be partitioned. Offsets that decrease make segments overlap: then the lists may
/// have no room for all, and no segment is partitioned.
template <class K>
[[nodiscard]] __device__ __forceinline__ bool has_room(const segment_arguments<K>& a) {
  const segment_memory& m = a.memory;
  return m.control->num_large_keys <= a.num_keys && m.msd.control->num_buckets[0] <= m.msd.most_buckets &&
         m.msd.control->num_tiles[0] <= m.msd.most_tiles;
}

/// Cuts what segments have asked for to what the lists have room for. One thread.
template <class K>
__global__ void segment_limit_kernel(__grid_constant__ const segment_arguments<K> a) {
  msd_control& control = *a.memory.msd.control;
  for (unsigned i = 0; i < num_finish_sizes; ++i) {
    control.num_jobs[i] = a.memory.control->num_whole[i] = min(control.num_jobs[i], a.memory.most_jobs[i]);
  }
  if (!has_room(a)) control.num_buckets[0] = control.num_tiles[0] = 0;
}

inline constexpr unsigned segment_positions_threads = 256;

/// Writes keys and positions to where the partitions of an argsort take them from. Any number of blocks of
/// segment_positions_threads threads. One read and one write of long segments.
template <class K>
__global__ void __launch_bounds__(segment_positions_threads)
    segment_positions_kernel(__grid_constant__ const segment_arguments<K> a, K* argsort_keys) {
  const msd_memory& m = a.memory.msd;
  for (std::uint32_t tile = blockIdx.x; tile < m.control->num_tiles[0]; tile += gridDim.x) {
    const msd_bucket bucket = m.buckets[0][m.bucket_of_tile[0][tile]];
    const std::uint32_t first = (tile - bucket.first_tile) * a.limits.tile_keys;
    const std::uint32_t count = min(bucket.count - first, a.limits.tile_keys);
    for (std::uint32_t i = threadIdx.x; i < count; i += segment_positions_threads) {
      const std::uint32_t position = bucket.begin + first + i;
      argsort_keys[position] = a.keys[position];
      store_index(a.to_values, a.index_bytes, position, first + i);
    }
  }
}

/// Where the parts of partitioned segments have their records.
template <class K>
struct segment_sides {
  const K* keys[2] = {};
  const void* values[2] = {};
};

/// Sorts the jobs of one size. Any number of blocks of `Threads` threads; dynamic shared memory of the size of
/// chip_sort<K, Order, KeepsPlaces, Threads, Items>::shared_memory. One read and one write of each record.
template <class K, class Order, bool KeepsPlaces, unsigned Threads, unsigned Items>
__global__ void __launch_bounds__(Threads, segment_blocks_each(Threads))
    segment_blocks_kernel(Order order, __grid_constant__ const segment_arguments<K> a,
                          __grid_constant__ const segment_sides<K> sides, unsigned size) {
  static_assert(Items >= few_segment_items);
  if constexpr (compiles_segmented_sort) {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    const auto sort_by = [&]<class Chip>(const chip_job<K>& job) {
      Chip(order, job, *reinterpret_cast<typename Chip::shared_memory*>(shared_bytes)).run();
    };
    const std::uint32_t num_jobs = a.memory.msd.control->num_jobs[size];
    for (std::uint32_t j = blockIdx.x; j < num_jobs; j += gridDim.x) {
      const msd_job listed = a.memory.msd.jobs[size][j];
      const bool is_whole = j < a.memory.control->num_whole[size];
      chip_job<K> job;
      job.keys = (is_whole ? a.keys : sides.keys[listed.side()]) + listed.begin;
      job.to_keys = a.to_keys == nullptr ? nullptr : a.to_keys + listed.begin;
      job.count = listed.count();
      job.is_partitioned = !is_whole;
      if constexpr (KeepsPlaces) {
        const unsigned width = max(a.value_bytes, a.index_bytes);
        const std::uint64_t begin = std::uint64_t{listed.begin} * width;
        job.values = static_cast<const char*>(sides.values[listed.side()]) + begin;
        job.to_values = static_cast<char*>(a.to_values) + begin;
        if (is_whole && a.index_bytes != 0) {
          job.index_bytes = a.index_bytes;
        } else {
          job.value_bytes = width;
        }
      }
      if (Items == few_segment_items || job.count <= Threads * few_segment_items) {
        sort_by.template operator()<chip_sort<K, Order, KeepsPlaces, Threads, few_segment_items>>(job);
      } else if constexpr (Items > few_segment_items) {
        sort_by.template operator()<chip_sort<K, Order, KeepsPlaces, Threads, Items>>(job);
      }
      __syncthreads();
    }
  }
}

}  // namespace spansort::device::cuda
