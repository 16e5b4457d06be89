// SPDX-License-Identifier: Apache-2.0
// Keys alone of a few distinct values on one thread: the values are found while they are counted. A sample tells
// whether that is worth a try, in some 10 ns, so that arrays of a thousand keys can afford the look. Where a few values
// hold most of the keys and not all, the others are gathered.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "device/host/few_values.hpp"

namespace spansort::device::host {

/// Keys of the sample that tells which values repeat.
inline constexpr unsigned heavy_sample_keys = 64;
/// Most values that others are told from.
inline constexpr unsigned most_heavy_values = 8;

/// Values and how often each of them was found.
template <class K>
struct few_counts {
  std::array<K, most_few_values> keys = {};
  std::array<std::uint64_t, most_few_values> counts = {};
  unsigned count = 0;
  /// Values that a sample met three times or more, the most frequent first, and how many keys of it they were.
  std::array<K, most_heavy_values> heavy = {};
  unsigned num_heavy = 0;
  unsigned num_heavy_samples = 0;
};

/// Finds and counts the values of at least 64 keys. Returns whether these are all of a few values, as far as a sample
/// and the first keys that it missed tell; of `found` the heavy values alone are told otherwise. K has 16, 32 or 64
/// bits.
template <class K>
[[nodiscard]] bool count_few(const K* keys, std::uint64_t num_keys, few_counts<K>& found);

/// Counts the keys that are one of up to most_heavy_values `values`, the most frequent first for speed, and gathers the
/// others, in no order, at the end; all keys before them become the first value, while their place is in the cache.
/// Returns how many the others are. The machine has a vector sort; K has 32 or 64 bits.
template <class K>
[[nodiscard]] std::uint64_t gather_others(K* keys, std::uint64_t num_keys, std::span<const K> values,
                                          std::uint64_t* counts);

}  // namespace spansort::device::host
