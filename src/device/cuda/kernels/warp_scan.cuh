// SPDX-License-Identifier: Apache-2.0
// Counting kernels share this sum over the lanes of a warp.
#pragma once

#include <cstdint>

namespace spansort::device::cuda {

/// Returns the sum of `x` over this lane and those below it. All lanes of a warp call it.
__device__ __forceinline__ std::uint32_t inclusive_warp_sum(std::uint32_t x) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned distance = 1; distance != 32; distance *= 2) {
    const std::uint32_t below = __shfl_up_sync(0xffffffffU, x, distance);
    if (lane >= distance) x += below;
  }
  return x;
}

}  // namespace spansort::device::cuda
