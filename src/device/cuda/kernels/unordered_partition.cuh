// SPDX-License-Identifier: Apache-2.0
// Partition of keys alone that leaves those of a bucket in any order. The first pass from the lowest digit up may take
// it, and so may every pass from the highest digit down, where keys that are equal have the same bits: what is done to
// the order of a bucket here is undone by what sorts it later.
//
// A key's position in the tile comes from one addition to a counter of its bucket, in the place of a vote of its warp,
// and a tile's positions in the buckets come from one addition to each bucket's target, in the place of a look-back. So
// there are no states, no numbers of tiles and no portions.
//
// Additions to one counter take turns. Where a bucket has a good part of a tile's keys, threads of a warp whose keys
// have the same digit add once for all of them.
//
// The kernel's contract: one block a tile, of Policy.threads threads and sizeof(shared_memory) bytes of dynamic shared
// memory. It reads and writes each key once. Source and targets do not overlap; each target is moved behind what was
// stored there.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/partition_parts.cuh"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/partition_policy.hpp"

namespace spansort::device::cuda {

template <class K>
struct unordered_partition_arguments {
  const K* keys = nullptr;
  std::uint64_t num_keys = 0;
  unsigned shift = 0;
  unsigned mask = 0;
  bucket_target* targets = nullptr;
  const order_action* decision = nullptr;  ///< null, or nothing is done unless it is order_action::passes
};

/// One block's work on one tile.
template <class K, class Order, unordered_partition_policy Policy, unsigned Bits = max_partition_bits>
class unordered_tile {
 public:
  static constexpr unsigned threads = Policy.threads;
  static constexpr unsigned items = Policy.items;
  static constexpr unsigned tile_keys = threads * items;
  static constexpr unsigned buckets = 1U << Bits;
  static_assert(threads >= buckets, "a thread a bucket");
  static constexpr bool keeps_digits = are_digits_kept<Order>;
  static_assert(Order::holds_encoded, "equal keys have the same bits");

  struct shared_memory {
    K keys[tile_keys];
    K* targets[buckets];             ///< minus the bucket's first position in the tile
    std::uint32_t offsets[buckets];  ///< first counts, then the next position of each bucket in the tile
    std::uint32_t warp_sums[buckets / 32];
    unsigned shift;  ///< the argument again, see partition_tile::find_positions()
  };

  __device__ __forceinline__ unordered_tile(const Order& order, const unordered_partition_arguments<K>& arguments,
                                            shared_memory& shared)
      : order_(order), a_(arguments), shared_(shared) {}

  __device__ __forceinline__ void run() {
    const std::uint64_t begin = std::uint64_t{blockIdx.x} * tile_keys;
    source_ = a_.keys + begin;
    if (begin + tile_keys <= a_.num_keys) {
      run_full();
    } else {
      run_part(static_cast<unsigned>(a_.num_keys - begin));
    }
  }

 private:
  __device__ __forceinline__ void run_full() {
    clear_counts();
#pragma unroll
    for (unsigned i = 0; i < items; ++i) keys_[i] = source_[i * threads + thread_];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      keys_[i] = order_.take(keys_[i]);
      const unsigned digit = digit_of(keys_[i], a_.shift);
      if constexpr (keeps_digits) digits_.keep(i, digit);
      atomicAdd(&shared_.offsets[digit], 1U);
    }
    if constexpr (keeps_digits) digits_.seal();
    __syncthreads();
    if (find_places()) {
      put_by_warps();
    } else {
      put_one_by_one();
    }
    __syncthreads();
    store_full();
  }

  /// The last tile may have fewer keys. It reads them twice, so that there is no register for each.
  __device__ __forceinline__ void run_part(unsigned num_keys) {
    clear_counts();
    __syncthreads();
#pragma unroll 1
    for (unsigned at = thread_; at < num_keys; at += threads) {
      atomicAdd(&shared_.offsets[digit_of(order_.take(source_[at]), a_.shift)], 1U);
    }
    __syncthreads();
    static_cast<void>(find_places());
#pragma unroll 1
    for (unsigned at = thread_; at < num_keys; at += threads) {
      const K key = order_.take(source_[at]);
      shared_.keys[atomicAdd(&shared_.offsets[digit_of(key, a_.shift)], 1U)] = key;
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned at = thread_; at < num_keys; at += threads) {
      const K key = shared_.keys[at];
      store_global(shared_.targets[digit_of(key, a_.shift)] + at, order_.give(key));
    }
  }

  [[nodiscard]] __device__ __forceinline__ unsigned digit_of(K key, unsigned shift) const {
    return digit_of_held(order_, key, shift, a_.mask);
  }

  /// Returns the digit of an item that has been counted.
  [[nodiscard]] __device__ __forceinline__ unsigned counted_digit(unsigned item, unsigned shift) const {
    if constexpr (keeps_digits) {
      return digits_[item];
    } else {
      return digit_of(keys_[item], shift);
    }
  }

  __device__ __forceinline__ void clear_counts() {
    if (thread_ < buckets) shared_.offsets[thread_] = 0;
    if (thread_ == 0) shared_.shift = a_.shift;
  }

