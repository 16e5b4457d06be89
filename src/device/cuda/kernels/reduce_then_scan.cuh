// SPDX-License-Identifier: Apache-2.0
// The upsweep and the downsweep of a reduce-then-scan LSD radix sort (Onesweep, section 2, figure 3). Each block has a
// part of the input, of neighbouring tiles.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/cuda/kernels/published_sorts.cuh"
#include "device/cuda/tuning/published_sorts_policy.hpp"

namespace spansort::device::cuda {

/// What both kernels are given. There are gridDim.x blocks, of policy.threads threads each.
template <class K, class V>
struct sweep_arguments {
  typed_records<K, V> from;
  typed_records<K, V> to;
  std::uint64_t num_keys = 0;
  std::uint64_t num_tiles = 0;
  unsigned shift = 0;
  unsigned mask = 0;
  std::uint64_t* table = nullptr;  ///< [mask + 1][gridDim.x]

  /// Returns the first tile of a block's part; that of the block behind the last one is the number of tiles.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t first_tile(unsigned block) const {
    return num_tiles / gridDim.x * block + num_tiles % gridDim.x * block / gridDim.x;
  }
};

/// The sizes for digits of up to `Bits` bits.
template <class K, class V, unsigned Bits>
inline constexpr reduce_then_scan_policy compiled_sweep_policy =
    reduce_then_scan_policy_of(compiled_family, sizeof(K), value_bytes_of<V>, Bits).sizes;

/// Counts each part's records of each bucket. 4 bytes of shared memory a bucket. One read of the keys.
template <class K, class V, class Order, unsigned Bits>
__global__ void __launch_bounds__(compiled_sweep_policy<K, V, Bits>.threads,
                                  compiled_sweep_policy<K, V, Bits>.least_blocks)
    upsweep_kernel(Order order, __grid_constant__ const sweep_arguments<K, V> a) {
  constexpr unsigned threads = compiled_sweep_policy<K, V, Bits>.threads;
  constexpr unsigned tile_keys = compiled_sweep_policy<K, V, Bits>.tile_keys();
  __shared__ unsigned counts[threads];
  counts[threadIdx.x] = 0;
  __syncthreads();
  const std::uint64_t begin = a.first_tile(blockIdx.x) * tile_keys;
  const std::uint64_t part_end = a.first_tile(blockIdx.x + 1) * tile_keys;
  const std::uint64_t end = part_end < a.num_keys ? part_end : a.num_keys;
#pragma unroll 4
  for (std::uint64_t at = begin + threadIdx.x; at < end; at += threads) {
    atomicAdd(counts + digit_of_key(order, a.from.keys[at], a.shift, a.mask), 1U);
  }
  __syncthreads();
  if (threadIdx.x <= a.mask) a.table[std::uint64_t{threadIdx.x} * gridDim.x + blockIdx.x] = counts[threadIdx.x];
}

/// One block's downsweep. A warp holds 32 * items neighbouring records of a tile, lane after lane and then item after
/// item, so that positions in input order come from positions within warps.
template <class K, class V, class Order, unsigned Bits>
class downsweep_block {
 public:
  static constexpr reduce_then_scan_policy policy = compiled_sweep_policy<K, V, Bits>;
  static constexpr unsigned threads = policy.threads;
  static constexpr unsigned items = policy.items;
  static constexpr unsigned warps = threads / 32;
  static constexpr unsigned tile_keys = policy.tile_keys();
  static constexpr unsigned buckets = 1U << Bits;
  static constexpr bool has_values = value_bytes_of<V> != 0;
  static_assert(threads == buckets, "a thread a bucket");
  /// A position in a tile. Words of 32 bits for 512 buckets of 16 warps would not leave room for the records.
  using position = std::conditional_t<(Bits > max_partition_bits), std::uint16_t, unsigned>;
  static_assert(tile_keys <= 1U << 15, "positions and counts have 16 bits at least");

  struct shared_memory {
    union {
      K keys[tile_keys];
      std::conditional_t<has_values, V, char> values[has_values ? tile_keys : 1];
    };
    std::uint64_t next[buckets];           ///< where the bucket's next record goes
    position warp_begins[warps][buckets];  ///< counts, then where each warp's records of a bucket begin in the tile
    unsigned bucket_begins[buckets];       ///< in the tile
    unsigned warp_sums[warps];
  };
  static_assert(sizeof(shared_memory) <= default_shared_bytes);

  __device__ __forceinline__ downsweep_block(const Order& order, const sweep_arguments<K, V>& arguments,
                                             shared_memory& shared)
      : order_(order), a_(arguments), shared_(shared) {}

  __device__ __forceinline__ void run() {
    if (threadIdx.x <= a_.mask) {
      shared_.next[threadIdx.x] = a_.table[std::uint64_t{threadIdx.x} * gridDim.x + blockIdx.x];
    }
    const std::uint64_t end = a_.first_tile(blockIdx.x + 1);
    for (std::uint64_t tile = a_.first_tile(blockIdx.x); tile < end; ++tile) {
      begin_ = tile * tile_keys;
      const std::uint64_t left = a_.num_keys - begin_;
      num_valid_ = left < tile_keys ? static_cast<unsigned>(left) : tile_keys;
      load_keys();
      rank_in_warps();
      const unsigned count = find_bucket_begins();
      find_positions();
      store_keys();
      if constexpr (has_values) store_values();
      __syncthreads();
      // What lies behind the input's end was counted in the last bucket; nothing comes after it.
      shared_.next[threadIdx.x] += count;
    }
  }

