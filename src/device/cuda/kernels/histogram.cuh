// SPDX-License-Identifier: Apache-2.0
// Counts of several digits in one read (Onesweep, section 3, phase 1), and a look at what neighbouring keys say about
// order.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/striding_policies.hpp"

namespace spansort::device::cuda {

/// Digits that are counted together, each with counters of its own.
struct digit_group {
  keys::digit_position digit[max_digits_together];
  unsigned first_counter[max_digits_together];
  unsigned count = 0;
  unsigned num_counters = 0;
};

template <class K>
inline constexpr striding_policy compiled_histogram_policy = histogram_policy_of(compiled_family, sizeof(K)).sizes;

/// One block's work. It loads one tile while it counts another, which halved the time (H100). Neither skew nor
/// conflicts of banks do harm: the hardware adds up increments by one before they reach a counter.
template <class K, class Order>
class histogram_block {
 public:
  static constexpr unsigned threads = compiled_histogram_policy<K>.threads;
  static constexpr unsigned items = compiled_histogram_policy<K>.items;
  static constexpr unsigned tile_keys = threads * items;

  __device__ __forceinline__ histogram_block(const Order& order, const K* keys, std::uint64_t num_keys,
                                             const digit_group& digits, std::uint32_t* counters)
      : order_(order), keys_(keys), num_keys_(num_keys), digits_(digits), counters_(counters) {}

  __device__ __forceinline__ void run(std::uint64_t* counts) {
    for (unsigned c = threadIdx.x; c < digits_.num_counters; c += threads) counters_[c] = 0;
    __syncthreads();
    const std::uint64_t stride = std::uint64_t{gridDim.x} * tile_keys;
    K now[items];
    K next[items];
    std::uint64_t begin = std::uint64_t{blockIdx.x} * tile_keys;
    load(begin, now);
    for (; begin < num_keys_; begin += stride) {
      load(begin + stride, next);
      count(begin, now);
#pragma unroll
      for (unsigned i = 0; i < items; ++i) now[i] = next[i];
    }
    __syncthreads();
    for (unsigned c = threadIdx.x; c < digits_.num_counters; c += threads) {
      if (counters_[c] != 0) atomicAdd(reinterpret_cast<unsigned long long*>(counts + c), counters_[c]);
    }
  }

 private:
  __device__ __forceinline__ void load(std::uint64_t begin, K (&to)[items]) const {
    if (begin + tile_keys <= num_keys_) {
#pragma unroll
      for (unsigned i = 0; i < items; ++i) to[i] = keys_[begin + i * threads + threadIdx.x];
    } else {
#pragma unroll
      for (unsigned i = 0; i < items; ++i) {
        const std::uint64_t at = begin + i * threads + threadIdx.x;
        to[i] = at < num_keys_ ? keys_[at] : K{0};
      }
    }
  }

  __device__ __forceinline__ void count(std::uint64_t begin, K (&keys)[items]) const {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) keys[i] = order_.encode(order_.take(keys[i]));
    const auto num_valid = static_cast<unsigned>(num_keys_ - begin < tile_keys ? num_keys_ - begin : tile_keys);
    for (unsigned p = 0; p < digits_.count; ++p) {
      std::uint32_t* const bins = counters_ + digits_.first_counter[p];
      const unsigned shift = digits_.digit[p].shift;
      const auto mask = static_cast<unsigned>(digits_.digit[p].num_buckets() - 1);
      if (num_valid == tile_keys) {
#pragma unroll
        for (unsigned i = 0; i < items; ++i) atomicAdd(bins + (static_cast<unsigned>(keys[i] >> shift) & mask), 1U);
      } else {
#pragma unroll
        for (unsigned i = 0; i < items; ++i) {
          if (i * threads + threadIdx.x >= num_valid) continue;
          atomicAdd(bins + (static_cast<unsigned>(keys[i] >> shift) & mask), 1U);
        }
      }
    }
  }

  const Order& order_;
  const K* keys_;
  std::uint64_t num_keys_;
  const digit_group& digits_;
  std::uint32_t* counters_;
};

/// One read of the keys. The shared memory is 4 bytes for each counter of the group; `counts` is zeroed before.
template <class K, class Order>
__global__ void __launch_bounds__(compiled_histogram_policy<K>.threads)
    histogram_kernel(Order order, const K* keys, std::uint64_t num_keys, __grid_constant__ const digit_group digits,
                     std::uint64_t* counts) {
  extern __shared__ std::uint32_t counters[];
  histogram_block<K, Order>(order, keys, num_keys, digits, counters).run(counts);
}

inline constexpr striding_policy compiled_fingerprint_policy = fingerprint_policy_of(compiled_family).sizes;

/// Compares every key with its right neighbour. General inputs show ascent and descent in the first tiles, and the
/// other blocks then leave at once. Any number of blocks; no shared memory; `seen` is zeroed before.
template <class K, class Order>
__global__ void __launch_bounds__(compiled_fingerprint_policy.threads)
    fingerprint_kernel(Order order, const K* keys, std::uint64_t num_keys, std::uint32_t* seen) {
  constexpr std::uint32_t general = seen_descent | seen_ascent;
  constexpr unsigned threads = compiled_fingerprint_policy.threads;
  constexpr unsigned items = compiled_fingerprint_policy.items;
  constexpr std::uint64_t tile_keys = threads * items;
  const std::uint64_t num_tiles = (num_keys + tile_keys - 1) / tile_keys;
  for (std::uint64_t tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
    if ((*reinterpret_cast<volatile std::uint32_t*>(seen) & general) == general) return;
    std::uint32_t mine = 0;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const std::uint64_t at = tile * tile_keys + i * threads + threadIdx.x;
      if (at + 1 >= num_keys) continue;
      const K left = order.encode(order.take(keys[at]));
      const K right = order.encode(order.take(keys[at + 1]));
      mine |= right < left ? seen_descent : (left < right ? seen_ascent : seen_equal);
    }
    const std::uint32_t ours = warp_or(mine);
    if (threadIdx.x % 32 == 0 && (ours & ~*reinterpret_cast<volatile std::uint32_t*>(seen)) != 0) atomicOr(seen, ours);
  }
}

}  // namespace spansort::device::cuda
