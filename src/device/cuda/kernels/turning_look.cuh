// SPDX-License-Identifier: Apache-2.0
// A look for order that turns keys round while it looks, where a sample says that they are in opposite order. A look
// and then a reversal read the keys twice; this reads them once. It needs no values, keys whose equals have the same
// bits, and an array of whole pairs of vectors. Where the sample was wrong the keys have changed places, and are sorted
// by passes as any others are.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/histogram.cuh"
#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {

/// The outermost keys of a block's part, encoded. Keys of neighbouring blocks are compared when all blocks are done,
/// for a block's neighbour may have turned its keys already.
template <class K>
struct turned_edges {
  K left_first;
  K left_last;
  K right_first;  ///< the one that lies nearest to the middle of the array
  K right_last;
};

/// What a look is given that may turn the keys.
template <class K>
struct turning_arguments {
  K* keys = nullptr;                         ///< null: the keys may not be turned
  const std::uint32_t* is_hinted = nullptr;  ///< not 0: the sample was in opposite order
  std::uint64_t part_pairs = 0;              ///< pairs of vectors that a block takes; no block is without any
  turned_edges<K>* edges = nullptr;          ///< [gridDim.x]
};

inline constexpr unsigned order_sample_keys = 256;

/// Begins a look: clears what is seen, and looks at a sample whether the keys may be in opposite order. One block of
/// order_sample_keys threads.
template <class K, class Order>
__global__ void __launch_bounds__(order_sample_keys)
    begin_look_kernel(Order order, const K* keys, std::uint64_t num_keys, bool may_turn, std::uint32_t* seen,
                      std::uint32_t* is_hinted) {
  __shared__ K sample[order_sample_keys];
  const auto encoded = [&](std::uint64_t at) { return order.encode(order.take(keys[at])); };
  bool is_turned = false;
  if (may_turn) {
    const std::uint64_t at = (num_keys - 2) / order_sample_keys * threadIdx.x;
    sample[threadIdx.x] = encoded(at);
    __syncthreads();
    const bool is_last = threadIdx.x + 1 == order_sample_keys;
    const K next = is_last ? encoded(num_keys - 1) : sample[threadIdx.x + 1];
    const bool descends = encoded(at + 1) <= sample[threadIdx.x] && next <= sample[threadIdx.x];
    is_turned = __syncthreads_and(descends) != 0 && encoded(num_keys - 1) < sample[0];
  }
  if (threadIdx.x == 0) {
    *seen = 0;
    *is_hinted = is_turned ? 1 : 0;
  }
}

/// One block's part: neighbouring vectors of the left half, and their mirror images in the right half.
template <class K, class Order>
class turning_block {
 public:
  static constexpr unsigned threads = compiled_fingerprint_policy.threads;
  static constexpr unsigned items = compiled_fingerprint_policy.items;  ///< pairs of vectors that a thread takes
  static constexpr unsigned tile_vectors = threads * items;
  using vector = typename fingerprint_block<K, Order>::vector;
  static constexpr unsigned vector_keys = fingerprint_block<K, Order>::vector_keys;

  __device__ __forceinline__ turning_block(const Order& order, std::uint64_t num_keys,
                                           const turning_arguments<K>& arguments)
      : order_(order),
        vectors_(reinterpret_cast<vector*>(arguments.keys)),
        num_vectors_(num_keys / vector_keys),
        begin_(blockIdx.x * arguments.part_pairs) {
    const std::uint64_t num_pairs = num_vectors_ / 2;
    end_ = begin_ + arguments.part_pairs < num_pairs ? begin_ + arguments.part_pairs : num_pairs;
  }

  __device__ __forceinline__ void run(std::uint32_t* seen, turned_edges<K>* edges) {
    if (threadIdx.x == 0) edges[blockIdx.x] = find_edges();
    for (std::uint64_t tile = begin_; tile < end_; tile += tile_vectors) {
      load(tile);
      const std::uint32_t mine = look_at(tile);
      const std::uint32_t known = *reinterpret_cast<volatile std::uint32_t*>(seen);
      const std::uint32_t ours = warp_or(mine);
      if (threadIdx.x % 32 == 0 && (ours & ~known) != 0) atomicOr(seen, ours);
      // Behind this all threads have loaded, so that none finds keys that have been turned already.
      if (__syncthreads_or(((ours | known) & seen_ascent) != 0) != 0) return;
      store(tile);
    }
  }

 private:
  [[nodiscard]] __device__ __forceinline__ K encoded(K key) const { return order_.encode(order_.take(key)); }
  [[nodiscard]] __device__ __forceinline__ vector& left(std::uint64_t pair) const { return vectors_[pair]; }
  [[nodiscard]] __device__ __forceinline__ vector& right(std::uint64_t pair) const {
    return vectors_[num_vectors_ - 1 - pair];
  }
  /// Returns the thread's first pair. A warp takes neighbouring ones, lane after lane and then item after item.
  [[nodiscard]] __device__ __forceinline__ static std::uint64_t first_of(std::uint64_t tile) {
    return tile + threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
  }

  [[nodiscard]] __device__ __forceinline__ turned_edges<K> find_edges() const {
    return {encoded(left(begin_).keys[0]), encoded(left(end_ - 1).keys[vector_keys - 1]),
            encoded(right(end_ - 1).keys[0]), encoded(right(begin_).keys[vector_keys - 1])};
  }