 private:
  /// Returns the place of this thread's item in the tile.
  [[nodiscard]] __device__ __forceinline__ unsigned place_of(unsigned item) const {
    return warp_ * (32 * items) + item * 32 + lane_;
  }
  [[nodiscard]] __device__ __forceinline__ unsigned digit_of(K key) const {
    return digit_of_key(order_, key, a_.shift, a_.mask);
  }

  __device__ __forceinline__ void load_keys() {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const bool is_there = place_of(i) < num_valid_;
      keys_[i] = is_there ? a_.from.keys[begin_ + place_of(i)] : K{0};
      // What lies behind the input's end belongs to the last bucket, behind all of its records.
      digits_[i] = is_there ? digit_of(keys_[i]) : a_.mask;
    }
  }

  /// Counts each warp's records of each bucket, and finds how many of them come before each record.
  __device__ __forceinline__ void rank_in_warps() {
    position* const counts = shared_.warp_begins[warp_];
    for (unsigned b = lane_; b < buckets; b += 32) counts[b] = 0;
    __syncwarp();
    const unsigned lanes_below = (1U << lane_) - 1;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned peers = __match_any_sync(0xffffffffU, digits_[i]);
      const unsigned before = counts[digits_[i]];
      positions_[i] = before + static_cast<unsigned>(__popc(peers & lanes_below));
      __syncwarp();
      if ((peers & lanes_below) == 0) {
        counts[digits_[i]] = static_cast<position>(before + static_cast<unsigned>(__popc(peers)));
      }
      __syncwarp();
    }
  }

  /// Finds where each bucket begins in the tile, and in it each warp's part. Returns the count of this thread's bucket.
  __device__ __forceinline__ unsigned find_bucket_begins() {
    const unsigned bucket = threadIdx.x;
    __syncthreads();
    unsigned count = 0;
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
      const unsigned of_warp = shared_.warp_begins[w][bucket];
      shared_.warp_begins[w][bucket] = static_cast<position>(count);
      count += of_warp;
    }
    const unsigned begin = sum_over_block<threads>(count, shared_.warp_sums).before;
    shared_.bucket_begins[bucket] = begin;
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
      shared_.warp_begins[w][bucket] = static_cast<position>(shared_.warp_begins[w][bucket] + begin);
    }
    __syncthreads();
    return count;
  }

  __device__ __forceinline__ void find_positions() {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) positions_[i] += shared_.warp_begins[warp_][digits_[i]];
  }

  /// Orders the tile's keys by bucket in shared memory, and copies every bucket's run from there.
  __device__ __forceinline__ void store_keys() {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) shared_.keys[positions_[i]] = keys_[i];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned at = i * threads + threadIdx.x;
      if (at >= num_valid_) continue;
      const K key = shared_.keys[at];
      const unsigned digit = digit_of(key);
      targets_[i] = shared_.next[digit] + (at - shared_.bucket_begins[digit]);
      a_.to.keys[targets_[i]] = key;
    }
  }

  /// Moves the values in the same way.
  __device__ __forceinline__ void store_values() {
    V moved[items];
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (place_of(i) < num_valid_) moved[i] = a_.from.values[begin_ + place_of(i)];
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (place_of(i) < num_valid_) shared_.values[positions_[i]] = moved[i];
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned at = i * threads + threadIdx.x;
      if (at < num_valid_) a_.to.values[targets_[i]] = shared_.values[at];
    }
  }

  const Order& order_;
  const sweep_arguments<K, V>& a_;
  shared_memory& shared_;
  const unsigned warp_ = threadIdx.x / 32;
  const unsigned lane_ = threadIdx.x % 32;
  std::uint64_t begin_ = 0;  ///< of the tile
  unsigned num_valid_ = 0;   ///< records of the tile
  K keys_[items];
  unsigned digits_[items];
  unsigned positions_[items];     ///< in the tile, ordered by bucket
  std::uint64_t targets_[items];  ///< where the record goes that this thread stores
};

/// Moves each part's records to their buckets, in input order. sizeof(shared_memory) bytes of shared memory, at most 48
/// KiB. One read and one write of each record. `from` and `to` do not overlap; the table has been scanned.
template <class K, class V, class Order, unsigned Bits>
__global__ void __launch_bounds__(compiled_sweep_policy<K, V, Bits>.threads,
                                  compiled_sweep_policy<K, V, Bits>.least_blocks)
    downsweep_kernel(Order order, __grid_constant__ const sweep_arguments<K, V> a) {
  __shared__ typename downsweep_block<K, V, Order, Bits>::shared_memory shared;
  downsweep_block<K, V, Order, Bits>(order, a, shared).run();
}

}  // namespace spansort::device::cuda
