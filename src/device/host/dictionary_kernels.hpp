// SPDX-License-Identifier: Apache-2.0
// Pairs whose keys a dictionary holds (key_dictionary.hpp) cost a look into a table for each key, a count, and a move
// of its value. Counts and moves go on in both halves of the pairs at once, with counters and places of their own:
// of two equal keys in a row the second waits for what the first has stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace spansort::device::host {

/// Classes that keys may have, with that of the keys that a dictionary does not hold.
inline constexpr unsigned most_key_classes = 2048;
inline constexpr unsigned class_cell_bits = 13;

/// Returns the cell of a key by one of hash_multipliers.
template <class K>
[[nodiscard]] constexpr std::size_t class_cell_of(K key, K multiplier) noexcept {
  return static_cast<K>(key * multiplier) >> (sizeof(K) * 8 - class_cell_bits);
}

/// A lookup holds what find_classes() reads beside keys.
template <class K>
struct class_lookup {
  K multiplier = 0;
  const std::uint16_t* cells = nullptr;  ///< [cell]: a class
  const K* keys = nullptr;               ///< [class]
};

/// Writes the classes of keys: what their cell says where that class has this key, else 0. K is std::uint32_t or
/// std::uint64_t.
template <class K>
void find_classes(const class_lookup<K>& lookup, const K* keys, std::uint64_t num_keys, std::uint16_t* classes);

/// Writes the keys of class 0 to `to`, in input order, which has room for all keys or is `keys`. Returns how many these
/// are.
template <class K>
[[nodiscard]] std::uint64_t gather_unclassified(const std::uint16_t* classes, const K* keys, std::uint64_t num_keys,
                                                K* to);

/// Calls first(i, class) for the first half of pairs and second(i, class) for the others, four of each in turn.
template <class First, class Second>
[[gnu::always_inline]] inline void for_halves(const std::uint16_t* classes, std::uint64_t num_keys, const First& first,
                                              const Second& second) {
  const std::uint64_t half = num_keys / 8 * 4;
  const auto class_at = [](std::uint64_t four, unsigned j) { return four >> (16 * j) & 0xFFFF; };
  for (std::uint64_t i = 0; i < half; i += 4) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, classes + i, sizeof a);
    std::memcpy(&b, classes + half + i, sizeof b);
    for (unsigned j = 0; j < 4; ++j) {
      first(i + j, class_at(a, j));
      second(half + i + j, class_at(b, j));
    }
  }
  for (std::uint64_t i = 2 * half; i < num_keys; ++i) second(i, std::uint64_t{classes[i]});
}

/// Counters, and then places, of the pairs of each class, for both halves of a piece.
struct class_halves {
  std::uint32_t first[most_key_classes];
  std::uint32_t second[most_key_classes];

  /// Counts a piece, and says where each class begins there if they lie one after the other, class 0 apart. Returns how
  /// many pairs are of class 0.
  std::uint64_t count(const std::uint16_t* classes, std::uint64_t num_keys, unsigned num_classes) noexcept {
    std::fill_n(first, num_classes, 0U);
    std::fill_n(second, num_classes, 0U);
    std::uint32_t* __restrict of_first = first;
    std::uint32_t* __restrict of_second = second;
    for_halves(
        classes, num_keys, [&](std::uint64_t, std::uint64_t c) { ++of_first[c]; },
        [&](std::uint64_t, std::uint64_t c) { ++of_second[c]; });
    const std::uint32_t unclassified = first[0] + second[0];
    second[0] = first[0];
    first[0] = 0;
    std::uint32_t begin = 0;
    for (unsigned c = 1; c < num_classes; ++c) {
      const std::uint32_t in_first = first[c];
      const std::uint32_t all = in_first + second[c];
      first[c] = begin;
      second[c] = begin + in_first;
      begin += all;
    }
    return unclassified;
  }

  /// Moves the place of a class.
  void add_to(unsigned c, std::uint32_t distance) noexcept {
    first[c] += distance;
    second[c] += distance;
  }

  /// Return where a class other than 0 begins, and how many its pairs are, once these have been moved.
  [[nodiscard]] std::uint32_t begin_of_moved(unsigned c) const noexcept { return c == 1 ? 0 : second[c - 1]; }
  [[nodiscard]] std::uint32_t count_of_moved(unsigned c) const noexcept { return second[c] - begin_of_moved(c); }
};

/// Moves each value to where those of its class go on.
template <class V>
void place_classified(const std::uint16_t* __restrict classes, const V* __restrict values, std::uint64_t num_values,
                      class_halves& next, V* __restrict to) {
  std::uint32_t* __restrict of_first = next.first;
  std::uint32_t* __restrict of_second = next.second;
  for_halves(
      classes, num_values, [&](std::uint64_t i, std::uint64_t c) { to[of_first[c]++] = values[i]; },
      [&](std::uint64_t i, std::uint64_t c) { to[of_second[c]++] = values[i]; });
}

}  // namespace spansort::device::host
