// SPDX-License-Identifier: Apache-2.0
// Stable partition in one read and one write: Onesweep's digit binning (Adinets and Merrill, 2022, section 3). A block
// orders a tile of records by bucket in shared memory, learns by decoupled look-back how many records of each bucket
// lie in earlier tiles, and writes every bucket's run from shared memory. Tiles are numbered by an atomic counter, for
// a block may only wait for blocks that have started: CUDA promises progress to no others.
//
// The caller's bits are what is stored. In between, keys are held as their order says: encoded, where that loses
// nothing.
//
// Values wait for their keys: while these are ranked, shared memory takes for each position the place that its record
// came from, in 2 bytes. When the keys have been read out of shared memory, the values are copied over them in their
// first order, while the keys are stored, and go from there to where their keys went. So a tile takes the room of its
// keys or its values, not of both, and the larger a tile, the longer the runs that it stores.
//
// The kernel's contract: one block a tile, of Policy.threads threads and sizeof(shared_memory) bytes of dynamic shared
// memory. It reads and writes each record once, but reads no values where the order makes positions. Source and
// targets do not overlap; states and counter are zeroed before.
#pragma once

#include <cstdint>
#include <cuda/atomic>
#include <type_traits>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/partition_parts.cuh"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/partition_policy.hpp"

namespace spansort::device::cuda {

/// A tile's count of a bucket as later tiles see it: two flag bits and 30 bits of count.
namespace tile_state {
inline constexpr std::uint32_t value_mask = (1U << 30) - 1;
inline constexpr std::uint32_t own_count = 1U << 30;        ///< of this tile alone
inline constexpr std::uint32_t inclusive_count = 2U << 30;  ///< of this tile and all before it

// States are relaxed atomics: with plain stores past the first cache and loads that skip it, look-backs were seen to
// miss tiles (H100, CUDA 13.0).
__device__ __forceinline__ void publish(std::uint32_t* state, std::uint32_t value) {
  ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>(*state).store(value, ::cuda::memory_order_relaxed);
}
__device__ __forceinline__ std::uint32_t observe(std::uint32_t* state) {
  return ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>(*state).load(::cuda::memory_order_relaxed);
}
}  // namespace tile_state

template <class K>
struct partition_arguments {
  const K* keys = nullptr;
  const void* values = nullptr;
  std::uint64_t first_position = 0;  ///< of this portion's first record, for orders that make positions
  std::uint32_t num_keys = 0;        ///< of this portion
  bool drops_keys = false;           ///< keys are not stored, but values are
  unsigned shift = 0;
  unsigned mask = 0;
  const bucket_target* targets = nullptr;  ///< where this portion's records go
  bucket_target* next_targets = nullptr;   ///< where the next portion's go; written by the last tile
  std::uint32_t* tile_states = nullptr;    ///< zeroed
  std::uint32_t* tile_counter = nullptr;   ///< zeroed
  const order_action* decision = nullptr;  ///< null, or nothing is done unless it is order_action::passes
};

/// One block's work on one tile. A warp holds 32 * items neighbouring records, lane after lane and then item after
/// item, so that positions in input order come from positions within warps.
template <class K, class V, class Order, partition_policy Policy, unsigned Bits = max_partition_bits>
class partition_tile {
 public:
  static constexpr unsigned threads = Policy.threads;
  static constexpr unsigned items = Policy.items;
  static constexpr unsigned look_back_tiles = Policy.look_back;
  static constexpr unsigned warps = threads / 32;
  static constexpr unsigned tile_keys = threads * items;
  static constexpr unsigned buckets = 1U << Bits;
  static constexpr bool has_values = value_bytes_of<V> != 0;
  static_assert(threads >= buckets, "a thread a bucket");
  static_assert(workspace_tiles * tile_keys <= tile_state::value_mask, "a portion's counts fit beside the flags");
  static_assert(tile_keys <= 1U << 16, "places in a tile fit in 2 bytes");
  static constexpr bool keeps_digits = are_digits_kept<Order>;
  using value = std::conditional_t<has_values, V, char>;

