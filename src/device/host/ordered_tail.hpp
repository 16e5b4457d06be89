// SPDX-License-Identifier: Apache-2.0
// Keys, pairs and indices of keys in order but for a short tail, as logs and tables are to which records have been
// added: the tail is sorted alone, and what is behind each of its keys moves up by one block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device/host/records.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/vector_kernels.hpp"
#include "device/host/write_positions.hpp"

namespace spansort::device::host {

/// Returns how the first keys lie. Inputs in no order are known by these.
template <class K>
[[nodiscard]] order_flags look_at_first(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys) {
  constexpr std::uint64_t first_look = 33;
  return scan_order(codec, keys, std::min(num_keys, first_look));
}

/// Returns whether an order leaves nothing to sort but a reversal, which is stable where no keys tie.
[[nodiscard]] inline bool is_settled(order_flags order) noexcept {
  return order.ascending || order.strictly_descending;
}

/// Returns whether it pays to sort so few keys behind others that are in order by themselves, and to move blocks of
/// these, on one of so many threads that might merge both. On four threads of an Emerald Rapids 2^20 u32 with a tail of
/// one in a hundred take 1.37 ms moved, and with one of three 1.22 merged; with one of one in a thousand 0.60 moved.
[[nodiscard]] constexpr bool is_short_tail(std::uint64_t num_tail, std::uint64_t num_keys,
                                           unsigned num_threads = 1) noexcept {
  constexpr std::uint64_t keys_of_tail = 24;  // a key of the tail takes as long as so many others
  return num_tail <= num_keys / keys_of_tail / num_threads / num_threads;
}

/// Returns whether it pays to sort so few records behind others that ascend, by whatever way, and to merge both.
[[nodiscard]] constexpr bool is_worth_a_merge(std::uint64_t num_tail, std::uint64_t num_keys) noexcept {
  return num_tail <= num_keys / 4;
}

/// Returns how many keys ascend from the first on, where these are nearly all; else 0. The first ones do.
template <class K>
[[nodiscard]] std::uint64_t ordered_front(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys) {
  constexpr std::uint64_t fewest_keys = 128;
  if (num_keys < fewest_keys) return 0;
  const std::uint64_t front = std::min(find_descent(codec, keys, num_keys) + 1, num_keys);
  return is_short_tail(num_keys - front, num_keys) ? front : 0;
}

/// Returns how many of `num_keys` sorted keys are not above an encoded one; these are mostly nearly all of them.
template <class K, class Order>
[[nodiscard]] std::uint64_t count_not_above(const Order& order, const K* keys, std::uint64_t num_keys, K encoded) {
  std::uint64_t step = 16;
  while (step < num_keys && order.encode(keys[num_keys - step]) > encoded) step *= 2;
  const K* const begin = step < num_keys ? keys + (num_keys - step) : keys;
  const K* const found =
      std::upper_bound(begin, keys + num_keys, encoded, [&](K wanted, K key) { return wanted < order.encode(key); });
  return static_cast<std::uint64_t>(found - keys);
}

/// Merges the first `num_front` records with a tail that lies elsewhere, both sorted. There is room for it behind them.
template <class K, class V, class Order>
void merge_sorted_tail(const Order& order, split_records<K, V> records, std::uint64_t num_front,
                       split_records<K, V> tail, std::uint64_t num_tail) {
  std::uint64_t left = num_front;
  for (std::uint64_t t = num_tail; t-- > 0;) {
    const std::uint64_t place = count_not_above(order, records.keys, left, order.encode(tail.keys[t]));
    const split_records<K, V> from = records + place;
    const split_records<K, V> to = from + (t + 1);
    std::memmove(to.keys, from.keys, (left - place) * sizeof(K));
    if constexpr (value_bytes_of<V> != 0) {
      std::memmove(static_cast<void*>(to.values), from.values, (left - place) * sizeof(V));
    }
    records.put(place + t, tail.get(t));
    left = place;
  }
}

/// Merges the first `num_front` records with the others, both sorted; `spare` has room for the latter.
template <class K, class V, class Order>
void merge_tail(const Order& order, split_records<K, V> records, std::uint64_t num_front, std::uint64_t num_keys,
                split_records<K, V> spare) {
  const std::uint64_t num_tail = num_keys - num_front;
  std::memcpy(spare.keys, records.keys + num_front, num_tail * sizeof(K));
  if constexpr (value_bytes_of<V> != 0) {
    std::memcpy(static_cast<void*>(spare.values), records.values + num_front, num_tail * sizeof(V));
  }
  merge_sorted_tail(order, records, num_front, spare, num_tail);
}

/// Writes the order of keys that are sorted, and of a tail, which begins at `tail_begin`: `tail` says in which order so
/// many of its keys are, counted from there.
template <class K, class V, class Order>
void merge_tail_order(const Order& order, const K* keys, const run_span& sorted, std::uint64_t tail_begin,
                      const V* tail, std::uint64_t num_tail, V* indices) {
  using index = decltype(indices[0].word);
  std::uint64_t left = sorted.size();
  for (std::uint64_t t = num_tail; t-- > 0;) {
    const std::uint64_t at = tail_begin + tail[t].word;
    const std::uint64_t place = count_not_above(order, keys + sorted.begin, left, order.encode(keys[at]));
    write_positions(indices + (place + t + 1), left - place, sorted.begin + place);
    indices[place + t].word = static_cast<index>(at);
    left = place;
  }
  write_positions(indices, left, sorted.begin);
}

}  // namespace spansort::device::host
