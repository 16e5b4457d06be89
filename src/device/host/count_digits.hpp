// SPDX-License-Identifier: Apache-2.0
// Counting digits on one thread: plain, and of runs that are known to be in order, where it takes a search per digit
// instead of a look at every key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "device/host/level_digit.hpp"
#include "device/host/records.hpp"
#include "device/host/vector_kernels.hpp"

namespace spansort::device::host {

/// Adds the buckets of all keys to `counts`, tile by tile.
template <class K, class Order, class Digit>
void count_tiles(const Order& order, const K* keys, std::uint64_t num_keys, const Digit& digit, std::uint64_t* counts) {
  K encoded[splitter_tile_keys];
  std::uint16_t buckets[splitter_tile_keys];
  for (std::uint64_t begin = 0; begin < num_keys; begin += splitter_tile_keys) {
    const std::uint64_t n = std::min(splitter_tile_keys, num_keys - begin);
    for (std::uint64_t i = 0; i < n; ++i) encoded[i] = order.encode(keys[begin + i]);
    digit.find(encoded, n, buckets);
    for (std::uint64_t i = 0; i < n; ++i) ++counts[buckets[i]];
  }
}

/// Adds the buckets of all keys to `counts`.
template <class K, class Order, class Digit>
void count_digits(const Order& outer_order, const K* __restrict keys, std::uint64_t num_keys, const Digit& outer_digit,
                  std::uint64_t* __restrict counts) {
  if constexpr (Digit::wants_many) return count_tiles(outer_order, keys, num_keys, outer_digit, counts);
  // Copies of its own stay in registers: the compiler need not fear that a store has changed them.
  const Order order = outer_order;
  const Digit digit = outer_digit;
  std::uint64_t i = 0;
  // Eight at a time: loads and digits first, so that counters in memory do not hold the next loads back.
  for (; i + 8 <= num_keys; i += 8) {
    K encoded[8];
    std::size_t buckets[8];
    for (unsigned j = 0; j < 8; ++j) encoded[j] = order.encode(keys[i + j]);
    for (unsigned j = 0; j < 8; ++j) buckets[j] = digit.of(encoded[j]);
    for (unsigned j = 0; j < 8; ++j) ++counts[buckets[j]];
  }
  for (; i < num_keys; ++i) ++counts[digit.of(order.encode(keys[i]))];
}

/// Counts as count_digits() does, for keys in ascending or descending order: equal bits above the digit's lowest at
/// both ends mean equal digits between.
template <class K, class Order, class Digit>
void count_ordered_run(const Order& order, const K* keys, std::uint64_t num_keys, const Digit& digit,
                       std::uint64_t* counts) {
  if (num_keys == 0) return;
  if (num_keys <= 64) return count_digits(order, keys, num_keys, digit, counts);
  const K first = order.encode(keys[0]);
  const K last = order.encode(keys[num_keys - 1]);
  if ((first ^ last) >> digit.shift == 0) {
    counts[digit.of(first)] += num_keys;
    return;
  }
  count_ordered_run(order, keys, num_keys / 2, digit, counts);
  count_ordered_run(order, keys + num_keys / 2, num_keys - num_keys / 2, digit, counts);
}

/// What one read of some keys is to find out beside the counts.
template <class K>
struct look_request {
  bool order = false;      ///< whether the keys are in order
  bool differing = false;  ///< in which bits encoded keys differ from `first_encoded`
  K first_encoded = 0;
};

template <class K>
struct look_result {
  order_flags order{false, false, false};  ///< all false when nobody asked
  K differing = 0;
};

/// Counts digits and looks, tile by tile. As long as the keys read so far are in some order, neighbours are compared
/// instead of counted: an ordered input costs one read at the speed of vector compares, an unordered one its first
/// tile.
template <class K, class Order, class Digit>
look_result<K> count_and_look(const Order& order, const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys,
                              std::span<const Digit> digits, std::uint64_t* counts, const look_request<K>& wanted) {
  constexpr std::uint64_t tile_keys = 16384 / sizeof(K);  // stays in the first-level cache between two looks
  look_result<K> found;
  if (wanted.order) found.order = {};
  std::uint64_t ordered = 0;  // keys known to be in order and not yet counted
  for (std::uint64_t begin = 0; begin < num_keys; begin += tile_keys) {
    const std::uint64_t end = std::min(num_keys, begin + tile_keys);
    if (wanted.differing) {
      const K among_tile = differing_bits(codec, keys + begin, end - begin);
      found.differing =
          static_cast<K>(found.differing | among_tile | (order.encode(keys[begin]) ^ wanted.first_encoded));
    }
    if (found.order.any()) {
      const std::uint64_t left = begin == 0 ? 0 : begin - 1;  // with the left neighbour
      found.order &= scan_order(codec, keys + left, end - left);
      if (found.order.any()) {
        ordered = end;
        continue;
      }
    }
    std::uint64_t* of_digit = counts;
    for (const Digit& digit : digits) {
      count_digits(order, keys + begin, end - begin, digit, of_digit);
      of_digit += digit.num_buckets();
    }
  }
  for (const Digit& digit : digits) {
    count_ordered_run(order, keys, ordered, digit, counts);
    counts += digit.num_buckets();
  }
  return found;
}

}  // namespace spansort::device::host
