// SPDX-License-Identifier: Apache-2.0
// A stable partition by one block, for buckets that were to be small and are not. It is slow for many records, but
// needs no counts, no states and no other block.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/partition_parts.cuh"
#include "device/cuda/kernels/published_sorts.cuh"

namespace spansort::device::cuda {

template <unsigned Threads>
class one_block_partition {
 public:
  static constexpr unsigned digit_bits = 8;
  static constexpr unsigned digits = 1U << digit_bits;
  static constexpr unsigned warps = Threads / 32;
  static_assert(Threads >= digits, "a thread a digit");

  struct shared_memory {
    std::uint32_t begins[digits];  ///< where the next records of each digit go
    std::uint32_t counts[warps][digits];
    unsigned warp_sums[warps];
  };

  /// Counts the digits of `count` records, 2^31 at most, and finds where those of each digit go. digit_of(key) returns
  /// the digit, less than `digits`, of a key in memory. Returns, to all threads alike, whether all have the same digit.
  /// All threads of the block call it. What any thread has written before the call is there for all.
  template <class K, class DigitOf>
  static __device__ __forceinline__ bool count_digits(const K* keys, std::uint32_t count, const DigitOf& digit_of,
                                                      shared_memory& shared) {
    __syncthreads();
    if (threadIdx.x < digits) shared.begins[threadIdx.x] = 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < count; i += Threads) atomicAdd(&shared.begins[digit_of(keys[i])], 1U);
    __syncthreads();
    const std::uint32_t own = threadIdx.x < digits ? shared.begins[threadIdx.x] : 0;
    const unsigned before = sum_over_block<Threads>(own, shared.warp_sums).before;
    if (threadIdx.x < digits) shared.begins[threadIdx.x] = before;
    return __syncthreads_or(own == count) != 0;
  }

  /// Moves the records whose digits have been counted to where these say, those of the same digit in the order in which
  /// they were. `from` and `to` do not overlap. What it writes is there for all threads of the block afterwards.
  template <class K, class V, class DigitOf>
  static __device__ __forceinline__ void move(const typed_records<K, V>& from, const typed_records<K, V>& to,
                                              std::uint32_t count, const DigitOf& digit_of, shared_memory& shared) {
    const unsigned warp = threadIdx.x / 32;
    const unsigned lanes_below = (1U << threadIdx.x % 32) - 1;
    for (std::uint32_t first = 0; first < count; first += Threads) {
      for (unsigned d = threadIdx.x % 32; d < digits; d += 32) shared.counts[warp][d] = 0;
      __syncthreads();
      const std::uint32_t i = first + threadIdx.x;
      const bool is_there = i < count;
      const K loaded = is_there ? from.keys[i] : K{0};
      const unsigned digit = digit_of(loaded);
      const unsigned peers = lanes_with_digit<digit_bits>(digit) & __ballot_sync(0xffffffffU, is_there);
      const auto rank = static_cast<unsigned>(__popc(peers & lanes_below));
      if (is_there && rank == 0) shared.counts[warp][digit] = static_cast<unsigned>(__popc(peers));
      __syncthreads();
      if (threadIdx.x < digits) {
        std::uint32_t at = shared.begins[threadIdx.x];
        for (unsigned w = 0; w < warps; ++w) {
          const std::uint32_t of_warp = shared.counts[w][threadIdx.x];
          shared.counts[w][threadIdx.x] = at;
          at += of_warp;
        }
        shared.begins[threadIdx.x] = at;
      }
      __syncthreads();
      if (is_there) {
        const std::uint32_t at = shared.counts[warp][digit] + rank;
        store_global(to.keys + at, loaded);
        if constexpr (value_bytes_of<V> != 0) store_global(to.values + at, from.values[i]);
      }
      __syncthreads();
    }
  }
};

}  // namespace spansort::device::cuda
