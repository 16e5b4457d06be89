// SPDX-License-Identifier: Apache-2.0
// Stable merges of two sorted runs, cut by merge path (Odeh, Green, Mwassi, Shmueli, Birk: "Merge Path - Parallel
// Merging Made Simple", IPDPSW 2012): a piece of the result needs a stretch of either run, which two binary searches
// find, so pieces of equal size are merged at once, whatever the keys.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/host/records.hpp"
#include "device/host/sort_level.hpp"

namespace spansort::device::host {

template <class K, class V>
struct sorted_run {
  split_records<K, V> data;
  std::uint64_t count = 0;
};

/// Two runs to merge. Of equal keys those of the left one come first.
template <class K, class V>
struct sorted_runs {
  sorted_run<K, V> left;
  sorted_run<K, V> right;
};

/// Returns how many records of the left run are among the first `num_first` of the merge.
template <class K, class V, class Order>
[[nodiscard]] std::uint64_t co_rank(const Order& order, const sorted_runs<K, V>& runs, std::uint64_t num_first) {
  std::uint64_t low = num_first > runs.right.count ? num_first - runs.right.count : 0;
  std::uint64_t high = std::min(num_first, runs.left.count);
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto of_left = order.encode(runs.left.data.keys[middle]);
    const auto of_right = order.encode(runs.right.data.keys[num_first - 1 - middle]);
    if (of_right < of_left) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Returns the stretches of both runs that a piece of the merge is made of.
template <class K, class V, class Order>
[[nodiscard]] sorted_runs<K, V> cut_runs(const Order& order, const sorted_runs<K, V>& runs, const piece& of_merge) {
  const std::uint64_t end = of_merge.begin + of_merge.count;
  const std::uint64_t left_begin = co_rank(order, runs, of_merge.begin);
  const std::uint64_t left_end = co_rank(order, runs, end);
  const std::uint64_t right_begin = of_merge.begin - left_begin;
  return {{runs.left.data + left_begin, left_end - left_begin},
          {runs.right.data + right_begin, end - left_end - right_begin}};
}

/// One thread merges two runs. Which run comes next is not to be foreseen, so it is no branch but an offset.
template <class K, class V, class Order>
void merge_records(const Order& order, const sorted_runs<K, V>& runs, split_records<K, V> to) {
  const auto& [left, right] = runs;
  std::uint64_t l = 0;
  std::uint64_t r = 0;
  std::uint64_t done = 0;
  while (l < left.count && r < right.count) {
    const K* const left_key = left.data.keys + l;
    const K* const right_key = right.data.keys + r;
    const bool takes_right = order.encode(*right_key) < order.encode(*left_key);
    to.keys[done] = *(takes_right ? right_key : left_key);
    if constexpr (value_bytes_of<V> != 0) {
      const V* const left_value = left.data.values + l;
      const V* const right_value = right.data.values + r;
      to.values[done] = *(takes_right ? right_value : left_value);
    }
    r += takes_right ? 1 : 0;
    l += takes_right ? 0 : 1;
    ++done;
  }
  const auto append = [&](const sorted_run<K, V>& run, std::uint64_t from) {
    std::copy_n(run.data.keys + from, run.count - from, to.keys + done);
    if constexpr (value_bytes_of<V> != 0) std::copy_n(run.data.values + from, run.count - from, to.values + done);
    done += run.count - from;
  };
  append(left, l);
  append(right, r);
}

}  // namespace spansort::device::host
