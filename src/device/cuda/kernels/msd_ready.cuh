// SPDX-License-Identifier: Apache-2.0
// Large buckets that others have listed become those of the first level of the MSD hybrid sort.
#pragma once

#include "device/cuda/kernels/msd_memory.hpp"
#include "device/cuda/tuning/workspace_sizes.hpp"

namespace spansort::device::cuda {

/// Makes the buckets that are listed for the first level ready: says of each tile which bucket it is of, and zeroes
/// counts and states. Any number of blocks of `Threads` threads.
template <unsigned Threads>
__device__ __forceinline__ void make_listed_buckets_ready(const msd_memory& m, const msd_limits& limits) {
  static_assert(Threads >= max_partition_buckets);
  const std::uint64_t num_states = std::uint64_t{m.most_tiles} * max_partition_buckets / 2;
  auto* const states = reinterpret_cast<ulonglong2*>(m.tile_states);
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * Threads + threadIdx.x; i < num_states;
       i += std::uint64_t{gridDim.x} * Threads) {
    states[i] = {0, 0};
  }
  for (std::uint32_t b = blockIdx.x; b < m.control->num_buckets[0]; b += gridDim.x) {
    const msd_bucket bucket = m.buckets[0][b];
    if (threadIdx.x < max_partition_buckets) m.counts[0][std::uint64_t{b} * max_partition_buckets + threadIdx.x] = 0;
    const std::uint32_t num_tiles = (bucket.count - 1) / limits.tile_keys + 1;
    for (std::uint32_t t = threadIdx.x; t < num_tiles; t += Threads) m.bucket_of_tile[0][bucket.first_tile + t] = b;
  }
}

}  // namespace spansort::device::cuda
