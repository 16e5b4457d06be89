// SPDX-License-Identifier: Apache-2.0
// This header moves the values of pairs whose keys are a few: those of each key to where they lie side by side in the
// result, in input order, by a compare and a compression for each key, or by a hash of the key where these are more.
// Where the keys are not all there is, the other pairs are set apart.
#pragma once

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

/// Moves the values of `num_keys` keys, each of which is one of `wanted`, to their places. These do not overlap
/// `values`. K is std::uint32_t or std::uint64_t.
template <class K, class V>
void place_values(const K* keys, const V* values, std::uint64_t num_keys, std::span<const K> wanted,
                  class_places<V>& places);

/// Most keys whose values are set apart from other pairs in one read.
inline constexpr unsigned most_heavy_pairs = 4;

/// Adds how often each of `heavy` stands among `num_keys` keys to `counts`. K is std::uint32_t or std::uint64_t.
template <class K>
void count_heavy(const K* keys, std::uint64_t num_keys, std::span<const K> heavy, std::uint64_t* counts);

/// Moves the values of `heavy` keys, up to most_heavy_pairs, to their places, which do not overlap `from`, and other
/// pairs to `to`, which has room for `room` of them, in input order. `to` is `from` or does not overlap it.
template <class K, class V>
void split_pairs(split_records<K, V> from, std::uint64_t num_keys, std::span<const K> heavy, class_places<V>& places,
                 split_records<K, V> to, std::uint64_t room);

/// Returns the values of a sample of keys, none where they are more than a few or where two of them tie.
template <class K, class Order>
[[nodiscard]] few_values<K> sample_classes(const Order& order, const K* keys, std::uint64_t num_keys) {
  few_values<K> found = sample_few_values(order, keys, num_keys);
  for (unsigned v = 1; v < found.count; ++v) {
    if (order.encode(found.keys[v - 1]) == order.encode(found.keys[v])) return {};
  }
  return found;
}

}  // namespace spansort::device::host
