// SPDX-License-Identifier: Apache-2.0
// Small arrays of pairs whose keys repeat, on one thread: a sample says whether a few keys are all, so that values are
// moved by their counts, or hold much, so that they are set apart.
#pragma once

#include <cstdint>

#include "device/host/few_pairs.hpp"
#include "device/host/heavy_sample.hpp"
#include "device/host/heavy_split.hpp"
#include "device/host/in_cache_sort.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"

namespace spansort::device::host {

/// Returns whether a look for keys that repeat is worth its time. Below a thousand keys four comparisons decide: keys
/// of two values are alike in at least one of them fifteen times in sixteen. Below 256 keys two have to be alike.
template <class K>
[[nodiscard]] bool may_repeat(const K* keys, std::uint64_t num_keys) {
  constexpr std::uint64_t fewest_keys = 96;
  constexpr std::uint64_t many_keys = 1024;
  if (num_keys < fewest_keys) return false;
  if (num_keys >= many_keys) return true;
  const K* const others = keys + num_keys / 2;
  unsigned equal = 0;
  for (unsigned i = 0; i < 4; ++i) equal += keys[i] == others[i] ? 1U : 0U;
  return equal >= (num_keys < 256 ? 2U : 1U);
}

/// Sorts pairs of which a few keys are all or much into `result`, which is `from` itself or does not overlap it. A call
/// of sort_light(from, to, n, sorter) sorts n others;
/// the sorter keeps what is still needed of the scratch. Returns false, with nothing written, where keys are not so.
template <class K, class V, class Order, class SortLight>
[[nodiscard]] bool sort_repeated_pairs(const keys::codec_of<K>& codec, split_records<K, V> from,
                                       split_records<K, V> result, std::uint64_t num_keys, worker_scratch& scratch,
                                       const SortLight& sort_light) {
  constexpr std::uint64_t fewest_for_few = 1024;
  constexpr std::uint64_t num_spare = combining_bytes / sizeof(V);
  const Order order(codec);
  const frequent_keys<K> frequent = sample_frequent(from.keys, num_keys);
  // Keys that are up to four values are set apart in the one read that would count them.
  const bool are_few = frequent.are_all() ? frequent.count * num_keys > num_spare : !frequent.are_most();
  if (are_few && frequent.may_be_few() && num_keys >= fewest_for_few &&
      sort_few_pairs(order, from, result, num_keys, reinterpret_cast<V*>(scratch.records[0].get()))) {
    return true;
  }
  if (!frequent.are_heavy()) return false;
  heavy_splitter<K, V, Order> splitter(order, codec, reinterpret_cast<V*>(scratch.combining.get()), num_spare);
  return splitter.sort(
      from, result, num_keys, frequent,
      [&](split_records<K, V> light, split_records<K, V> to, std::uint64_t num_light, std::uint64_t num_used) {
        in_cache_sorter<K, V, Order> sorter(order, codec, scratch, false);
        sorter.keep(num_used * sizeof(V));
        sort_light(light, to, num_light, sorter);
      });
}

}  // namespace spansort::device::host
