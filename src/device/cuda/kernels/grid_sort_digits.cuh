// SPDX-License-Identifier: Apache-2.0
// The buckets of a sort by blocks that meet (grid_sort.cuh): by bits of the encoding, or between splitters of a sorted
// sample.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/chip_tile.cuh"

namespace spansort::device::cuda {

/// Buckets by eight bits of the encoding.
struct digit_of_bits {
  unsigned shift;

  template <class K>
  [[nodiscard]] __device__ __forceinline__ unsigned operator()(K encoded) const {
    return static_cast<unsigned>(encoded >> shift) & (small_digits - 1);
  }
};

/// Buckets between splitters. A key that two splitters are equal to has the bucket between them, which no other key can
/// be in.
template <class K>
struct digit_of_splitters {
  const K* splitters;    ///< shifted, ascending
  unsigned num_buckets;  ///< a power of two, one more than splitters
  unsigned shift;        ///< keys are compared from this bit up

  [[nodiscard]] __device__ __forceinline__ unsigned operator()(K encoded) const {
    const K key = static_cast<K>(encoded >> shift);
    unsigned before = 0;  // splitters that are less
    for (unsigned step = num_buckets / 2; step != 0; step /= 2) {
      if (splitters[before + step - 1] < key) before += step;
    }
    return before + (is_whole(before + 1) && splitters[before] == key ? 1 : 0);
  }
  /// Returns whether all keys of a bucket are equal.
  [[nodiscard]] __device__ __forceinline__ bool is_whole(unsigned bucket) const {
    return bucket != 0 && bucket + 1 < num_buckets && splitters[bucket - 1] == splitters[bucket];
  }
};

template <class Digit>
inline constexpr bool has_splitters = false;
template <class K>
inline constexpr bool has_splitters<digit_of_splitters<K>> = true;

/// Returns the key of rank t to thread t of grid_sort_threads, which have one each: Batcher's bitonic network.
/// `exchanged` has room for two keys a thread, and nobody reads it before.
template <class K>
[[nodiscard]] __device__ __forceinline__ K sorted_key_of_each(K key, K* exchanged) {
  const unsigned thread = threadIdx.x;
  unsigned half = 0;  // steps take turns in two halves, so that one barrier is enough
#pragma unroll 1
  for (unsigned length = 2; length <= grid_sort_threads; length *= 2) {
#pragma unroll 1
    for (unsigned distance = length / 2; distance != 0; distance /= 2) {
      K other = shuffle_key(key, (thread ^ distance) % 32);
      if (distance >= 32) {
        exchanged[half + thread] = key;
        __syncthreads();
        other = exchanged[half + (thread ^ distance)];
        half ^= grid_sort_threads;
      }
      const bool takes_lesser = ((thread & distance) == 0) == ((thread & length) == 0);
      if ((other < key) == takes_lesser) key = other;
    }
  }
  return key;
}

}  // namespace spansort::device::cuda
