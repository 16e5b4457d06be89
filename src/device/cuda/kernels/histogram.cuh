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

/// One block's work. It loads one tile while it counts another, which halved the time (H100). Skew does no harm: the
/// hardware adds up increments by one before they reach a counter. Conflicts of banks do: where each digit has one
/// counter, the 32 lanes of a warp find 3.6 of their counters in the same bank, and four digits of a key took 0.47 ms
/// for 2^28 keys of 4 bytes, whose read takes 0.25 (H200). With `Columns` counters for each digit, as many neighbouring
/// lanes each count in banks of their own.
template <class K, class Order, unsigned Columns>
class histogram_block {
 public:
  static constexpr unsigned threads = compiled_histogram_policy<K>.threads;
  static constexpr unsigned items = compiled_histogram_policy<K>.items;
  static constexpr unsigned tile_keys = threads * items;

  __device__ __forceinline__ histogram_block(const Order& order, const K* keys, std::uint64_t num_keys,
                                             const digit_group& digits, std::uint32_t* counters)
      : order_(order), keys_(keys), num_keys_(num_keys), digits_(digits), counters_(counters) {}

  /// Adds to `counts`. Where the order folds, and `any_folded` is not null, 1 is written there if that changes a key.
  __device__ __forceinline__ void run(std::uint64_t* counts, std::uint32_t* any_folded) {
    for (unsigned c = threadIdx.x; c < digits_.num_counters * Columns; c += threads) counters_[c] = 0;
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
    if constexpr (folding_of<Order>::may_be_known) {
      if (__syncthreads_or(folds_any_) != 0 && threadIdx.x == 0 && any_folded != nullptr) *any_folded = 1;
    } else {
      __syncthreads();
    }
    for (unsigned c = threadIdx.x; c < digits_.num_counters; c += threads) {
      std::uint32_t count = 0;
#pragma unroll
      for (unsigned i = 0; i < Columns; ++i) count += counters_[c * Columns + (i + c) % Columns];
      if (count != 0) atomicAdd(reinterpret_cast<unsigned long long*>(counts + c), count);
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

  /// Encodes keys. Those that folding may change are few: a thread folds its keys only where it has one of them. Orders
  /// that may be known to fold nothing have a codec that folds ties here (with_order()).
  __device__ __forceinline__ void encode(K (&keys)[items]) {
    if constexpr (folding_of<Order>::may_be_known) {
      const auto& folding = folding_of<Order>::folding(order_);
      bool may_fold = false;
#pragma unroll
      for (unsigned i = 0; i < items; ++i) may_fold |= folding.may_fold(keys[i]);
      if (may_fold) {
#pragma unroll
        for (unsigned i = 0; i < items; ++i) {
          const K folded = folding.codec.fold(keys[i]);
          folds_any_ |= folded != keys[i];
          keys[i] = folded;
        }
      }
      const auto unfolded = folding_of<Order>::unfolded(order_);
#pragma unroll
      for (unsigned i = 0; i < items; ++i) keys[i] = unfolded.encode(unfolded.take(keys[i]));
    } else {
#pragma unroll
      for (unsigned i = 0; i < items; ++i) keys[i] = order_.encode(order_.take(keys[i]));
    }
  }

  __device__ __forceinline__ void count(std::uint64_t begin, K (&keys)[items]) {
    encode(keys);
    const auto num_valid = static_cast<unsigned>(num_keys_ - begin < tile_keys ? num_keys_ - begin : tile_keys);
    for (unsigned p = 0; p < digits_.count; ++p) {
      std::uint32_t* const bins = counters_ + digits_.first_counter[p] * Columns + threadIdx.x % Columns;
      const unsigned shift = digits_.digit[p].shift;
      const auto mask = static_cast<unsigned>(digits_.digit[p].num_buckets() - 1);
      if (num_valid == tile_keys) {
#pragma unroll
        for (unsigned i = 0; i < items; ++i) {
          atomicAdd(bins + (static_cast<unsigned>(keys[i] >> shift) & mask) * Columns, 1U);
        }
      } else {
#pragma unroll
        for (unsigned i = 0; i < items; ++i) {
          if (i * threads + threadIdx.x >= num_valid) continue;
          atomicAdd(bins + (static_cast<unsigned>(keys[i] >> shift) & mask) * Columns, 1U);
        }
      }
    }
  }

  const Order& order_;
  const K* keys_;
  std::uint64_t num_keys_;
  const digit_group& digits_;
  std::uint32_t* counters_;
  bool folds_any_ = false;  ///< of this thread's keys
};

/// One read of the keys. The shared memory is 4 bytes for each counter of the group and each column; `counts` is zeroed
/// before.
template <class K, class Order, unsigned Columns>
__global__ void __launch_bounds__(compiled_histogram_policy<K>.threads)
    histogram_kernel(Order order, const K* keys, std::uint64_t num_keys, __grid_constant__ const digit_group digits,
                     std::uint64_t* counts, const order_action* decision, std::uint32_t* any_folded) {
  extern __shared__ std::uint32_t counters[];
  if (decision != nullptr && *decision != order_action::passes) return;
  histogram_block<K, Order, Columns>(order, keys, num_keys, digits, counters).run(counts, any_folded);
}

inline constexpr striding_policy compiled_fingerprint_policy = fingerprint_policy_of(compiled_family).sizes;

/// One block's look at neighbouring keys. Keys are loaded in vectors of 16 bytes, each once, and a tile is loaded while
/// the one before is looked at. What lies right of a thread's vector comes from its neighbour in the warp.
template <class K, class Order>
class fingerprint_block {
 public:
  static constexpr unsigned threads = compiled_fingerprint_policy.threads;
  static constexpr unsigned items = compiled_fingerprint_policy.items;  ///< vectors that a thread takes of a tile
  static constexpr unsigned tile_vectors = threads * items;
  static constexpr unsigned vector_keys = 16 / sizeof(K);
  struct alignas(16) vector {
    K keys[vector_keys];
  };
  /// A thread's part of a tile: vectors, and the key that lies right of the last one of its warp.
  struct tile_part {
    vector vectors[items];
    K behind;
  };

  __device__ __forceinline__ fingerprint_block(const Order& order, const K* keys, std::uint64_t num_keys)
      : order_(order), keys_(keys), num_keys_(num_keys) {
    const auto misplaced = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(keys) % sizeof(vector) / sizeof(K));
    const std::uint64_t before = (vector_keys - misplaced) % vector_keys;
    begin_ = before < num_keys ? before : num_keys;
    num_vectors_ = (num_keys - begin_) / vector_keys;
  }

  __device__ __forceinline__ void run(std::uint32_t* seen) {
    constexpr std::uint32_t general = seen_descent | seen_ascent;
    if (blockIdx.x == 0 && threadIdx.x < 32) tell(seen, 0, look_at_ends());
    const std::uint64_t num_tiles = (num_vectors_ + tile_vectors - 1) / tile_vectors;
    tile_part now;
    tile_part next;
    load(blockIdx.x, now);
    for (std::uint64_t tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
      load(tile + gridDim.x, next);
      // The look hides the wait for what is known. All lanes of a warp leave together.
      const std::uint32_t known = __shfl_sync(0xffffffffU, *reinterpret_cast<volatile std::uint32_t*>(seen), 0);
      tell(seen, known, look_at(tile, now));
      if ((known & general) == general) return;
      now = next;
    }
  }

 private:
  [[nodiscard]] __device__ __forceinline__ K encoded(K key) const { return order_.encode(order_.take(key)); }
  [[nodiscard]] __device__ __forceinline__ static std::uint32_t compare(K left, K right) {
    return right < left ? seen_descent : (left < right ? seen_ascent : seen_equal);
  }

  /// Called by whole warps.
  __device__ __forceinline__ static void tell(std::uint32_t* seen, std::uint32_t known, std::uint32_t mine) {
    const std::uint32_t ours = warp_or(mine);
    if (threadIdx.x % 32 == 0 && (ours & ~known) != 0) atomicOr(seen, ours);
  }

  /// Compares what lies before the first vector with what is right of it, and from the last vector's last key on.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t look_at_ends() const {
    const std::uint64_t end = begin_ + num_vectors_ * vector_keys;
    const std::uint64_t last = num_vectors_ == 0 ? begin_ : end - 1;
    std::uint32_t mine = 0;
    for (std::uint64_t at = threadIdx.x; at + 1 < num_keys_ && at < begin_; at += 32) {
      mine |= compare(encoded(keys_[at]), encoded(keys_[at + 1]));
    }
    for (std::uint64_t at = last + threadIdx.x; at + 1 < num_keys_; at += 32) {
      mine |= compare(encoded(keys_[at]), encoded(keys_[at + 1]));
    }
    return mine;
  }

