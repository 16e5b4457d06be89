// SPDX-License-Identifier: Apache-2.0
// This header moves the values of pairs whose keys are a few: those of each key to where they lie side by side in the
// result, in input order, by a compare and a compression for each key, or by a hash of the key where these are more.
// The other pairs are set apart where these keys are not all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "device/host/few_values.hpp"
#include "device/host/records.hpp"

namespace spansort::device::host {

/// The places of the values of each key: of the next one, and behind the last.
template <class V>
struct class_places {
  std::array<V*, most_few_values> next = {};
  std::array<V*, most_few_values> end = {};
};

/// Keys of which the values are placed by one read of each, where key and value are as wide.
template <class K, class V>
inline constexpr unsigned most_placed_at_once = sizeof(K) == sizeof(V) ? 4 : 1;

/// Moves the values of `num_keys` keys, each of which is one of `wanted`, to their places. These do not overlap
/// `values`; those of one key may begin where `values` do, if the keys are no more than most_placed_at_once. K is
/// std::uint32_t or std::uint64_t.
template <class K, class V>
void place_values(const K* keys, const V* values, std::uint64_t num_keys, std::span<const K> wanted,
                  class_places<V>& places);

/// Writes the positions 0, 1, 2, ... of `num_keys` keys, each of which is one of `wanted`, to the places of their keys.
/// K is std::uint32_t or std::uint64_t, and V is value4 or value8. There are fewer than 2^32 keys.
template <class K, class V>
void place_positions(const K* keys, std::uint64_t num_keys, std::span<const K> wanted, class_places<V>& places);

/// Most keys whose values are set apart from other pairs in one read.
inline constexpr unsigned most_heavy_pairs = 4;

/// Adds how often each of `heavy` stands among `num_keys` keys to `counts`. K is std::uint32_t or std::uint64_t.
template <class K>
void count_heavy(const K* keys, std::uint64_t num_keys, std::span<const K> heavy, std::uint64_t* counts);

/// Moves the values of `heavy` keys, up to most_heavy_pairs, to their places, and other pairs to `to`, which has room
/// for `room` of them, in input order. Each of `to.keys`, `to.values` and the places does not overlap `from`, or
/// begins where the keys or the values of `from` do, or before. With few others `rarely_others` saves time.
template <class K, class V>
void split_pairs(split_records<K, V> from, std::uint64_t num_keys, std::span<const K> heavy, class_places<V>& places,
                 split_records<K, V> to, std::uint64_t room, bool rarely_others = false);

/// Adds the keys of a sample to `found`. Returns false where they are more than a few.
template <class K, class Order>
[[nodiscard]] bool sample_into(few_values<K>& found, const Order& order, const K* keys, std::uint64_t num_keys,
                               std::uint64_t num_samples) {
  const std::uint64_t stride = num_keys / num_samples;
  bool ascending = true;
  bool descending = true;
  K last = keys[0];
  for (std::uint64_t i = 0; i < num_samples; ++i) {
    // A multiplicative hash moves the sample off the beat of regular inputs.
    const std::uint64_t hash = (i + 1) * 0x9E3779B97F4A7C15U >> 32;
    const K key = keys[i * stride + (hash * stride >> 32)];
    if (i != 0 && key == last) continue;
    ascending = ascending && order.encode(last) <= order.encode(key);
    descending = descending && order.encode(last) >= order.encode(key);
    last = key;
    const auto known = found.keys.begin() + found.count;
    if (std::find(found.keys.begin(), known, key) != known) continue;
    if (found.count == most_few_values) return false;
    found.keys[found.count++] = key;
  }
  found.sample_is_ordered = ascending || descending;
  return true;
}

/// Returns the values of a sample of keys, none where they are more than a few or where two of them tie. A small input
/// whose first sample has four at most is sampled no further, for a stranger is soon found while they are counted.
template <class K, class Order>
[[nodiscard]] few_values<K> sample_classes(const Order& order, const K* keys, std::uint64_t num_keys) {
  constexpr std::uint64_t first_samples = 64;
  constexpr std::uint64_t small = std::uint64_t{1} << 14;
  few_values<K> found;
  if (num_keys < 2 * first_samples || !sample_into(found, order, keys, num_keys, first_samples)) return {};
  if (found.count > 4 || num_keys >= small) {
    const std::uint64_t num_samples = std::clamp<std::uint64_t>(num_keys / 16, 2 * first_samples, 1024);
    if (!sample_into(found, order, keys, num_keys, num_samples)) return {};
  }
  std::sort(found.keys.begin(), found.keys.begin() + found.count,
            [&](K left, K right) { return order.encode(left) < order.encode(right); });
  for (unsigned v = 1; v < found.count; ++v) {
    if (order.encode(found.keys[v - 1]) == order.encode(found.keys[v])) return {};
  }
  return found;
}

}  // namespace spansort::device::host
