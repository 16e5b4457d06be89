// SPDX-License-Identifier: Apache-2.0
// Keys alone that one thread need not sort: those that lie in order, or in reverse, those of a few values, and
// those that a few values hold most of.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "device/host/count_few.hpp"
#include "device/host/records.hpp"
#include "device/host/vector_kernels.hpp"
#include "device/host/vector_sort.hpp"

namespace spansort::device::host {

/// Leaves sorted keys, and reverses those that lie the other way round. Returns whether they were either.
template <class K>
bool finish_ordered(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  constexpr std::uint64_t first_look = 33;
  if (num_keys > first_look && !scan_order(codec, keys, first_look).any()) return false;
  const order_flags order = scan_order(codec, keys, num_keys);
  if (!order.ascending && order.descending) std::reverse(keys, keys + num_keys);
  return order.any();
}

/// Returns the places of values in key order.
template <class K, std::size_t most>
std::array<unsigned, most> order_values(const keys::codec_of<K>& codec, const std::array<K, most>& values,
                                        unsigned count) {
  std::array<unsigned, most> order = {};
  for (unsigned i = 0; i < count; ++i) {
    unsigned at = i;
    for (; at != 0 && codec.encode_bits(values[i]) < codec.encode_bits(values[order[at - 1]]); --at) {
      order[at] = order[at - 1];
    }
    order[at] = i;
  }
  return order;
}

/// Writes keys of a few distinct values by their counts. Returns false, with nothing written, where there are others;
/// `found` then tells the heavy values alone. There are at least heavy_sample_keys keys.
template <class K>
bool sort_few_values(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys, few_counts<K>& found) {
  if (!count_few(keys, num_keys, found)) return false;
  const auto order = order_values(codec, found.keys, found.count);
  for (unsigned v = 0; v < found.count; ++v) {
    fill_keys(keys, found.counts[order[v]], found.keys[order[v]], false);
    keys += found.counts[order[v]];
  }
  return true;
}
template <class K>
bool sort_few_values(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  few_counts<K> found;
  return sort_few_values(codec, keys, num_keys, found);
}

/// Sorts keys most of which are one of a few heavy values: these are counted, and the others sorted. Returns false,
/// with nothing written, where the values hold too little. The second array of `scratch` has vector_sort_spread times
/// the room of the first, which holds all keys.
template <class K>
bool sort_heavy_values(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys, const few_counts<K>& found,
                       const vector_sort_scratch<K>& scratch) {
  constexpr unsigned fewest_samples = heavy_sample_keys * 5 / 8;
  if (found.num_heavy_samples < fewest_samples) return false;
  vector_sort_scratch<K> of_others = scratch;
  of_others.num_second_keys -= scratch.num_keys;
  K* const others = scratch.second + of_others.num_second_keys;
  std::array<std::uint64_t, most_heavy_values> counts = {};
  std::uint64_t left =
      set_others_aside(keys, num_keys, std::span<const K>(found.heavy.data(), found.num_heavy), counts.data(), others);
  if (left > num_keys / 2) return false;
  if (left != 0) vector_sort(codec, static_cast<const K*>(others), keys, left, of_others);
  // Others move to behind the heavy values, from the greatest of these down.
  const auto order = order_values(codec, found.heavy, found.num_heavy);
  K* end = keys + num_keys;
  for (unsigned i = found.num_heavy; i-- > 0;) {
    const K value = found.heavy[order[i]];
    const K* const above = std::upper_bound(keys, keys + left, codec.encode_bits(value),
                                            [&](K encoded, K key) { return encoded < codec.encode_bits(key); });
    const auto num_above = static_cast<std::uint64_t>(keys + left - above);
    end -= num_above;
    std::memmove(end, above, num_above * sizeof(K));
    left -= num_above;
    end -= counts[order[i]];
    fill_keys(end, counts[order[i]], value, false);
  }
  return true;
}

}  // namespace spansort::device::host