  /// Returns the thread's first vector. A warp takes neighbouring vectors, lane after lane and then item after item.
  [[nodiscard]] __device__ __forceinline__ static std::uint64_t first_of(std::uint64_t tile) {
    return tile * tile_vectors + threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
  }

  __device__ __forceinline__ void load(std::uint64_t tile, tile_part& part) const {
    const auto* const vectors = reinterpret_cast<const vector*>(keys_ + begin_);
    const std::uint64_t first = first_of(tile);
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (first + i * 32 < num_vectors_) part.vectors[i] = vectors[first + i * 32];
    }
    const std::uint64_t behind = first + (items - 1) * 32 + 1;
    part.behind = threadIdx.x % 32 == 31 && behind < num_vectors_ ? vectors[behind].keys[0] : K{0};
  }

  [[nodiscard]] __device__ __forceinline__ std::uint32_t look_at(std::uint64_t tile, tile_part& part) const {
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t first = first_of(tile);
    K next = encoded(part.behind);
    std::uint32_t mine = 0;
#pragma unroll
    for (unsigned i = items; i-- != 0;) {
      K(&keys)[vector_keys] = part.vectors[i].keys;
#pragma unroll
      for (unsigned k = 0; k < vector_keys; ++k) keys[k] = encoded(keys[k]);
      const K right_neighbour = __shfl_down_sync(0xffffffffU, keys[0], 1);
      const K right = lane == 31 ? next : right_neighbour;
      next = __shfl_sync(0xffffffffU, keys[0], 0);
      if (first + i * 32 >= num_vectors_) continue;
#pragma unroll
      for (unsigned k = 0; k + 1 < vector_keys; ++k) mine |= compare(keys[k], keys[k + 1]);
      if (first + i * 32 + 1 < num_vectors_) mine |= compare(keys[vector_keys - 1], right);
    }
    return mine;
  }

  const Order& order_;
  const K* keys_;
  std::uint64_t num_keys_;
  std::uint64_t begin_ = 0;  ///< of the first vector: memory that is aligned to it
  std::uint64_t num_vectors_ = 0;
};

/// Compares every key with its right neighbour. General inputs show ascent and descent in the first tiles, and the
/// other blocks then leave at once. Any number of blocks; no shared memory; `seen` is zeroed before.
template <class K, class Order>
__global__ void __launch_bounds__(compiled_fingerprint_policy.threads)
    fingerprint_kernel(Order order, const K* keys, std::uint64_t num_keys, std::uint32_t* seen) {
  fingerprint_block<K, Order>(order, keys, num_keys).run(seen);
}

}  // namespace spansort::device::cuda
