// SPDX-License-Identifier: Apache-2.0
// Kernels that look at a sample take its places from this.
#pragma once

#include <cstdint>

namespace spansort::device::cuda {

/// Returns a number that looks like chance.
__device__ __forceinline__ std::uint32_t scrambled(std::uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352dU;
  x = (x ^ x >> 15) * 0x846ca68bU;
  return x ^ x >> 16;
}

}  // namespace spansort::device::cuda
