// SPDX-License-Identifier: Apache-2.0
// The partition of the MSD hybrid sort: Onesweep's digit binning (partition.cuh) over all large buckets of a level in
// one launch. Tiles never reach into another bucket, and the look-back of a tile ends at its bucket's first one. Values
// wait for their keys in the same way: they are copied over them to shared memory once the keys have been read out of
// it, and each is found by the place that its record came from.
//
// The blocks stay, and take tile after tile by an atomic counter. A block waits only for tiles with lower numbers,
// which have been taken by blocks that run, so there is always one that need not wait.
//
// States carry the number of their level, so that one level need not clear what another has left.
#pragma once

#include <cstdint>
#include <cuda/atomic>
#include <type_traits>

#include "device/cuda/kernels/msd_levels.cuh"
#include "device/cuda/kernels/partition_parts.cuh"

namespace spansort::device::cuda {

/// A tile's count of a bucket as later tiles see it: the level's number and one, a bit that says whether earlier tiles
/// are in it, and 32 bits of count.
namespace msd_tile_state {
[[nodiscard]] __device__ __forceinline__ std::uint64_t of(unsigned level, bool is_inclusive, std::uint32_t count) {
  return std::uint64_t{(level + 1) * 2 + (is_inclusive ? 1U : 0U)} << 32 | count;
}
[[nodiscard]] __device__ __forceinline__ bool is_known(std::uint64_t state, unsigned level) {
  return state >> 33 == level + 1;
}
[[nodiscard]] __device__ __forceinline__ bool is_inclusive(std::uint64_t state) { return (state >> 32 & 1) != 0; }

__device__ __forceinline__ void publish(std::uint64_t* state, std::uint64_t value) {
  ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_device>(*state).store(value, ::cuda::memory_order_relaxed);
}
__device__ __forceinline__ std::uint64_t observe(std::uint64_t* state) {
  return ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_device>(*state).load(::cuda::memory_order_relaxed);
}
}  // namespace msd_tile_state

/// One block's work on tiles. A warp holds 32 * items neighbouring records, lane after lane and then item after item,
/// so that positions in input order come from positions within warps.
template <class K, class V, class Order>
class msd_partition_block {
 public:
  static constexpr msd_partition_policy policy = msd_partition_policy_of(sizeof(K), value_bytes_of<V>).sizes;
  static constexpr unsigned threads = policy.threads;
  static constexpr unsigned items = policy.items;
  static constexpr unsigned warps = threads / 32;
  static constexpr unsigned tile_keys = policy.tile_keys();
  static constexpr unsigned buckets = max_partition_buckets;
  static constexpr bool has_values = value_bytes_of<V> != 0;
  using value = std::conditional_t<has_values, V, char>;
  static_assert(threads >= buckets, "a thread a bucket");
  static_assert(tile_keys <= 1U << 16, "places in a tile fit in 2 bytes");

  /// Values are copied so many at once.
  static constexpr unsigned values_a_chunk = has_values ? sizeof(copied_chunk) / sizeof(value) : 1;

  struct shared_memory {
    union {
      alignas(sizeof(copied_chunk)) K keys[tile_keys];
      /// They lie as far behind a multiple of 16 bytes as in the array.
      value values[has_values ? tile_keys + values_a_chunk : 1];
    };
    std::uint16_t places[has_values ? tile_keys : 2];  ///< where the record of each position came from
    std::uint32_t warp_offsets[warps][buckets];
    std::uint32_t targets[buckets];  ///< minus the bucket's first position in the tile, modulo 2^32
    std::uint32_t warp_sums[buckets / 32];
    std::uint32_t tile;
    unsigned shift;  ///< the argument again, see find_positions()
  };
  static_assert(!compiles_msd_hybrid || sizeof(shared_memory) <= most_shared_bytes(kernel_family::ampere));

  __device__ __forceinline__ msd_partition_block(const Order& order, const msd_arguments<K, V>& arguments,
                                                 const msd_level& level, shared_memory& shared)
      : order_(order), a_(arguments), at_(level), shared_(shared) {}

