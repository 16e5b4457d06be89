// SPDX-License-Identifier: Apache-2.0
// Classes are what one pass over a large input of keys alone partitions it into: ranges of encoded keys, in key order,
// that a sample cuts. Keys that lie evenly have classes of equal width, which cost a shift. Others have quantiles of
// the sample, found by a tree of five levels in vector registers, and equal parts of each: where keys crowd by degrees,
// as floats do, these fit them almost as evenly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace spansort::device::host {

/// K is std::uint32_t or std::uint64_t.
template <class K>
struct key_classes {
  static constexpr unsigned num_quantiles = 32;

  bool is_linear = true;
  unsigned num_classes = 1;
  unsigned part_bits = 0;        ///< each quantile has 2^part_bits parts
  K low = 0;                     ///< keys below belong to the first class
  unsigned shift = 0;            ///< linear: a class is 2^shift keys wide
  K begins[num_quantiles] = {};  ///< first key of each quantile, [0] is `low`
  K shifts[num_quantiles] = {};  ///< a part of a quantile is 2^shift keys wide

  /// The class of one key.
  [[nodiscard]] std::uint64_t of(K encoded) const noexcept {
    const K x = std::max(encoded, low);
    if (is_linear) return std::min<K>(static_cast<K>(x - low) >> shift, num_classes - 1);
    const auto quantile =
        static_cast<std::uint64_t>(std::upper_bound(begins + 1, begins + num_quantiles, x) - begins - 1);
    const K part = static_cast<K>(x - begins[quantile]) >> shifts[quantile];
    return quantile << part_bits | std::min<K>(part, (K{1} << part_bits) - 1);
  }
};

/// Returns whether sorted encoded keys lie evenly between their ends.
template <class K>
[[nodiscard]] bool lies_evenly(std::span<const K> sorted_sample) {
  constexpr unsigned num_cells = 64;
  const K low = sorted_sample.front();
  const K range = static_cast<K>(sorted_sample.back() - low);
  if (range < num_cells) return false;
  const K width = static_cast<K>(range / num_cells + 1);
  std::uint64_t counts[num_cells] = {};
  for (const K key : sorted_sample) ++counts[static_cast<K>(key - low) / width];
  const double mean = static_cast<double>(sorted_sample.size()) / num_cells;
  const std::uint64_t most = *std::max_element(counts, counts + num_cells);
  return static_cast<double>(most) <= mean + 4 * std::sqrt(mean);
}

/// Returns the least shift by which all of 0 .. range come to less than `num_parts`, which is 2 or more.
template <class K>
[[nodiscard]] unsigned shift_to_parts(K range, K num_parts) noexcept {
  unsigned shift = 0;
  while (static_cast<K>(range >> shift) >= num_parts) ++shift;
  return shift;
}

/// Returns classes, `wanted` of them to twice as many, for keys like the sorted, encoded, non-empty sample.
template <class K>
[[nodiscard]] key_classes<K> choose_classes(std::span<const K> sample, unsigned wanted) {
  key_classes<K> classes;
  classes.low = sample.front();
  const K high = sample.back();
  if (lies_evenly(sample)) {
    classes.shift = shift_to_parts<K>(static_cast<K>(high - classes.low), static_cast<K>(2 * wanted));
    classes.num_classes = static_cast<unsigned>(static_cast<K>(high - classes.low) >> classes.shift) + 1;
    return classes;
  }
  constexpr unsigned quantiles = key_classes<K>::num_quantiles;
  classes.is_linear = false;
  classes.part_bits = 1;
  while ((quantiles << classes.part_bits) < 2 * wanted) ++classes.part_bits;
  classes.num_classes = quantiles << classes.part_bits;
  classes.begins[0] = classes.low;
  for (unsigned q = 1; q < quantiles; ++q) {
    const K key = sample[sample.size() * q / quantiles];
    const K before = classes.begins[q - 1];
    // A value that spans quantiles has one of its own.
    classes.begins[q] = key > before ? key : before == static_cast<K>(~K{0}) ? before : static_cast<K>(before + 1);
  }
  for (unsigned q = 0; q < quantiles; ++q) {
    const K last = q + 1 == quantiles ? std::max(high, classes.begins[q]) : static_cast<K>(classes.begins[q + 1] - 1);
    const K range = last > classes.begins[q] ? static_cast<K>(last - classes.begins[q]) : K{0};
    classes.shifts[q] = shift_to_parts<K>(range, static_cast<K>(K{1} << classes.part_bits));
  }
  return classes;
}

}  // namespace spansort::device::host
