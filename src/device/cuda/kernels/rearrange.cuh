// SPDX-License-Identifier: Apache-2.0
// Moves that need no look at keys: the copies and reversals of local sorts, swaps of mirrored records, and the small
// kernels that prepare a local sort. Only bucket_targets_kernel uses shared memory.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/striding_policies.hpp"

namespace spansort::device::cuda {

inline constexpr unsigned rearrange_threads = rearrange_policy_of(compiled_family).sizes.threads;

/// Returns whether a kernel that is given this condition is to work.
__device__ __forceinline__ bool holds(const order_condition& when) {
  return when.decision == nullptr || *when.decision == when.wanted;
}

inline constexpr unsigned rearrange_items = rearrange_policy_of(compiled_family).sizes.items;
inline constexpr std::uint64_t rearrange_tile = std::uint64_t{rearrange_threads} * rearrange_items;

/// Takes this thread's places of `count`, a few at a time: load(i) returns what store(i, loaded) stores, and all of the
/// few are loaded before one is stored, so that several loads are under way.
template <class Load, class Store>
__device__ __forceinline__ void for_each_place(std::uint64_t count, const Load& load, const Store& store) {
  using loaded_type = decltype(load(std::uint64_t{0}));
  for (std::uint64_t tile = blockIdx.x * rearrange_tile; tile < count; tile += gridDim.x * rearrange_tile) {
    const std::uint64_t first = tile + threadIdx.x;
    loaded_type loaded[rearrange_items];
#pragma unroll
    for (unsigned i = 0; i < rearrange_items; ++i) {
      if (first + i * rearrange_threads < count) loaded[i] = load(first + i * rearrange_threads);
    }
#pragma unroll
    for (unsigned i = 0; i < rearrange_items; ++i) {
      if (first + i * rearrange_threads < count) store(first + i * rearrange_threads, loaded[i]);
    }
  }
}

template <class T>
__global__ void copy_kernel(order_condition when, T* to, const T* from, std::uint64_t count) {
  if (!holds(when)) return;
  for_each_place(
      count, [from](std::uint64_t i) { return from[i]; }, [to](std::uint64_t i, const T& moved) { to[i] = moved; });
}

/// Several neighbours that are moved together.
template <class T>
struct alignas(16) rearranged_vector {
  static constexpr unsigned count = sizeof(T) < 16 ? 16 / sizeof(T) : 1;
  T items[count];

  [[nodiscard]] __device__ __forceinline__ rearranged_vector reversed() const {
    rearranged_vector other;
#pragma unroll
    for (unsigned i = 0; i < count; ++i) other.items[i] = items[count - 1 - i];
    return other;
  }
};

/// Reverses `count` items in place. `turned` returns what an item is in opposite order.
template <class T, class Turned>
__device__ __forceinline__ void reverse_in_place(T* items, std::uint64_t count, const Turned& turned) {
  struct mirrored {
    T left;
    T right;
  };
  for_each_place(
      count - count / 2,
      [=](std::uint64_t i) {
        return mirrored{items[i], items[count - 1 - i]};
      },
      [=](std::uint64_t i, const mirrored& moved) {
        items[i] = turned(moved.right);
        items[count - 1 - i] = turned(moved.left);
      });
}

/// Writes to[n - 1 - i] = from[i]; it works in place where they are the same array. Vectors of items are moved where
/// the array begins and ends with one.
template <class T>
__global__ void reverse_kernel(order_condition when, T* to, T* from, std::uint64_t count) {
  if (!holds(when)) return;
  using vector = rearranged_vector<T>;
  const bool is_of_vectors = reinterpret_cast<std::uintptr_t>(from) % sizeof(vector) == 0 &&
                             reinterpret_cast<std::uintptr_t>(to) % sizeof(vector) == 0 && count % vector::count == 0;
  if (to != from) {
    for_each_place(
        count, [from](std::uint64_t i) { return from[i]; },
        [to, count](std::uint64_t i, const T& moved) { to[count - 1 - i] = moved; });
  } else if (is_of_vectors) {
    reverse_in_place(reinterpret_cast<vector*>(to), count / vector::count,
                     [](const vector& v) { return v.reversed(); });
  } else {
    reverse_in_place(to, count, [](const T& item) { return item; });
  }
}

template <class T>
__global__ void swap_mirrored_kernel(T* left, T* right, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * rearrange_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * rearrange_threads + threadIdx.x; i < count; i += step) {
    const T moved = left[i];
    left[i] = right[count - 1 - i];
    right[count - 1 - i] = moved;
  }
}

struct digit_widths {
  std::uint8_t bits[max_digits_together];
};

/// Turns the counts of all passes, one digit after the other, into the positions where their buckets begin in the array
/// that the pass writes. Even passes write the alternate. One block for each pass, one thread for each bucket.
template <class K, class V, unsigned Buckets = max_partition_buckets>
__global__ void bucket_targets_kernel(const std::uint64_t* counts, digit_widths widths, K* keys, V* values,
                                      K* alternate_keys, V* alternate_values, bucket_target* targets) {
  __shared__ std::uint64_t sums[Buckets];
  const unsigned bucket = threadIdx.x;
  const unsigned pass = blockIdx.x;
  for (unsigned p = 0; p < pass; ++p) counts += 1U << widths.bits[p];
  const std::uint64_t count = bucket < (1U << widths.bits[pass]) ? counts[bucket] : 0;
  sums[bucket] = count;
  __syncthreads();
  for (unsigned distance = 1; distance < Buckets; distance *= 2) {
    const std::uint64_t left = bucket >= distance ? sums[bucket - distance] : 0;
    __syncthreads();
    sums[bucket] += left;
    __syncthreads();
  }
  const std::uint64_t begin = sums[bucket] - count;
  bucket_target& target = targets[pass * 2 * Buckets + bucket];
  target.keys = (pass % 2 == 0 ? alternate_keys : keys) + begin;
  if constexpr (value_bytes_of<V> != 0) target.values = (pass % 2 == 0 ? alternate_values : values) + begin;
}

}  // namespace spansort::device::cuda
