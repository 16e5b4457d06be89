// SPDX-License-Identifier: Apache-2.0
// A sort that needs no memory: one thread merges runs between two arrays that are there. Sorts whose memory ends after
// they have begun to overwrite the caller's arrays finish with it, whatever time that takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "device/host/records.hpp"

namespace spansort::device::host {

/// Sorts the records of `source` by the bits of their encoded keys from `begin_bit` up. Stable. Both arrays are
/// overwritten, and the result is one of them, or a third. Throws nothing.
template <class K, class V, class Order>
void merge_sort_alone(const Order& order, split_records<K, V> source, split_records<K, V> alternate,
                      split_records<K, V> result, std::uint64_t num_keys, unsigned begin_bit) noexcept {
  constexpr std::uint64_t first_run_keys = 16;
  const auto encoded = [&](const split_records<K, V>& records, std::uint64_t i) {
    return static_cast<K>(order.encode(records.keys[i]) >> begin_bit);
  };
  for (std::uint64_t begin = 0; begin < num_keys; begin += first_run_keys) {
    const std::uint64_t end = std::min(num_keys, begin + first_run_keys);
    for (std::uint64_t i = begin + 1; i < end; ++i) {
      const packed_record<K, V> r = source.get(i);
      const K key = encoded(source, i);
      std::uint64_t j = i;
      for (; j > begin && encoded(source, j - 1) > key; --j) source.put(j, source.get(j - 1));
      source.put(j, r);
    }
  }
  for (std::uint64_t run_keys = first_run_keys; run_keys < num_keys; run_keys *= 2) {
    for (std::uint64_t begin = 0; begin < num_keys; begin += 2 * run_keys) {
      const std::uint64_t middle = std::min(num_keys, begin + run_keys);
      const std::uint64_t end = std::min(num_keys, begin + 2 * run_keys);
      std::uint64_t left = begin;
      std::uint64_t right = middle;
      for (std::uint64_t to = begin; to < end; ++to) {
        const bool takes_right = right < end && (left == middle || encoded(source, right) < encoded(source, left));
        alternate.put(to, source.get(takes_right ? right++ : left++));
      }
    }
    std::swap(source, alternate);
  }
  if (source.keys == result.keys) return;
  for (std::uint64_t i = 0; i < num_keys; ++i) result.put(i, source.get(i));
}

/// Calls sort(), which throws std::bad_alloc only while `source` holds all records, whatever their order among those
/// that do not tie; where it does, sorts them alone.
template <class K, class V, class Order, class Sort>
void sort_in_any_case(const Order& order, split_records<K, V> source, split_records<K, V> alternate,
                      split_records<K, V> result, std::uint64_t num_keys, unsigned begin_bit, const Sort& sort) {
  try {
    sort();
  } catch (const std::bad_alloc&) {
    merge_sort_alone(order, source, alternate, result, num_keys, begin_bit);
  }
}

}  // namespace spansort::device::host