  __device__ __forceinline__ void run() {
    if (thread_ == 0) shared_.shift = at_.shift;
    std::uint32_t taken = take_number();
    while (true) {
      if (thread_ == 0) shared_.tile = taken;
      __syncthreads();
      tile_ = shared_.tile;
      if (tile_ >= a_.num_tiles(at_)) return;
      taken = take_number();  // the next one, for which nobody waits here
      number_ = a_.bucket_of(at_, tile_);
      bucket_ = a_.buckets(at_)[number_];
      if (bucket_.stays == 0) partition();
      __syncthreads();
    }
  }

 private:
  [[nodiscard]] __device__ __forceinline__ std::uint32_t take_number() const {
    if (thread_ != 0) return 0;
    return atomicAdd(&a_.memory.control->next_tile[at_.number], 1U);
  }

  __device__ __forceinline__ void partition() {
    const std::uint32_t first = (tile_ - bucket_.first_tile) * tile_keys;
    begin_ = bucket_.begin + first;
    num_valid_ = min(tile_keys, bucket_.count - first);
    bucket_begin_ = 0;
    load_keys();
    count_in_warps();
    __syncthreads();
    sum_over_warps();
    publish_counts();
    // One bucket may hold the whole tile. Its records are in their positions already, and threads need not queue up at
    // one counter.
    if (__syncthreads_or(count_ == tile_keys) != 0) {
#pragma unroll
      for (unsigned i = 0; i < items; ++i) put(i, position_of(i));
    } else {
      find_bucket_begins();
      find_positions();
    }
    if (thread_ < buckets) {
      shared_.targets[thread_] = bucket_.begin + a_.counts_of(at_, number_)[thread_] + look_back() - bucket_begin_;
    }
    __syncthreads();
    if (num_valid_ == tile_keys) {
      store<true>();
    } else {
      store<false>();
    }
  }

  [[nodiscard]] __device__ __forceinline__ unsigned position_of(unsigned item) const {
    return warp_ * (32 * items) + item * 32 + lane_;
  }
  [[nodiscard]] __device__ __forceinline__ unsigned digit_of(K key, unsigned shift) const {
    return static_cast<unsigned>(order_.encode(key) >> shift) & at_.mask;
  }

  /// Returns the digit of this thread's item. What lies behind the bucket's end belongs to the last digit, behind all
  /// of its records.
  [[nodiscard]] __device__ __forceinline__ unsigned digit_at(unsigned item, unsigned shift) const {
    if constexpr (!Order::holds_encoded) {
      if (position_of(item) >= num_valid_) return at_.mask;
    }
    return digit_of(keys_[item], shift);
  }

  __device__ __forceinline__ void load_keys() {
    const K* const keys = a_.sides[bucket_.side].keys + begin_;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      keys_[i] = position_of(i) < num_valid_ ? order_.take(keys[position_of(i)]) : static_cast<K>(~K{0});
    }
  }

  /// Counts come before positions, so that later tiles wait as short as can be.
  __device__ __forceinline__ void count_in_warps() {
#pragma unroll
    for (unsigned b = lane_; b < buckets; b += 32) shared_.warp_offsets[warp_][b] = 0;
    __syncwarp();
#pragma unroll
    for (unsigned i = 0; i < items; ++i) atomicAdd(&shared_.warp_offsets[warp_][digit_at(i, at_.shift)], 1U);
  }

