// SPDX-License-Identifier: Apache-2.0
// The kernels of Satish, Harris and Garland's radix sort (2009, section III): tiles are sorted on chip by four 1-bit
// splits, and their runs are copied to where the scanned table of counts says.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/cuda/kernels/published_sorts.cuh"
#include "device/cuda/tuning/published_sorts_policy.hpp"
#include "device/satish_tiles.hpp"

namespace spansort::device::cuda {

/// What both kernels are given. They have a block of satish_threads threads for each tile of radix_tile_keys records.
template <class K, class V>
struct satish_radix_arguments {
  typed_records<K, V> from;
  typed_records<K, V> to;
  std::uint64_t num_keys = 0;
  std::uint64_t num_tiles = 0;
  unsigned shift = 0;
  unsigned bits = 0;               ///< of the digit, at most radix_digit_bits
  std::uint64_t* table = nullptr;  ///< [radix_buckets][num_tiles]

  [[nodiscard]] __device__ __forceinline__ unsigned mask() const { return (1U << bits) - 1; }
  /// Returns the number of records of this block's tile.
  [[nodiscard]] __device__ __forceinline__ unsigned num_valid() const {
    const std::uint64_t left = num_keys - std::uint64_t{blockIdx.x} * satish::radix_tile_keys;
    return left < satish::radix_tile_keys ? static_cast<unsigned>(left) : satish::radix_tile_keys;
  }
};

/// One split of a tile's words by one bit of their digits: each thread holds four neighbouring words. Those whose bit
/// is clear come first, and both kinds keep their order. The whole block calls it.
__device__ __forceinline__ void split_tile(std::uint16_t* words, unsigned number, unsigned* warp_sums) {
  constexpr unsigned items = satish::radix_tile_keys / satish_threads;
  const unsigned first = threadIdx.x * items;
  std::uint16_t mine[items];
  unsigned num_clear = 0;
#pragma unroll
  for (unsigned i = 0; i < items; ++i) {
    mine[i] = words[first + i];
    num_clear += 1 - satish::split_bit(mine[i], number);
  }
  const block_sum_result clear = sum_over_block<satish_threads>(num_clear, warp_sums);
  unsigned next_clear = clear.before;
  unsigned next_set = clear.total + first - clear.before;
#pragma unroll
  for (unsigned i = 0; i < items; ++i) {
    words[satish::split_bit(mine[i], number) != 0 ? next_set++ : next_clear++] = mine[i];
  }
  __syncthreads();
}

/// Steps 1 and 2 of a pass: sorts each tile by its digit and writes it to `to`, and its counts of each bucket to the
/// table. Shared memory: 2 KiB of words, and a tile of keys, then of values. One read and one write of each record.
/// `from` and `to` do not overlap.
template <class K, class V, class Order>
__global__ void __launch_bounds__(satish_threads)
    satish_sort_tiles_kernel(Order order, __grid_constant__ const satish_radix_arguments<K, V> a) {
  constexpr unsigned tile_keys = satish::radix_tile_keys;
  constexpr bool has_values = value_bytes_of<V> != 0;
  __shared__ union {
    K keys[tile_keys];
    std::conditional_t<has_values, V, char> values[has_values ? tile_keys : 1];
  } staged;
  __shared__ std::uint16_t words[tile_keys];
  __shared__ unsigned warp_sums[satish_threads / 32];
  __shared__ unsigned run_begins[satish::radix_buckets];
  __shared__ unsigned run_ends[satish::radix_buckets];
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * tile_keys;
  const unsigned num_valid = a.num_valid();

  for (unsigned at = threadIdx.x; at < tile_keys; at += satish_threads) {
    // What lies behind the input's end has the highest digit and the highest places, so it stays there.
    unsigned digit = a.mask();
    if (at < num_valid) {
      staged.keys[at] = a.from.keys[begin + at];
      digit = digit_of_key(order, staged.keys[at], a.shift, a.mask());
    }
    words[at] = satish::split_word(digit, at);
  }
  if (threadIdx.x < satish::radix_buckets) run_begins[threadIdx.x] = run_ends[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned number = 0; number < a.bits; ++number) split_tile(words, number, warp_sums);

  for (unsigned at = threadIdx.x; at < num_valid; at += satish_threads) {
    const unsigned digit = satish::digit_of(words[at]);
    if (at == 0 || satish::digit_of(words[at - 1]) != digit) run_begins[digit] = at;
    if (at + 1 == num_valid || satish::digit_of(words[at + 1]) != digit) run_ends[digit] = at + 1;
    a.to.keys[begin + at] = staged.keys[satish::place_of(words[at])];
  }
  __syncthreads();
  if (threadIdx.x < satish::radix_buckets) {
    a.table[threadIdx.x * a.num_tiles + blockIdx.x] = run_ends[threadIdx.x] - run_begins[threadIdx.x];
  }
  if constexpr (has_values) {
    for (unsigned at = threadIdx.x; at < num_valid; at += satish_threads) {
      staged.values[at] = a.from.values[begin + at];
    }
    __syncthreads();
    for (unsigned at = threadIdx.x; at < num_valid; at += satish_threads) {
      a.to.values[begin + at] = staged.values[satish::place_of(words[at])];
    }
  }
}

/// Step 4 of a pass: copies each sorted tile's runs to where the scanned table says. Some 1 KiB of shared memory. One
/// read and one write of each record. `from` and `to` do not overlap.
template <class K, class V, class Order>
__global__ void __launch_bounds__(satish_threads)
    satish_scatter_kernel(Order order, __grid_constant__ const satish_radix_arguments<K, V> a) {
  constexpr unsigned tile_keys = satish::radix_tile_keys;
  __shared__ std::uint8_t digits[tile_keys];
  __shared__ unsigned run_begins[satish::radix_buckets];
  __shared__ std::uint64_t targets[satish::radix_buckets];
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * tile_keys;
  const unsigned num_valid = a.num_valid();

  for (unsigned at = threadIdx.x; at < num_valid; at += satish_threads) {
    digits[at] = static_cast<std::uint8_t>(digit_of_key(order, a.from.keys[begin + at], a.shift, a.mask()));
  }
  if (threadIdx.x < satish::radix_buckets) targets[threadIdx.x] = a.table[threadIdx.x * a.num_tiles + blockIdx.x];
  __syncthreads();
  for (unsigned at = threadIdx.x; at < num_valid; at += satish_threads) {
    if (at == 0 || digits[at - 1] != digits[at]) run_begins[digits[at]] = at;
  }
  __syncthreads();
  for (unsigned at = threadIdx.x; at < num_valid; at += satish_threads) {
    const std::uint64_t to = targets[digits[at]] + (at - run_begins[digits[at]]);
    a.to.keys[to] = a.from.keys[begin + at];
    if constexpr (value_bytes_of<V> != 0) a.to.values[to] = a.from.values[begin + at];
  }
}

}  // namespace spansort::device::cuda
