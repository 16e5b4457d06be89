// SPDX-License-Identifier: Apache-2.0
// A sorted sample says how many different keys there are, and which part of the input it has probably missed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace spansort::device::host {

/// These are the different keys of a sample, and how many of them it has met once and twice.
struct sampled_repeats {
  std::uint64_t num_samples = 0;
  std::uint64_t different = 1;
  std::uint64_t once = 0;
  std::uint64_t twice = 0;

  /// Returns which part of the input has keys that a sample of `wanted` keys is likely to miss. What a small one misses
  /// shrinks the faster the more keys it has met twice.
  [[nodiscard]] double missed_by(std::uint64_t wanted) const {
    const auto met_once = static_cast<double>(std::max<std::uint64_t>(once, 1));
    const double shrinks = 2 * static_cast<double>(twice) / met_once;
    const auto all = static_cast<double>(num_samples);
    return met_once / all * std::exp(-(static_cast<double>(wanted) / all - 1) * shrinks);
  }
};

/// Counts a sorted sample without a branch on the keys, of which every other one would be mispredicted. The last three
/// are as good as any.
template <class K>
[[nodiscard]] sampled_repeats count_repeats(const K* sorted, std::uint64_t num_samples) noexcept {
  sampled_repeats found{.num_samples = num_samples};
  for (std::uint64_t i = 0; i + 3 < num_samples; ++i) {
    const std::uint64_t begins = sorted[i] != sorted[i + 1] ? 1 : 0;
    const std::uint64_t once = sorted[i + 1] != sorted[i + 2] ? 1 : 0;
    const std::uint64_t twice = sorted[i + 2] != sorted[i + 3] ? 1 : 0;
    found.different += begins;
    found.once += begins & once;
    found.twice += begins & (once ^ 1) & twice;
  }
  return found;
}

}  // namespace spansort::device::host
