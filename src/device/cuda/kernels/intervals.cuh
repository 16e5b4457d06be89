// SPDX-License-Identifier: Apache-2.0
// Counts of the keys between splitters in one read. Keys of marked intervals are copied out; a block takes memory for
// those of a whole tile at a time.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/striding_policies.hpp"

namespace spansort::device::cuda {

template <class K>
inline constexpr striding_policy compiled_interval_policy = interval_policy_of(compiled_family, sizeof(K)).sizes;

template <class K, class Order>
class interval_block {
 public:
  static constexpr unsigned threads = compiled_interval_policy<K>.threads;
  static constexpr unsigned items = compiled_interval_policy<K>.items;
  static constexpr unsigned tile_keys = threads * items;
  static_assert(threads > max_splitters, "a thread loads a splitter or stores a count");

  struct shared_memory {
    K splitters[max_splitters];
    std::uint32_t counts[max_splitters + 1];
    std::uint32_t warp_collected[threads / 32];
    unsigned long long begin;  ///< of the memory that the tile took
  };

  __device__ __forceinline__ interval_block(const Order& order, const interval_arguments<K>& arguments,
                                            shared_memory& shared)
      : order_(order), a_(arguments), shared_(shared) {}

  __device__ __forceinline__ void run() {
    if (threadIdx.x < a_.num_splitters) shared_.splitters[threadIdx.x] = a_.splitters[threadIdx.x];
    if (threadIdx.x <= a_.num_splitters) shared_.counts[threadIdx.x] = 0;
    __syncthreads();
    const std::uint64_t stride = std::uint64_t{gridDim.x} * tile_keys;
    for (std::uint64_t begin = std::uint64_t{blockIdx.x} * tile_keys; begin < a_.num_keys; begin += stride) {
      K keys[items];
      const std::uint64_t rest = a_.num_keys - begin;
      const unsigned num_valid = rest < tile_keys ? static_cast<unsigned>(rest) : tile_keys;
      load(begin, num_valid, keys);
      collect(keys, count(keys, num_valid));
    }
    __syncthreads();
    if (threadIdx.x <= a_.num_splitters && shared_.counts[threadIdx.x] != 0) {
      atomicAdd(reinterpret_cast<unsigned long long*>(a_.counts + threadIdx.x), shared_.counts[threadIdx.x]);
    }
  }

 private:
  __device__ __forceinline__ void load(std::uint64_t begin, unsigned num_valid, K (&to)[items]) const {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned at = i * threads + threadIdx.x;
      to[i] = at < num_valid ? a_.keys[begin + at] : K{0};
    }
  }

  /// The splitters that are not above the key.
  __device__ __forceinline__ unsigned interval_of(K encoded) const {
    unsigned interval = 0;
    for (unsigned step = a_.first_step; step != 0; step /= 2) {
      const unsigned next = interval + step;
      if (next <= a_.num_splitters && encoded >= shared_.splitters[next - 1]) interval = next;
    }
    return interval;
  }

  /// Counts the tile's keys and returns which of this thread's are to be collected. The hardware adds up increments by
  /// one before they reach a counter.
  __device__ __forceinline__ unsigned count(const K (&keys)[items], unsigned num_valid) {
    unsigned wanted = 0;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (i * threads + threadIdx.x >= num_valid) continue;
      const unsigned interval = interval_of(order_.encode(order_.take(keys[i])));
      atomicAdd(shared_.counts + interval, 1U);
      wanted |= static_cast<unsigned>(a_.marked >> interval & 1) << i;
    }
    return wanted;
  }

  __device__ __forceinline__ void collect(const K (&keys)[items], unsigned wanted) {
    // This is also the barrier behind which `begin` of the last tile may be overwritten.
    if (__syncthreads_or(wanted != 0 ? 1 : 0) == 0) return;
    const unsigned lane = threadIdx.x % 32;
    const auto mine = static_cast<unsigned>(__popc(wanted));
    unsigned upto = mine;  // this lane's keys and those of the warp's lower lanes
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const unsigned left = __shfl_up_sync(0xffffffffU, upto, distance);
      if (lane >= distance) upto += left;
    }
    if (lane == 31) shared_.warp_collected[threadIdx.x / 32] = upto;
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned sum = 0;
      for (std::uint32_t& of_warp : shared_.warp_collected) {
        const unsigned count = of_warp;
        of_warp = sum;
        sum += count;
      }
      shared_.begin = atomicAdd(reinterpret_cast<unsigned long long*>(a_.num_collected), sum);
    }
    __syncthreads();
    std::uint64_t at = shared_.begin + shared_.warp_collected[threadIdx.x / 32] + upto - mine;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if ((wanted >> i & 1) == 0) continue;
      if (at < a_.capacity) a_.collected[at] = keys[i];
      ++at;
    }
  }

  const Order& order_;
  const interval_arguments<K>& a_;
  shared_memory& shared_;
};

/// One read of the keys, and a write of those collected. Any number of blocks; counts are zeroed before.
template <class K, class Order>
__global__ void __launch_bounds__(compiled_interval_policy<K>.threads)
    interval_kernel(Order order, __grid_constant__ const interval_arguments<K> arguments) {
  __shared__ typename interval_block<K, Order>::shared_memory shared;
  interval_block<K, Order>(order, arguments, shared).run();
}

}  // namespace spansort::device::cuda