  struct shared_memory {
    union {
      alignas(16) K keys[tile_keys];
      value values[has_values ? tile_keys : 1];
    };
    std::uint16_t places[has_values ? tile_keys : 1];  ///< where the record of each position came from
    std::uint32_t warp_offsets[warps]
                              [buckets];  ///< apart from the keys, so that a key moves as soon as its position is known
    K* key_targets[buckets];              ///< minus the bucket's first position in the tile
    value* value_targets[has_values ? buckets : 1];
    std::uint32_t warp_sums[buckets / 32];
    std::uint32_t tile;
    unsigned shift;  ///< the argument again, see find_positions()
  };
  __device__ __forceinline__ partition_tile(const Order& order, const partition_arguments<K>& arguments,
                                            shared_memory& shared)
      : order_(order), a_(arguments), shared_(shared) {}

  __device__ __forceinline__ void run() {
    take_number();
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
    if (thread_ < buckets) find_targets(look_back());
    __syncthreads();
    if (num_valid_ == tile_keys) {
      store<true>();
    } else {
      store<false>();
    }
  }

 private:
  /// A block may only wait for blocks that have started, so tiles get their numbers in the order in which blocks start.
  __device__ __forceinline__ void take_number() {
    if (thread_ == 0) {
      shared_.tile = atomicAdd(a_.tile_counter, 1);
      shared_.shift = a_.shift;
    }
    __syncthreads();
    tile_ = shared_.tile;
    begin_ = tile_ * tile_keys;
    num_valid_ = min(tile_keys, a_.num_keys - begin_);
  }

  [[nodiscard]] __device__ __forceinline__ unsigned position_of(unsigned item) const {
    return warp_ * (32 * items) + item * 32 + lane_;
  }
  [[nodiscard]] __device__ __forceinline__ unsigned digit_of(K key, unsigned shift) const {
    return digit_of_held(order_, key, shift, a_.mask);
  }

  /// Returns the digit of this thread's item. What lies behind the input's end belongs to the last bucket, behind all
  /// of its records.
  [[nodiscard]] __device__ __forceinline__ unsigned digit_at(unsigned item, unsigned shift) const {
    if constexpr (!Order::holds_encoded) {
      if (position_of(item) >= num_valid_) return a_.mask;
    }
    return digit_of(keys_[item], shift);
  }

  /// Returns the digit of an item that has been counted.
  [[nodiscard]] __device__ __forceinline__ unsigned counted_digit(unsigned item, unsigned shift) const {
    if constexpr (keeps_digits) {
      return digits_[item];
    } else {
      return digit_at(item, shift);
    }
  }
  /// Returns the digit of an item that is in its position.
  [[nodiscard]] __device__ __forceinline__ unsigned placed_digit(unsigned item) const {
    if constexpr (keeps_digits) {
      return digits_[item];
    } else {
      return digit_of(keys_[item], a_.shift);
    }
  }

  __device__ __forceinline__ void load_keys() {
    const K* const keys = a_.keys + begin_;
    if (num_valid_ == tile_keys) {
#pragma unroll
      for (unsigned i = 0; i < items; ++i) keys_[i] = keys[position_of(i)];
#pragma unroll
      for (unsigned i = 0; i < items; ++i) keys_[i] = order_.take(keys_[i]);
    } else {
#pragma unroll
      for (unsigned i = 0; i < items; ++i) {
        keys_[i] = position_of(i) < num_valid_ ? order_.take(keys[position_of(i)]) : static_cast<K>(~K{0});
      }
    }
  }

  /// Counts come before positions, so that later tiles wait as short as can be.
  __device__ __forceinline__ void count_in_warps() {
#pragma unroll
    for (unsigned b = lane_; b < buckets; b += 32) shared_.warp_offsets[warp_][b] = 0;
    __syncwarp();
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned digit = digit_at(i, a_.shift);
      if constexpr (keeps_digits) digits_.keep(i, digit);
      atomicAdd(&shared_.warp_offsets[warp_][digit], 1U);
    }
    if constexpr (keeps_digits) digits_.seal();
  }

