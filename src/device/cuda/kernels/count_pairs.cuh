// SPDX-License-Identifier: Apache-2.0
// Kernels that look at a sample count the pairs of its keys that are alike. What was in a counter before a key is added
// is the number of earlier keys that it pairs with, so no counter is read again. Threads of a warp whose keys share a
// counter add to it together, for otherwise keys that are all alike would take turns.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/tuning/even_keys_policy.hpp"

namespace spansort::device::cuda {

/// Adds this thread's key to a counter, and the pairs that it makes to `pairs`. Called by whole warps.
__device__ __forceinline__ void count_pairs(std::uint32_t* counters, unsigned index, unsigned long long* pairs) {
  const unsigned alike = __match_any_sync(0xffffffffU, index);
  const unsigned lane = threadIdx.x % 32;
  unsigned mine = 0;
  if (static_cast<unsigned>(__ffs(static_cast<int>(alike))) == lane + 1) {
    const auto count = static_cast<unsigned>(__popc(alike));
    mine = count * atomicAdd(counters + index, count) + count * (count - 1) / 2;
  }
  const unsigned sum = warp_sum(mine);
  if (lane == 0 && sum != 0) atomicAdd(pairs, sum);
}

/// Returns the number of the counter, of 2^counter_bits, for some bits of a key. Other bits share it by chance.
[[nodiscard]] __device__ __forceinline__ unsigned bin_of(std::uint64_t bits, unsigned counter_bits) {
  return static_cast<unsigned>(bits * 0x9e3779b97f4a7c15ULL >> (64 - counter_bits));
}

}  // namespace spansort::device::cuda