  __device__ __forceinline__ void load(std::uint64_t tile) {
    const std::uint64_t first = first_of(tile);
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (first + i * 32 < end_) {
        left_[i] = left(first + i * 32);
        right_[i] = right(first + i * 32);
      }
    }
    const std::uint64_t behind = first + (items - 1) * 32 + 1;
    has_behind_ = threadIdx.x % 32 == 31 && behind < end_;
    behind_left_ = has_behind_ ? left(behind).keys[0] : K{0};
    behind_right_ = has_behind_ ? right(behind).keys[vector_keys - 1] : K{0};
  }

  /// Compares the keys of each vector, and its innermost one with what lies farther in.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t look_at(std::uint64_t tile) const {
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t first = first_of(tile);
    K inner_left = encoded(behind_left_);
    K inner_right = encoded(behind_right_);
    bool has_inner = has_behind_;
    std::uint32_t mine = 0;
#pragma unroll
    for (unsigned i = items; i-- != 0;) {
      const K left_begin = encoded(left_[i].keys[0]);
      const K right_end = encoded(right_[i].keys[vector_keys - 1]);
      const K next_left = __shfl_down_sync(0xffffffffU, left_begin, 1);
      const K next_right = __shfl_down_sync(0xffffffffU, right_end, 1);
      const std::uint64_t pair = first + i * 32;
      if (lane != 31) {
        inner_left = next_left;
        inner_right = next_right;
        has_inner = pair + 1 < end_;
      }
      if (pair < end_) {
#pragma unroll
        for (unsigned k = 0; k + 1 < vector_keys; ++k) {
          mine |= compare(encoded(left_[i].keys[k]), encoded(left_[i].keys[k + 1]));
          mine |= compare(encoded(right_[i].keys[k]), encoded(right_[i].keys[k + 1]));
        }
        if (has_inner) {
          mine |= compare(encoded(left_[i].keys[vector_keys - 1]), inner_left);
          mine |= compare(inner_right, encoded(right_[i].keys[0]));
        }
      }
      // The item before finds this one's first lane behind its last.
      inner_left = __shfl_sync(0xffffffffU, left_begin, 0);
      inner_right = __shfl_sync(0xffffffffU, right_end, 0);
      has_inner = first - lane + i * 32 < end_;
    }
    return mine;
  }

  [[nodiscard]] __device__ __forceinline__ static std::uint32_t compare(K a, K b) {
    return b < a ? seen_descent : (a < b ? seen_ascent : seen_equal);
  }

  __device__ __forceinline__ void store(std::uint64_t tile) const {
    const std::uint64_t first = first_of(tile);
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (first + i * 32 < end_) {
        left(first + i * 32) = reversed(right_[i]);
        right(first + i * 32) = reversed(left_[i]);
      }
    }
  }

  [[nodiscard]] __device__ __forceinline__ static vector reversed(const vector& v) {
    vector other;
#pragma unroll
    for (unsigned k = 0; k < vector_keys; ++k) other.keys[k] = v.keys[vector_keys - 1 - k];
    return other;
  }

  const Order& order_;
  vector* vectors_;
  std::uint64_t num_vectors_;
  std::uint64_t begin_ = 0;  ///< of this block's pairs
  std::uint64_t end_ = 0;
  vector left_[items];
  vector right_[items];
  K behind_left_{};
  K behind_right_{};
  bool has_behind_ = false;
};

/// The look of fingerprint_kernel, or where the sample was in opposite order the look that turns.
template <class K, class Order>
__global__ void __launch_bounds__(compiled_fingerprint_policy.threads)
    turning_look_kernel(Order order, const K* keys, std::uint64_t num_keys, std::uint32_t* seen,
                        turning_arguments<K> turning) {
  if (turning.keys != nullptr && *turning.is_hinted != 0) {
    turning_block<K, Order>(order, num_keys, turning).run(seen, turning.edges);
  } else {
    fingerprint_block<K, Order>(order, keys, num_keys).run(seen);
  }
}

/// Decides what is done with a segment, by what has been seen of it. `equal_may_turn`: reversing equal keys changes
/// nothing that shows. Keys that have been turned stay, if the parts of all blocks were in opposite order to each
/// other, too. One block.
template <class K>
__global__ void decide_kernel(std::uint32_t* seen, bool may_reverse, bool equal_may_turn, turning_arguments<K> turning,
                              unsigned num_edges, order_action* decision) {
  const bool is_turned = turning.keys != nullptr && *turning.is_hinted != 0;
  bool has_ascent = (*seen & seen_ascent) != 0;
  if (is_turned) {
    for (unsigned i = threadIdx.x; i < num_edges; i += blockDim.x) {
      const turned_edges<K> edges = turning.edges[i];
      if (i + 1 == num_edges) {
        has_ascent = has_ascent || edges.left_last < edges.right_first;
      } else {
        const turned_edges<K> inner = turning.edges[i + 1];
        has_ascent = has_ascent || edges.left_last < inner.left_first || inner.right_last < edges.right_first;
      }
    }
    has_ascent = __syncthreads_or(has_ascent) != 0;
  }
  if (threadIdx.x != 0) return;
  // The sample has shown a descent, which may lie between the parts of two blocks.
  if (is_turned) *seen |= seen_descent;
  if (has_ascent) *seen |= seen_ascent;
  const bool is_reversed = !has_ascent && (equal_may_turn || (*seen & seen_equal) == 0);
  *decision = (*seen & seen_descent) == 0  ? order_action::keep
              : is_reversed && is_turned   ? order_action::keep
              : is_reversed && may_reverse ? order_action::reverse
                                           : order_action::passes;
}

}  // namespace spansort::device::cuda
