// SPDX-License-Identifier: Apache-2.0
// Inputs of a few distinct keys are counted instead of moved: every key is compared with all values in vector
// registers, and the result is written from the counts. A sample decides; a key that is none of its values ends the
// attempt before anything has been written. The cost is one read of the keys and one write, whatever their width.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "device/host/records.hpp"

namespace spansort::device::host {

/// Most values that a read compares with at the speed of memory on two threads.
inline constexpr unsigned most_few_values = 16;

/// The distinct keys of a sample, in key order, as their bits lie in memory.
template <class K>
struct few_values {
  std::array<K, most_few_values> keys = {};
  unsigned count = 0;              ///< 0: they are more than a few
  bool sample_is_ordered = false;  ///< the sampled keys ascend or descend: the whole input may

  [[nodiscard]] std::span<const K> span() const noexcept { return {keys.data(), count}; }
};

/// Adds how often each of `values` (at most 16) stands in `keys` to `counts`. Returns whether every key is one of them;
/// counts are incomplete otherwise. K has 16, 32 or 64 bits.
template <class K>
[[nodiscard]] bool count_values(const K* keys, std::uint64_t num_keys, std::span<const K> values,
                                std::uint64_t* counts);

/// Writes `num_keys` times `key`; past the caches when asked for.
template <class K>
void fill_keys(K* destination, std::uint64_t num_keys, K key, bool stream);

/// Looks at up to 1,024 keys spread over the input, at the first 64 of them alone when these differ already.
template <class K, class Order>
[[nodiscard]] few_values<K> sample_few_values(const Order& order, const K* keys, std::uint64_t num_keys) {
  few_values<K> found;
  for (const std::uint64_t num_samples : {std::uint64_t{64}, std::min<std::uint64_t>(num_keys / 4, 1024)}) {
    if (num_keys < num_samples) return {};
    const std::uint64_t stride = num_keys / num_samples;
    bool ascending = true;
    bool descending = true;
    K last = order.encode(keys[0]);
    for (std::uint64_t i = 0; i < num_samples; ++i) {
      // A multiplicative hash moves the sample off the beat of regular inputs.
      const std::uint64_t hash = (i + 1) * 0x9E3779B97F4A7C15U >> 32;
      const K key = keys[i * stride + (hash * stride >> 32)];
      const K encoded = order.encode(key);
      ascending = ascending && last <= encoded;
      descending = descending && last >= encoded;
      last = encoded;
      if (std::find(found.keys.begin(), found.keys.begin() + found.count, key) != found.keys.begin() + found.count) {
        continue;
      }
      if (found.count == most_few_values) return {};
      found.keys[found.count++] = key;
    }
    found.sample_is_ordered = ascending || descending;
  }
  std::sort(found.keys.begin(), found.keys.begin() + found.count,
            [&](K left, K right) { return order.encode(left) < order.encode(right); });
  return found;
}

}  // namespace spansort::device::host
