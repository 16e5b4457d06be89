// SPDX-License-Identifier: Apache-2.0
// The kernels of the published sorts share this: a scan over a block, and the orders that they are compiled for.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/key_order.cuh"
#include "device/device.hpp"

namespace spansort::device::cuda {

/// A number's sum over the threads before this one, and over all of the block.
struct block_sum_result {
  unsigned before = 0;
  unsigned total = 0;
};

/// Adds `x` up over a block of `Threads` threads, all of which call it. `warp_sums` is shared memory of Threads / 32
/// words. What threads have read of shared memory before the call, others may overwrite after it.
template <unsigned Threads>
__device__ __forceinline__ block_sum_result sum_over_block(unsigned x, unsigned* warp_sums) {
  static_assert(Threads % 32 == 0);
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  unsigned sum = x;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned left = __shfl_up_sync(0xffffffffU, sum, distance);
    if (lane >= distance) sum += left;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  block_sum_result result{sum - x, 0};
#pragma unroll
  for (unsigned w = 0; w < Threads / 32; ++w) {
    if (w < warp) result.before += warp_sums[w];
    result.total += warp_sums[w];
  }
  __syncthreads();
  return result;
}

/// Calls f(order) with one of two orders for `codec`: keys that are their own encoding, and all others. Baselines are
/// not compiled for more. `any_folded` is that of folded_order.
template <class K, class F>
decltype(auto) with_plain_order(const keys::codec_of<K>& codec, F&& f, const std::uint32_t* any_folded = nullptr) {
  if (codec.is_identity()) return f(identity_order<K>(codec));
  return f(folded_order<K>(codec, any_folded));
}

/// Returns the digit of a key in memory.
template <class K, class Order>
__device__ __forceinline__ unsigned digit_of_key(const Order& order, K key, unsigned shift, unsigned mask) {
  return static_cast<unsigned>(order.encode(order.take(key)) >> shift) & mask;
}

/// The arrays that a kernel reads or writes.
template <class K, class V>
struct typed_records {
  K* keys = nullptr;
  V* values = nullptr;  ///< null where none travel
};
template <class K, class V>
[[nodiscard]] typed_records<K, V> typed(records r) noexcept {
  return {static_cast<K*>(r.keys), static_cast<V*>(r.values)};
}

}  // namespace spansort::device::cuda
