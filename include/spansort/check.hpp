// SPDX-License-Identifier: Apache-2.0
// The checker: order, count, duplicates and an order-free checksum of the multiset.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "spansort/options.hpp"
#include "spansort/types.hpp"

namespace spansort {

/// 128-bit sum of a hash of every element: equal for any permutation and any split of the same multiset.
struct multiset_checksum {
  std::array<std::uint64_t, 2> words{};
  friend bool operator==(const multiset_checksum&, const multiset_checksum&) = default;
  /// Checksum of both multisets together.
  friend multiset_checksum operator+(const multiset_checksum& a, const multiset_checksum& b) noexcept {
    return {{a.words[0] + b.words[0], a.words[1] + b.words[1]}};
  }
};

/// 32 hexadecimal digits.
[[nodiscard]] std::string to_string(const multiset_checksum& checksum);

struct check_options {
  spansort::direction direction = spansort::direction::ascending;
  bool unique = false;   ///< equal neighbours count as disorder
  unsigned threads = 0;  ///< as in sort_options
  /// Called, as in sort_options, by checks of files, not by those of keys in memory: the phase is "check", the fraction
  /// that of the bytes read, 0 for streams. Returning false throws `cancelled`.
  progress_callback on_progress = {};
};

struct check_result {
  std::uint64_t num_keys = 0;
  std::uint64_t num_duplicates = 0;             ///< keys equal to their left neighbour (in value)
  std::optional<std::uint64_t> first_disorder;  ///< index of the first key that is out of order with its left neighbour
  multiset_checksum checksum;                   ///< over the keys' bits
  /// No key comes before its left neighbour, whether or not neighbours may be equal. num_duplicates is then the number
  /// of keys that are equal to an earlier one; of keys in any order it says no more than what it counts.
  bool is_in_order = true;
};

/// One parallel read; no memory.
[[nodiscard]] check_result check(const_key_span keys, const check_options& options = {});

/// Checksum of keys alone: what check() returns, without looking at order.
[[nodiscard]] multiset_checksum checksum(const_key_span keys);

/// Checksum of (key, value) pairs: a value moved to another key shows.
[[nodiscard]] multiset_checksum checksum_pairs(const_key_span keys, const void* values, std::uint64_t value_bytes);

/// The key at `index` as text, as a person would write it: "-3", "0.1", "nan".
[[nodiscard]] std::string key_to_string(const_key_span keys, std::uint64_t index);

}  // namespace spansort
