// SPDX-License-Identifier: Apache-2.0
// A sample of 64 keys tells which of them are frequent, in some 30 to 60 ns: a thousand pairs can afford the look.
#pragma once

#include <array>
#include <cstdint>

#include "device/host/value_classes.hpp"

namespace spansort::device::host {

/// Keys that a sample meets often, as their bits lie in memory, the most frequent first.
template <class K>
struct frequent_keys {
  static constexpr unsigned num_samples = 64;

  std::array<K, most_heavy_pairs> keys = {};
  std::array<unsigned, most_heavy_pairs> counts = {};  ///< of the sample
  unsigned count = 0;
  unsigned num_looked_for = 0;  ///< different keys of which the sample has been searched
  unsigned num_found = 0;       ///< how often it has these

  void add(K key, unsigned alike) noexcept {
    unsigned at = count < most_heavy_pairs ? count++ : most_heavy_pairs;
    for (; at > 0 && counts[at - 1] < alike; --at) {
      if (at == most_heavy_pairs) continue;
      keys[at] = keys[at - 1];
      counts[at] = counts[at - 1];
    }
    if (at == most_heavy_pairs) return;
    keys[at] = key;
    counts[at] = alike;
  }

  /// Returns how many of the sample are the first `num` of the keys.
  [[nodiscard]] unsigned mass(unsigned num) const noexcept {
    unsigned sum = 0;
    for (unsigned i = 0; i < num; ++i) sum += counts[i];
    return sum;
  }
  /// They make up a third or more, and are worth being set apart.
  [[nodiscard]] bool are_heavy() const noexcept { return 3 * mass(count) >= num_samples; }
  /// Little is left beside them.
  [[nodiscard]] bool are_most() const noexcept {
    return 4 * mass(count) >= 3 * num_samples || 8 * counts[0] >= 3 * num_samples;
  }
  /// The sample has no other key.
  [[nodiscard]] bool are_all() const noexcept { return mass(count) == num_samples; }
  /// All keys may be a few values.
  [[nodiscard]] bool may_be_few() const noexcept { return num_found >= 2 * num_looked_for; }
};

/// Samples keys spread over an input of 64 to 2^30 keys. K is std::uint32_t or std::uint64_t.
template <class K>
[[nodiscard]] frequent_keys<K> sample_frequent(const K* keys, std::uint64_t num_keys);

}  // namespace spansort::device::host
