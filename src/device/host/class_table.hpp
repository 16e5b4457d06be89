// SPDX-License-Identifier: Apache-2.0
// Stable sort of records of at most 64 different keys on one thread. A hash table without chains grows while keys are
// counted; a key too many, or two in one cell, end the attempt before anything is written, which costs other inputs
// their first few hundred keys. Values are then moved once, and keys are filled in by their counts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "device/host/hash_multipliers.hpp"
#include "device/host/records.hpp"

namespace spansort::device::host {

template <class K, class V, class Order>
class class_table {
 public:
  using split = split_records<K, V>;
  /// The table is cleared for each attempt.
  static constexpr std::uint64_t fewest_keys = 2048;

  explicit class_table(const Order& order) : order_(order) {}

  /// Sorts `from` into `result`, which is `from` itself or does not overlap it; `spare` has room for the values.
  /// Returns false, with nothing written, where there are too many keys.
  [[nodiscard]] bool sort(split from, split result, std::uint64_t num_keys, V* spare) {
    if (!count(from.keys, num_keys) || !rank()) return false;
    const bool in_place = from.keys == result.keys;
    move_values(from, num_keys, in_place ? spare : result.values);
    if (in_place) std::memcpy(static_cast<void*>(result.values), spare, num_keys * sizeof(V));
    K* to = result.keys;
    for (unsigned i = 0; i < num_classes_; ++i) {
      const unsigned c = ranked_[i];
      to = std::fill_n(to, counts_[c], keys_[c]);
    }
    return true;
  }

 private:
  static constexpr unsigned most_classes = 64;
  static constexpr unsigned cell_bits = 12;
  static constexpr std::size_t num_cells = std::size_t{1} << cell_bits;
  static constexpr std::uint8_t none = 255;

  [[nodiscard]] static std::size_t cell_of(K key) noexcept {
    return static_cast<K>(key * hash_multipliers<K>[0]) >> (sizeof(K) * 8 - cell_bits);
  }

  bool count(const K* keys, std::uint64_t num_keys) {
    classes_.fill(none);
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      const std::size_t cell = cell_of(keys[i]);
      unsigned found = classes_[cell];
      if (found == none || keys_[found] != keys[i]) [[unlikely]] {
        if (found != none || num_classes_ == most_classes) return false;
        found = num_classes_++;
        classes_[cell] = static_cast<std::uint8_t>(found);
        keys_[found] = keys[i];
        counts_[found] = 0;
      }
      ++counts_[found];
    }
    return true;
  }

  /// Orders the classes; returns false where two of them tie.
  bool rank() {
    for (unsigned c = 0; c < num_classes_; ++c) ranked_[c] = static_cast<std::uint8_t>(c);
    std::sort(ranked_.begin(), ranked_.begin() + num_classes_,
              [&](unsigned left, unsigned right) { return order_.encode(keys_[left]) < order_.encode(keys_[right]); });
    for (unsigned i = 1; i < num_classes_; ++i) {
      if (order_.encode(keys_[ranked_[i - 1]]) == order_.encode(keys_[ranked_[i]])) return false;
    }
    return true;
  }

  void move_values(split from, std::uint64_t num_keys, V* to) {
    std::array<V*, most_classes> next = {};
    for (unsigned i = 0; i < num_classes_; ++i) {
      next[ranked_[i]] = to;
      to += counts_[ranked_[i]];
    }
    std::uint64_t i = 0;
    for (; i + 8 <= num_keys; i += 8) {
      std::size_t found[8];
      for (unsigned j = 0; j < 8; ++j) found[j] = classes_[cell_of(from.keys[i + j])];
      for (unsigned j = 0; j < 8; ++j) *next[found[j]]++ = from.values[i + j];
    }
    for (; i < num_keys; ++i) *next[classes_[cell_of(from.keys[i])]]++ = from.values[i];
  }

  Order order_;
  unsigned num_classes_ = 0;
  std::array<std::uint8_t, num_cells> classes_;
  std::array<K, most_classes> keys_;
  std::array<std::uint64_t, most_classes> counts_;
  std::array<std::uint8_t, most_classes> ranked_;
};

}  // namespace spansort::device::host