  __device__ __forceinline__ void sum_over_warps() {
    if (thread_ >= buckets) return;
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
      const std::uint32_t of_warp = shared_.warp_offsets[w][thread_];
      shared_.warp_offsets[w][thread_] = count_;
      count_ += of_warp;
    }
  }

  /// Tells later tiles how many records of each bucket this tile has.
  __device__ __forceinline__ void publish_counts() {
    if (thread_ >= buckets) return;
    const std::uint32_t flag = tile_ == 0 ? tile_state::inclusive_count : tile_state::own_count;
    tile_state::publish(state_of(tile_), flag | num_records());
  }

  /// Finds where each bucket begins in this tile, and where in the bucket each warp's part begins.
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

  /// Returns `count_` without what was counted from behind the input's end.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t num_records() const {
    return thread_ == a_.mask ? count_ - (tile_keys - num_valid_) : count_;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t* state_of(std::uint32_t tile) const {
    return a_.tile_states + std::uint64_t{tile} * buckets + thread_;
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
      const unsigned digit = counted_digit(i, shift);
      const unsigned peers = lanes_with_digit<Bits>(digit);
      const auto leader = static_cast<unsigned>(31 - __clz(static_cast<int>(peers)));
      std::uint32_t first = 0;
      if (lane_ == leader) first = atomicAdd(&shared_.warp_offsets[warp_][digit], static_cast<unsigned>(__popc(peers)));
      first = __shfl_sync(0xffffffffU, first, static_cast<int>(leader));
      put(i, first + static_cast<unsigned>(__popc(peers & lanes_below)));
    }
  }

  /// Returns the number of the bucket's records in earlier tiles, by decoupled look-back with one thread for each
  /// bucket. Several tiles are looked at together: read one after the other, some 25 states made up half of a tile's
  /// time.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t look_back() const {
    if (tile_ == 0) return 0;
    std::uint32_t earlier = 0;
    std::uint32_t unseen = tile_;  // earlier tiles whose records are not in `earlier` yet
    bool is_done = false;
    while (!is_done) {
      std::uint32_t states[look_back_tiles];
#pragma unroll
      for (unsigned i = 0; i < look_back_tiles; ++i) {
        states[i] = unseen > i ? tile_state::observe(state_of(unseen - 1 - i)) : 0;
      }
      bool is_known = true;
#pragma unroll
      for (unsigned i = 0; i < look_back_tiles; ++i) {
        is_known = is_known && states[i] != 0;
        if (is_known && !is_done) {
          earlier += states[i] & tile_state::value_mask;
          is_done = (states[i] & tile_state::inclusive_count) != 0;
          --unseen;
        }
      }
    }
    tile_state::publish(state_of(tile_), tile_state::inclusive_count | (earlier + num_records()));
    return earlier;
  }

  __device__ __forceinline__ void find_targets(std::uint32_t earlier) {
    const bucket_target target = a_.targets[thread_];
    K* const keys = static_cast<K*>(target.keys) + earlier;
    shared_.key_targets[thread_] = keys - bucket_begin_;
    bucket_target next{keys + num_records(), nullptr};
    if constexpr (has_values) {
      V* const values = static_cast<V*>(target.values) + earlier;
      shared_.value_targets[thread_] = values - bucket_begin_;
      next.values = values + num_records();
    }
    if (begin_ + num_valid_ == a_.num_keys) a_.next_targets[thread_] = next;
  }

  /// Stores the tile; `IsFull` says that no record is missing. Warps take turns along the tile and store at one pace:
  /// bursts of stores, warp by warp, took 6 % longer on an H100, whether a warp's records were neighbours or not.
  template <bool IsFull>
  __device__ __forceinline__ void store() {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      keys_[i] = shared_.keys[i * threads + thread_];
      if constexpr (keeps_digits) digits_.keep(i, digit_of(keys_[i], a_.shift));
    }
    if constexpr (keeps_digits) digits_.seal();
    if constexpr (has_values && !Order::makes_positions) {
      __syncthreads();
      begin_values<IsFull>();
    }
    if (!has_values || !a_.drops_keys) store_keys<IsFull>();
    if constexpr (Order::makes_positions) {
      const std::uint64_t first = a_.first_position + begin_;
      store_values<IsFull>([first](unsigned place) {
        V position;
        position.word = static_cast<decltype(position.word)>(first + place);
        return position;
      });
    } else if constexpr (has_values) {
      wait_for_copies();
      __syncthreads();
      store_values<IsFull>([this](unsigned place) { return shared_.values[place]; });
    }
  }

  template <bool IsFull>
  __device__ __forceinline__ void store_keys() {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned at = i * threads + thread_;
      K* const target = shared_.key_targets[placed_digit(i)];
      if (IsFull || at < num_valid_) store_global(target + at, order_.give(keys_[i]));
      __syncwarp();
    }
  }

  /// Begins to copy the tile's values to shared memory, in input order.
  template <bool IsFull>
  __device__ __forceinline__ void begin_values() {
    const V* const values = static_cast<const V*>(a_.values) + begin_;
    if (IsFull && reinterpret_cast<std::uintptr_t>(values) % sizeof(copied_chunk) == 0) {
      constexpr unsigned chunks = tile_keys * sizeof(value) / sizeof(copied_chunk);
      static_assert(tile_keys * sizeof(value) % sizeof(copied_chunk) == 0);
      auto* const to = reinterpret_cast<copied_chunk*>(shared_.values);
      const auto* const from = reinterpret_cast<const copied_chunk*>(values);
#pragma unroll
      for (unsigned i = 0; i < (chunks + threads - 1) / threads; ++i) {
        const unsigned at = i * threads + thread_;
        if (chunks % threads == 0 || at < chunks) begin_copy(to + at, from + at);
      }
    } else {
#pragma unroll
      for (unsigned i = 0; i < items; ++i) {
        const unsigned at = i * threads + thread_;
        if (IsFull || at < num_valid_) begin_copy(&shared_.values[at], values + at);
      }
    }
  }

  /// Stores the values as the keys were. `value_at` returns the value of the record that came from a place in the tile.
  template <bool IsFull, class ValueAt>
  __device__ __forceinline__ void store_values(const ValueAt& value_at) {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned at = i * threads + thread_;
      V* const target = shared_.value_targets[placed_digit(i)];
      if (IsFull || at < num_valid_) store_global(target + at, value_at(shared_.places[at]));
      __syncwarp();
    }
  }

  const Order& order_;
  const partition_arguments<K>& a_;
  shared_memory& shared_;
  const unsigned thread_ = threadIdx.x;
  const unsigned warp_ = threadIdx.x / 32;
  const unsigned lane_ = threadIdx.x % 32;
  std::uint32_t tile_ = 0;
  std::uint32_t begin_ = 0;
  std::uint32_t num_valid_ = 0;
  std::uint32_t count_ = 0;         ///< of bucket `thread_` in this tile
  std::uint32_t bucket_begin_ = 0;  ///< in this tile
  K keys_[items];                   ///< first the keys that this thread loads, then those that it stores
  [[no_unique_address]] std::conditional_t<keeps_digits, kept_digits<items, Bits>, no_value> digits_;  ///< of `keys_`
};

