// SPDX-License-Identifier: Apache-2.0
// The kernels of Satish, Harris and Garland's merge sort (2009, section IV): tiles are sorted on chip by Batcher's
// odd-even merge sort, and runs are merged by intervals between splitters. The arithmetic is that of
// device/satish_tiles.hpp, which is tested without a GPU.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/cuda/kernels/published_sorts.cuh"
#include "device/cuda/tuning/published_sorts_policy.hpp"
#include "device/satish_tiles.hpp"

namespace spansort::device::cuda {

static_assert(satish_threads == satish::merge_tile_keys, "a thread a record of a tile, or of a run's interval");

/// Sorts each tile of 256 records where it lies, stably: ties are broken by the place in the tile. A block of
/// satish_threads threads a tile. Shared memory: a tile of encoded keys and places, and a tile of keys, then of values.
/// One read and one write of each record.
template <class K, class V>
__global__ void __launch_bounds__(satish_threads)
    network_sort_kernel(keys::codec_of<K> codec, unsigned shift, typed_records<K, V> data, std::uint64_t num_keys) {
  constexpr unsigned tile_keys = satish::merge_tile_keys;
  constexpr bool has_values = value_bytes_of<V> != 0;
  __shared__ union {
    K keys[tile_keys];
    std::conditional_t<has_values, V, char> values[has_values ? tile_keys : 1];
  } staged;
  __shared__ K encoded[tile_keys];
  __shared__ std::uint16_t places[tile_keys];
  const unsigned at = threadIdx.x;
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * tile_keys;
  const bool is_there = at < num_keys - begin;

  // What lies behind the input's end has the highest key and the highest places, so it stays there.
  encoded[at] = static_cast<K>(~K{0});
  places[at] = static_cast<std::uint16_t>(at);
  if (is_there) {
    staged.keys[at] = data.keys[begin + at];
    encoded[at] = static_cast<K>(codec.encode(staged.keys[at]) >> shift);
  }
  __syncthreads();
  for (unsigned half = 1; half < tile_keys; half *= 2) {
    for (unsigned distance = half; distance != 0; distance /= 2) {
      if (satish::begins_comparator(at, half, distance, tile_keys)) {
        const unsigned upper = at + distance;
        const K left = encoded[at];
        const K right = encoded[upper];
        const std::uint16_t left_place = places[at];
        const std::uint16_t right_place = places[upper];
        if (satish::is_out_of_order(left, left_place, right, right_place)) {
          encoded[at] = right;
          encoded[upper] = left;
          places[at] = right_place;
          places[upper] = left_place;
        }
      }
      __syncthreads();
    }
  }
  if (is_there) data.keys[begin + at] = staged.keys[places[at]];
  if constexpr (has_values) {
    __syncthreads();
    if (is_there) staged.values[at] = data.values[begin + at];
    __syncthreads();
    if (is_there) data.values[begin + at] = staged.values[places[at]];
  }
}

/// Finds where each interval of a level begins. A thread for each splitter, of which there are as many as tiles, in
/// blocks of satish_threads; no shared memory. It reads some 10 to 40 keys for each splitter.
template <class K>
__global__ void __launch_bounds__(satish_threads)
    place_splitters_kernel(satish::encoded_keys<K> array, std::uint64_t run_keys, std::uint64_t num_keys,
                           satish::interval_begin* begins) {
  const std::uint64_t at = (std::uint64_t{blockIdx.x} * satish_threads + threadIdx.x) * satish::merge_tile_keys;
  if (at >= num_keys) return;
  const satish::run_pair pair = satish::pair_at(at, run_keys, num_keys);
  const satish::placed_splitter placed = satish::place_splitter(array, pair, at);
  begins[pair.begin / satish::merge_tile_keys + placed.number] = placed.begin;
}

/// Merges one interval of a level in each block of satish_threads threads: at most 256 records of either run. Each
/// thread finds the rank of a record of a in b and of one of b in a by binary search; equal keys of a come first.
/// Shared memory: the encoded keys of both, and 512 keys, then values. One read and one write of each record. `from`
/// and `to` do not overlap.
template <class K, class V>
__global__ void __launch_bounds__(satish_threads)
    merge_intervals_kernel(keys::codec_of<K> codec, unsigned shift, typed_records<K, V> from, typed_records<K, V> to,
                           const satish::interval_begin* begins, std::uint64_t run_keys, std::uint64_t num_keys) {
  constexpr unsigned tile_keys = satish::merge_tile_keys;
  constexpr bool has_values = value_bytes_of<V> != 0;
  __shared__ union {
    K keys[2 * tile_keys];
    std::conditional_t<has_values, V, char> values[has_values ? 2 * tile_keys : 1];
  } staged;
  __shared__ K encoded_a[tile_keys];
  __shared__ K encoded_b[tile_keys];
  const satish::merge_interval m = satish::interval_at(begins, blockIdx.x, run_keys, num_keys);
  const unsigned at = threadIdx.x;
  const bool has_a = at < m.num_a;
  const bool has_b = at < m.num_b;

  K key_a{0};
  K key_b{0};
  if (has_a) {
    key_a = from.keys[m.a + at];
    encoded_a[at] = static_cast<K>(codec.encode(key_a) >> shift);
  }
  if (has_b) {
    key_b = from.keys[m.b + at];
    encoded_b[at] = static_cast<K>(codec.encode(key_b) >> shift);
  }
  __syncthreads();
  unsigned position_a = 0;
  unsigned position_b = 0;
  if (has_a) {
    position_a = at + static_cast<unsigned>(satish::rank_among(encoded_b, 0, 1, m.num_b, encoded_a[at], false));
    staged.keys[position_a] = key_a;
  }
  if (has_b) {
    position_b = at + static_cast<unsigned>(satish::rank_among(encoded_a, 0, 1, m.num_a, encoded_b[at], true));
    staged.keys[position_b] = key_b;
  }
  __syncthreads();
  const unsigned count = m.num_a + m.num_b;
  for (unsigned i = at; i < count; i += satish_threads) to.keys[m.to + i] = staged.keys[i];
  if constexpr (has_values) {
    __syncthreads();
    if (has_a) staged.values[position_a] = from.values[m.a + at];
    if (has_b) staged.values[position_b] = from.values[m.b + at];
    __syncthreads();
    for (unsigned i = at; i < count; i += satish_threads) to.values[m.to + i] = staged.values[i];
  }
}

}  // namespace spansort::device::cuda
