// SPDX-License-Identifier: Apache-2.0
// Keys alone of more values than a few, each of which is met many times: they are counted and written, not moved.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "device/host/shared_looks.hpp"
#include "device/host/shared_space.hpp"
#include "device/host/value_counts.hpp"
#include "device/host/vector_sort.hpp"

namespace spansort::device::host {

/// Fewer keys are not worth the look and the table.
inline constexpr std::uint64_t fewest_of_many_values = std::uint64_t{1} << 14;

/// Looks at 256 keys. Returns whether the input may have no more values than a table counts, all of them alike often.
/// Pairs of equal keys tell how many these would be; where more different keys are met than that, most values are rare.
template <class K>
[[nodiscard]] bool may_hold_many_values(const K* keys, std::uint64_t num_keys, const vector_sort_scratch<K>& scratch) {
  constexpr std::uint64_t num_samples = 256;
  constexpr std::uint64_t fewest_pairs = 12;
  constexpr double spare = 12;  // three standard deviations and more
  alignas(64) std::array<K, num_samples> sample;
  const std::uint64_t stride = num_keys / num_samples;
  for (std::uint64_t i = 0; i < num_samples; ++i) {
    // A multiplicative hash moves the sample off the beat of regular inputs.
    const std::uint64_t hash = (i + 1) * 0x9E3779B97F4A7C15U >> 32;
    sample[i] = keys[i * stride + (hash * stride >> 32)];
  }
  vector_sort(keys::codec_of<K>(), sample.data(), sample.data(), num_samples, scratch);
  std::uint64_t num_pairs = 0;
  std::uint64_t num_values = 1;
  std::uint64_t alike = 0;
  for (std::uint64_t i = 1; i < num_samples; ++i) {
    const bool equal = sample[i] == sample[i - 1];
    alike = equal ? alike + 1 : 0;
    num_pairs += alike;
    num_values += equal ? 0 : 1;
  }
  if (num_pairs < fewest_pairs) return false;
  constexpr double count = num_samples;
  const double all_values = count * count / 2 / static_cast<double>(num_pairs);
  return static_cast<double>(num_values) <= all_values * (1 - std::exp(-count / all_values)) + spare;
}

/// Returns the table in a worker's second array.
template <class K>
[[nodiscard]] typename value_counts<K>::memory& value_memory(const vector_sort_scratch<K>& scratch) {
  using memory = typename value_counts<K>::memory;
  const auto address = reinterpret_cast<std::uintptr_t>(scratch.second);
  return *reinterpret_cast<memory*>(address + (alignof(memory) - address % alignof(memory)) % alignof(memory));
}

/// Returns where the keys of each value end, the values in key order.
template <class K>
[[nodiscard]] std::span<const std::uint64_t> order_counted(const keys::codec_of<K>& codec, value_counts<K>& counts,
                                                           std::span<const K>& values,
                                                           const vector_sort_scratch<K>& scratch) {
  const std::span<K> found = counts.values();
  vector_sort(codec, found.data(), found.data(), found.size(),
              {.first = scratch.first, .num_keys = scratch.num_keys, .cursors = nullptr});
  values = found;
  return counts.ends();
}

/// Counts and writes keys of many values on one thread. Returns false, with nothing written, where they are none.
template <class K>
bool sort_many_values(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys,
                      const vector_sort_scratch<K>& scratch) {
  if (num_keys < fewest_of_many_values || !may_hold_many_values(keys, num_keys, scratch)) return false;
  value_counts<K> counts(value_memory(scratch));
  if (!counts.add(keys, num_keys)) return false;
  std::span<const K> values;
  const std::span<const std::uint64_t> ends = order_counted(codec, counts, values, scratch);
  write_runs(values, ends, keys, 0, num_keys);
  return true;
}

/// Does so on all threads of a space.
template <class K>
bool sort_many_values_shared(const shared_space& space, const keys::codec_of<K>& codec, K* keys,
                             std::uint64_t num_keys) {
  const vector_sort_scratch<K> scratch = space.template scratch_of<K>(0);
  if (num_keys < fewest_of_many_values || !may_hold_many_values(keys, num_keys, scratch)) return false;
  std::array<std::optional<value_counts<K>>, most_shared_threads> counts;
  const bool are_all = for_shared_pieces(space, num_keys, [&](std::uint64_t begin, std::uint64_t end, unsigned thread) {
    std::optional<value_counts<K>>& own = counts[thread];
    if (!own) own.emplace(value_memory(space.template scratch_of<K>(thread)));
    return own->add(keys + begin, end - begin);
  });
  if (!are_all) return false;
  if (!counts[0]) counts[0].emplace(value_memory(scratch));
  for (unsigned thread = 1; thread < most_shared_threads; ++thread) {
    if (counts[thread] && !counts[0]->add(*counts[thread])) return false;
  }
  std::span<const K> values;
  const std::span<const std::uint64_t> ends = order_counted(codec, *counts[0], values, scratch);
  for_shared_pieces(space, num_keys, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
    write_runs(values, ends, keys, begin, end);
    return true;
  });
  return true;
}

}  // namespace spansort::device::host