  /// Turns the counts into where the buckets begin in the tile, and takes room for them at their targets. Returns
  /// whether a bucket has so many of the keys that its counter is a queue.
  [[nodiscard]] __device__ __forceinline__ bool find_places() {
    std::uint32_t count = 0;
    std::uint32_t sum = 0;
    K* target = nullptr;
    if (thread_ < buckets) {
      count = shared_.offsets[thread_];
      target = reinterpret_cast<K*>(atomicAdd(reinterpret_cast<unsigned long long*>(&a_.targets[thread_].keys),
                                              static_cast<unsigned long long>(count) * sizeof(K)));
      sum = count;
#pragma unroll
      for (unsigned distance = 1; distance < 32; distance *= 2) {
        const std::uint32_t left = __shfl_up_sync(0xffffffffU, sum, distance);
        if (lane_ >= distance) sum += left;
      }
      if (lane_ == 31) shared_.warp_sums[thread_ / 32] = sum;
    }
    const bool is_crowded = __syncthreads_or(count > tile_keys / Policy.crowded_part) != 0;
    if (thread_ < buckets) {
      std::uint32_t begin = sum - count;
#pragma unroll
      for (unsigned w = 0; w < buckets / 32; ++w) begin += w < thread_ / 32 ? shared_.warp_sums[w] : 0;
      shared_.offsets[thread_] = begin;
      shared_.targets[thread_] = target - begin;
    }
    __syncthreads();
    return is_crowded;
  }

  /// Each thread takes positions for its own keys, for several before it uses the first, since each takes its time.
  __device__ __forceinline__ void put_one_by_one() {
    constexpr unsigned together = 4;
    const unsigned shift = shared_.shift;
#pragma unroll
    for (unsigned first = 0; first < items; first += together) {
      unsigned positions[together];
#pragma unroll
      for (unsigned i = 0; i < together; ++i) {
        if (first + i < items) positions[i] = atomicAdd(&shared_.offsets[counted_digit(first + i, shift)], 1U);
      }
#pragma unroll
      for (unsigned i = 0; i < together; ++i) {
        if (first + i < items) shared_.keys[positions[i]] = keys_[first + i];
      }
    }
  }

  /// The highest lane of those with the same digit takes positions for all of them.
  __device__ __forceinline__ void put_by_warps() {
    const unsigned shift = shared_.shift;
    const unsigned lanes_below = (1U << lane_) - 1;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned digit = counted_digit(i, shift);
      const unsigned peers = __match_any_sync(0xffffffffU, digit);
      const auto leader = static_cast<unsigned>(31 - __clz(static_cast<int>(peers)));
      std::uint32_t first = 0;
      if (lane_ == leader) first = atomicAdd(&shared_.offsets[digit], static_cast<unsigned>(__popc(peers)));
      first = __shfl_sync(0xffffffffU, first, static_cast<int>(leader));
      shared_.keys[first + static_cast<unsigned>(__popc(peers & lanes_below))] = keys_[i];
    }
  }

  /// Warps take turns along the tile and store at one pace, as in partition.cuh. Few keys are in registers at a time,
  /// for otherwise the compiler spills.
  __device__ __forceinline__ void store_full() {
    constexpr unsigned together = 8;
#pragma unroll
    for (unsigned first = 0; first < items; first += together) {
      K stored[together];
#pragma unroll
      for (unsigned i = 0; i < together; ++i) {
        if (first + i < items) stored[i] = shared_.keys[(first + i) * threads + thread_];
      }
#pragma unroll
      for (unsigned i = 0; i < together; ++i) {
        if (first + i >= items) continue;
        const unsigned at = (first + i) * threads + thread_;
        store_global(shared_.targets[digit_of(stored[i], a_.shift)] + at, order_.give(stored[i]));
        __syncwarp();
      }
    }
  }

  const Order& order_;
  const unordered_partition_arguments<K>& a_;
  shared_memory& shared_;
  const unsigned thread_ = threadIdx.x;
  const unsigned lane_ = threadIdx.x % 32;
  const K* source_ = nullptr;
  K keys_[items];
  [[no_unique_address]] std::conditional_t<keeps_digits, kept_digits<items, Bits>, no_value> digits_;
};

template <class K, unsigned Bits>
inline constexpr unordered_partition_policy compiled_unordered_policy = unordered_partition_policy_for(compiled_family,
                                                                                                       sizeof(K), Bits);

template <class K, class Order, unsigned Bits = max_partition_bits>
__global__ void __launch_bounds__(compiled_unordered_policy<K, Bits>.threads,
                                  compiled_unordered_policy<K, Bits>.least_blocks)
    unordered_partition_kernel(Order order, unordered_partition_arguments<K> arguments) {
  using tile = unordered_tile<K, Order, compiled_unordered_policy<K, Bits>, Bits>;
  static_assert(sizeof(typename tile::shared_memory) <= most_shared_bytes(compiled_family));
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  if (arguments.decision != nullptr && *arguments.decision != order_action::passes) return;
  tile(order, arguments, *reinterpret_cast<typename tile::shared_memory*>(shared_bytes)).run();
}

}  // namespace spansort::device::cuda