  __device__ __forceinline__ void sum_over_warps() {
    count_ = 0;
    if (thread_ >= buckets) return;
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
      const std::uint32_t of_warp = shared_.warp_offsets[w][thread_];
      shared_.warp_offsets[w][thread_] = count_;
      count_ += of_warp;
    }
  }

  /// Tells later tiles how many records of each digit this tile has.
  __device__ __forceinline__ void publish_counts() const {
    if (thread_ >= buckets) return;
    const bool is_first = tile_ == bucket_.first_tile;
    msd_tile_state::publish(state_of(tile_), msd_tile_state::of(at_.number, is_first, num_records()));
  }

  /// Finds where each digit's records begin in this tile, and where in them each warp's part begins.
  __device__ __forceinline__ void find_bucket_begins() {
    std::uint32_t sum = count_;
#pragma unroll
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const std::uint32_t left = __shfl_up_sync(0xffffffffU, sum, distance);
      if (lane_ >= distance) sum += left;
    }
    if (thread_ < buckets && lane_ == 31) shared_.warp_sums[warp_] = sum;
    __syncthreads();
    if (thread_ < buckets) {
      bucket_begin_ = sum - count_;
#pragma unroll
      for (unsigned w = 0; w < buckets / 32; ++w) bucket_begin_ += w < warp_ ? shared_.warp_sums[w] : 0;
#pragma unroll
      for (unsigned w = 0; w < warps; ++w) shared_.warp_offsets[w][thread_] += bucket_begin_;
    }
    __syncthreads();
  }

  /// Returns `count_` without what was counted from behind the bucket's end.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t num_records() const {
    return thread_ == at_.mask ? count_ - (tile_keys - num_valid_) : count_;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* state_of(std::uint32_t tile) const {
    return a_.memory.tile_states + std::uint64_t{tile} * buckets + thread_;
  }

  /// Puts the key of this thread's item in its position in the tile. Its value will follow.
  __device__ __forceinline__ void put(unsigned item, unsigned position) {
    shared_.keys[position] = keys_[item];
    if constexpr (has_values) shared_.places[position] = static_cast<std::uint16_t>(position_of(item));
  }

  /// Finds the position of each item: the highest lane of those with the same digit takes positions for all of them.
  __device__ __forceinline__ void find_positions() {
    // The shift is read from shared memory, for otherwise the compiler sees that it knows all digits from the counting,
    // and keeps or spills them.
    const unsigned shift = shared_.shift;
    const unsigned lanes_below = (1U << lane_) - 1;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned digit = digit_at(i, shift);
      const unsigned peers = lanes_with_digit<max_partition_bits>(digit);
      const auto leader = static_cast<unsigned>(31 - __clz(static_cast<int>(peers)));
      std::uint32_t first = 0;
      if (lane_ == leader) first = atomicAdd(&shared_.warp_offsets[warp_][digit], static_cast<unsigned>(__popc(peers)));
      first = __shfl_sync(0xffffffffU, first, static_cast<int>(leader));
      put(i, first + static_cast<unsigned>(__popc(peers & lanes_below)));
    }
  }

  /// Returns the number of the digit's records in the bucket's earlier tiles, by decoupled look-back with one thread
  /// for each digit. Several tiles are looked at together.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t look_back() const {
    std::uint32_t unseen = tile_ - bucket_.first_tile;  // earlier tiles whose records are not in `earlier` yet
    if (unseen == 0) return 0;
    std::uint32_t earlier = 0;
    bool is_done = false;
    while (!is_done) {
      std::uint64_t states[policy.look_back];
#pragma unroll
      for (unsigned i = 0; i < policy.look_back; ++i) {
        states[i] = unseen > i ? msd_tile_state::observe(state_of(bucket_.first_tile + unseen - 1 - i)) : 0;
      }
      bool is_known = true;
#pragma unroll
      for (unsigned i = 0; i < policy.look_back; ++i) {
        is_known = is_known && msd_tile_state::is_known(states[i], at_.number);
        if (is_known && !is_done) {
          earlier += static_cast<std::uint32_t>(states[i]);
          is_done = msd_tile_state::is_inclusive(states[i]);
          --unseen;
        }
      }
    }
    msd_tile_state::publish(state_of(tile_), msd_tile_state::of(at_.number, true, earlier + num_records()));
    return earlier;
  }

  /// Stores the tile; `IsFull` says that no record is missing. Warps take turns along the tile, as in partition.cuh.
  template <bool IsFull>
  __device__ __forceinline__ void store() {
    const typed_records<K, V>& to = a_.sides[bucket_.side ^ 1U];
    unsigned first_value = 0;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) keys_[i] = shared_.keys[i * threads + thread_];
    if constexpr (has_values) {
      __syncthreads();
      first_value = begin_values();
    }
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned at = i * threads + thread_;
      const std::uint32_t target = shared_.targets[digit_of(keys_[i], at_.shift)] + at;
      if (IsFull || at < num_valid_) store_global(to.keys + target, order_.give(keys_[i]));
      __syncwarp();
    }
    if constexpr (has_values) {
      wait_for_copies();
      __syncthreads();
#pragma unroll
      for (unsigned i = 0; i < items; ++i) {
        const unsigned at = i * threads + thread_;
        const std::uint32_t target = shared_.targets[digit_of(keys_[i], at_.shift)] + at;
        if (IsFull || at < num_valid_) {
          store_global(to.values + target, shared_.values[first_value + shared_.places[at]]);
        }
        __syncwarp();
      }
    }
  }

  /// Begins to copy the tile's values to shared memory, in input order, and returns where the first one will be. A
  /// bucket begins anywhere, so those before the first multiple of 16 bytes are copied one by one, as the last ones
  /// are.
  [[nodiscard]] __device__ __forceinline__ unsigned begin_values() {
    const V* const values = a_.sides[bucket_.side].values + begin_;
    const auto before =
        static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(values) % sizeof(copied_chunk) / sizeof(V));
    const unsigned head = min(num_valid_, before == 0 ? 0 : values_a_chunk - before);
    const unsigned chunks = (num_valid_ - head) / values_a_chunk;
    const unsigned tail = head + chunks * values_a_chunk;
    value* const to = shared_.values + before;
    auto* const chunks_to = reinterpret_cast<copied_chunk*>(to + head);
    const auto* const chunks_from = reinterpret_cast<const copied_chunk*>(values + head);
    for (unsigned at = thread_; at < chunks; at += threads) begin_copy(chunks_to + at, chunks_from + at);
    if (thread_ < head) begin_copy(to + thread_, values + thread_);
    if (tail + thread_ < num_valid_) begin_copy(to + tail + thread_, values + tail + thread_);
    return before;
  }

  const Order& order_;
  const msd_arguments<K, V>& a_;
  const msd_level at_;
  shared_memory& shared_;
  const unsigned thread_ = threadIdx.x;
  const unsigned warp_ = threadIdx.x / 32;
  const unsigned lane_ = threadIdx.x % 32;
  std::uint32_t tile_ = 0;
  std::uint32_t number_ = 0;  ///< of the tile's bucket
  msd_bucket bucket_;
  std::uint32_t begin_ = 0;  ///< of the tile in the arrays
  std::uint32_t num_valid_ = 0;
  std::uint32_t count_ = 0;         ///< of digit `thread_` in this tile
  std::uint32_t bucket_begin_ = 0;  ///< in this tile
  K keys_[items];                   ///< first the keys that this thread loads, then those that it stores
};

/// Moves the records of all large buckets of the level to where their digits say, stably and to the other side. Any
/// number of blocks of policy.threads threads; sizeof(shared_memory) bytes of dynamic shared memory. One read and one
/// write of each record of large buckets.
template <class K, class V, class Order>
__global__ void __launch_bounds__(msd_partition_block<K, V, Order>::threads,
                                  msd_partition_block<K, V, Order>::policy.blocks_each)
    msd_partition_kernel(Order order, __grid_constant__ const msd_arguments<K, V> a, msd_level level) {
  using block = msd_partition_block<K, V, Order>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  if constexpr (compiles_msd_hybrid) {
    block(order, a, level, *reinterpret_cast<typename block::shared_memory*>(shared_bytes)).run();
  }
}

}  // namespace spansort::device::cuda
