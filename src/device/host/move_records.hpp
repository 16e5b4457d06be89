// SPDX-License-Identifier: Apache-2.0
// Inputs that are in some order already are copied or reversed on all threads; here is also the look that finds the
// order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "device/host/records.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/vector_kernels.hpp"
#include "device/host/workers.hpp"

namespace spansort::device::host {

/// Copies records to where they belong, unless they lie there.
template <class K, class V>
void copy_records(workers& team, const piece_list& pieces, split_records<K, V> source, split_records<K, V> result) {
  if (source.keys == result.keys) return;
  team.for_each(pieces.size(), [&](std::uint64_t i) {
    const piece p = pieces[i];
    std::copy_n(source.keys + p.begin, p.count, result.keys + p.begin);
    if constexpr (value_bytes_of<V> != 0) std::copy_n(source.values + p.begin, p.count, result.values + p.begin);
  });
}

/// Reverses records, in place or into another array. `pieces` are of half of them in place, else of all.
template <class K, class V>
void reverse_records(workers& team, const piece_list& pieces, split_records<K, V> source, split_records<K, V> result,
                     std::uint64_t num_keys) {
  const bool in_place = source.keys == result.keys;
  team.for_each(pieces.size(), [&](std::uint64_t i) {
    const std::uint64_t end = pieces[i].begin + pieces[i].count;
    for (std::uint64_t j = pieces[i].begin; j < end; ++j) {
      const packed_record<K, V> left = source.get(j);
      if (in_place) source.put(j, source.get(num_keys - 1 - j));
      result.put(num_keys - 1 - j, left);
    }
  });
}

/// Returns the order of all keys, on all threads; ends as soon as there is none.
template <class K>
[[nodiscard]] order_flags find_order(workers& team, const keys::codec_of<K>& codec, const piece_list& pieces,
                                     const K* keys) {
  constexpr std::uint64_t tile_keys = 16384 / sizeof(K);
  std::vector<order_flags> found(pieces.size());
  std::atomic<bool> found_none{false};
  team.for_each(pieces.size(), [&](std::uint64_t i) {
    const std::uint64_t end = pieces[i].begin + pieces[i].count;
    for (std::uint64_t begin = pieces[i].begin; begin < end; begin += tile_keys) {
      const std::uint64_t left = begin == 0 ? 0 : begin - 1;  // with the left neighbour
      found[i] &= scan_order(codec, keys + left, std::min(end, begin + tile_keys) - left);
      if (!found[i].any()) found_none.store(true, std::memory_order_relaxed);
      if (found_none.load(std::memory_order_relaxed)) return;
    }
  });
  order_flags all;
  for (const order_flags& f : found) all &= f;
  if (found_none) all = {false, false, false};
  return all;
}

}  // namespace spansort::device::host
