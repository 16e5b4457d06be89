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

/// A run of equal keys in the result.
template <class K>
struct heavy_run {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  K key = 0;
};

/// Moves the others, which are sorted and the last of all keys, to where they belong around the heavy values. Returns
/// the runs of these, in key order, as far as they are to be written: what lies before the others is the most frequent
/// value already.
template <class K>
std::array<heavy_run<K>, most_heavy_values> place_others(const keys::codec_of<K>& codec, K* keys,
                                                         std::uint64_t num_keys, std::uint64_t num_others,
                                                         const few_counts<K>& found, const std::uint64_t* counts) {
  const auto order = order_values(codec, found.heavy, found.num_heavy);
  const std::uint64_t filled_end = num_keys - num_others;
  std::array<heavy_run<K>, most_heavy_values> runs = {};
  std::uint64_t begin = 0;
  K* others = keys + filled_end;
  for (unsigned i = 0; i < found.num_heavy; ++i) {
    const K value = found.heavy[order[i]];
    K* const above = std::lower_bound(others, keys + num_keys, codec.encode_bits(value),
                                      [&](K key, K encoded) { return codec.encode_bits(key) < encoded; });
    const auto num_below = static_cast<std::uint64_t>(above - others);
    std::memmove(keys + begin, others, num_below * sizeof(K));
    others = above;
    begin += num_below;
    const std::uint64_t end = begin + counts[order[i]];
    runs[i] = {order[i] == 0 ? std::clamp(filled_end, begin, end) : begin, end, value};
    begin = end;
  }
  return runs;
}

/// Sorts keys most of which are one of a few heavy values: these are counted, and the others sorted. Returns false,
/// with nothing written, where a sample says that the values hold too little.
template <class K>
bool sort_heavy_values(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys, const few_counts<K>& found,
                       const vector_sort_scratch<K>& scratch) {
  constexpr unsigned fewest_samples = heavy_sample_keys * 5 / 8;
  if (found.num_heavy_samples < fewest_samples) return false;
  std::array<std::uint64_t, most_heavy_values> counts = {};
  const std::uint64_t num_others =
      gather_others(keys, num_keys, std::span<const K>(found.heavy.data(), found.num_heavy), counts.data());
  K* const others = keys + num_keys - num_others;
  if (num_others != 0) vector_sort(codec, others, others, num_others, scratch);
  const auto runs = place_others(codec, keys, num_keys, num_others, found, counts.data());
  for (const heavy_run<K>& run : std::span(runs).first(found.num_heavy)) {
    fill_keys(keys + run.begin, run.end - run.begin, run.key, false);
  }
  return true;
}

}  // namespace spansort::device::host