template <class K, class V, unsigned Bits>
inline constexpr partition_policy compiled_partition_policy = partition_policy_for(compiled_family, sizeof(K),
                                                                                   value_bytes_of<V>, Bits);

template <class K, class V, class Order, unsigned Bits = max_partition_bits>
__global__ void __launch_bounds__(compiled_partition_policy<K, V, Bits>.threads,
                                  compiled_partition_policy<K, V, Bits>.least_blocks)
    partition_kernel(Order order, partition_arguments<K> arguments) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  if (arguments.decision != nullptr && *arguments.decision != order_action::passes) return;
  with_known_folding(order, [&]<class Known>(const Known& known) {
    using tile = partition_tile<K, V, Known, compiled_partition_policy<K, V, Bits>, Bits>;
    static_assert(sizeof(typename tile::shared_memory) <= most_shared_bytes(compiled_family));
    tile(known, arguments, *reinterpret_cast<typename tile::shared_memory*>(shared_bytes)).run();
  });
}

/// Destinations travel as a kernel's parameter, so that there is no copy to wait for.
struct target_list {
  bucket_target target[max_partition_buckets];
};
static __global__ void write_targets_kernel(target_list list, bucket_target* targets) {
  targets[threadIdx.x] = list.target[threadIdx.x];
}

}  // namespace spansort::device::cuda
