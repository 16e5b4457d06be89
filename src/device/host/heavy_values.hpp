// SPDX-License-Identifier: Apache-2.0
// Values that make up much of an input are counted and left out, so that only the other keys are moved. This header has
// the dictionary of such heavy values, which a sample gives, and the read that counts them and writes the light keys
// side by side. The idea is that of DovetailSort (Dong, Dhulipala, Gu, Sun: arXiv 2401.00710); here the dictionary is a
// hash table without chains, and a heavy value that finds its cell taken stays a light one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "device/host/hash_multipliers.hpp"
#include "device/host/records.hpp"

namespace spansort::device::host {

/// Returns the share of a sorted sample that lies in values which occur `fewest` times or more in it.
template <class K>
[[nodiscard]] double repeated_share(std::span<const K> sorted_sample, std::size_t fewest) {
  std::size_t heavy = 0;
  for (std::size_t i = 0; i < sorted_sample.size();) {
    std::size_t end = i + 1;
    while (end < sorted_sample.size() && sorted_sample[end] == sorted_sample[i]) ++end;
    if (end - i >= fewest) heavy += end - i;
    i = end;
  }
  return sorted_sample.empty() ? 0 : static_cast<double>(heavy) / static_cast<double>(sorted_sample.size());
}

/// A hash table of heavy keys, as their bits lie in memory. K is std::uint32_t or std::uint64_t.
template <class K>
class heavy_values {
 public:
  static constexpr unsigned cell_bits = 14;
  static constexpr std::size_t num_cells = std::size_t{1} << cell_bits;
  static constexpr std::size_t fewest_in_sample = 2;
  /// Counters a cell: keys that repeat would wait for the counter that the key before has written.
  static constexpr std::size_t num_lanes = 2;
  /// Counters behind those of cells take the light keys, for nothing.
  static constexpr std::size_t num_counters = num_cells * num_lanes + 64;

  /// Takes the values that occur `fewest_in_sample` times or more in a sorted sample of encoded keys, the most frequent
  /// first.
  template <class Order>
  heavy_values(const Order& order, std::span<const K> sorted_sample) {
    std::vector<candidate> candidates;
    for (std::size_t i = 0; i < sorted_sample.size();) {
      std::size_t end = i + 1;
      while (end < sorted_sample.size() && sorted_sample[end] == sorted_sample[i]) ++end;
      if (end - i >= fewest_in_sample) candidates.push_back({order.store(sorted_sample[i]), sorted_sample[i], end - i});
      i = end;
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const candidate& left, const candidate& right) { return left.frequency > right.frequency; });
    choose_multiplier<K>(sorted_sample.size() / 8, [&](K multiplier) { return take(candidates, multiplier); });
    std::sort(values_.begin(), values_.end(),
              [](const value& left, const value& right) { return left.encoded < right.encoded; });
  }

  struct value {
    K key = 0;
    K encoded = 0;
    std::size_t cell = 0;
  };
  /// Returns the values in key order.
  [[nodiscard]] const std::vector<value>& values() const noexcept { return values_; }

  /// Adds the heavy keys to `counts` (num_counters) and writes the others to `light`, in input order; returns how many
  /// these are. `light` has room for all keys.
  std::uint64_t filter(const K* __restrict keys, std::uint64_t num_keys, K* __restrict light,
                       std::uint32_t* __restrict counts) const {
    const K* __restrict table = keys_.data();
    const K multiplier = multiplier_;
    std::uint64_t num_light = 0;
    std::uint64_t i = 0;
    const auto look = [&](K key, std::size_t lane) __attribute__((always_inline)) {
      const std::size_t cell = cell_of(key, multiplier);
      const bool is_heavy = table[cell] == key;
      counts[cell * num_lanes + lane] += is_heavy ? 1 : 0;
      light[num_light] = key;
      num_light += is_heavy ? 0 : 1;
    };
    for (; i + num_lanes <= num_keys; i += num_lanes) {
      for (std::size_t lane = 0; lane < num_lanes; ++lane) look(keys[i + lane], lane);
    }
    for (; i < num_keys; ++i) look(keys[i], 0);
    return num_light;
  }

  /// The key of each cell, heavy or not.
  [[nodiscard]] const K* cells() const noexcept { return keys_.data(); }

  [[nodiscard]] K multiplier() const noexcept { return multiplier_; }
  [[nodiscard]] static constexpr std::size_t cell_of(K key, K multiplier) noexcept {
    return static_cast<K>(key * multiplier) >> (sizeof(K) * 8 - cell_bits);
  }

 private:
  struct candidate {
    K key = 0;
    K encoded = 0;
    std::size_t frequency = 0;
  };

  /// Gives candidates their cells. Returns how many of the sample find theirs taken.
  std::uint64_t take(const std::vector<candidate>& candidates, K multiplier) {
    static_assert(std::ranges::all_of(hash_multipliers<K>, [](K m) { return cell_of(1, m) != 0; }));
    multiplier_ = multiplier;
    keys_.assign(num_cells, K{0});
    keys_[0] = 1;  // an empty cell holds a key that has its place in another: 0 belongs here, 1 elsewhere
    values_.clear();
    std::uint64_t lost = 0;
    for (const candidate& c : candidates) {
      const std::size_t cell = cell_of(c.key, multiplier);
      if (cell_of(keys_[cell], multiplier) == cell) {
        lost += c.frequency;
        continue;
      }
      keys_[cell] = c.key;
      values_.push_back({c.key, c.encoded, cell});
    }
    return lost;
  }

  K multiplier_ = 0;
  std::vector<K> keys_;
  std::vector<value> values_;
};

}  // namespace spansort::device::host
