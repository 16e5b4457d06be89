// SPDX-License-Identifier: Apache-2.0
// Counts of keys of up to some thousand values. A hash table takes in values where they are met. Most of these lie in
// their own cell of it: vectors compare keys with what is there, and set those few aside that are new or lie elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "device/host/hash_multipliers.hpp"

namespace spansort::device::host {

/// A rule says where keys have their cells: some bits of their product with a multiplier tell.
template <class K>
struct cell_rule {
  unsigned shift = 0;
  unsigned bits = 0;

  [[nodiscard]] constexpr std::size_t num_cells() const noexcept { return std::size_t{1} << bits; }
  [[nodiscard]] constexpr std::size_t of(K key, K multiplier) const noexcept {
    return static_cast<std::size_t>(static_cast<K>(key * multiplier) >> shift) & (num_cells() - 1);
  }
};

/// Writes the cells of keys, and side by side those keys that do not lie there. Returns how many these are. `others`
/// has room for all keys and 64 bytes more.
template <class K>
[[nodiscard]] std::uint64_t find_cells(const cell_rule<K>& rule, K multiplier, const K* table, const K* keys,
                                       std::uint64_t num_keys, std::uint16_t* cells, K* others);

/// Two tables without memory of their own: a value that finds its cell in the first one taken lies in the second one,
/// there or behind. K is std::uint32_t or std::uint64_t. Threads have theirs side by side, each in lines of its own.
template <class K>
class alignas(64) value_counts {
 public:
  static constexpr std::size_t most_values = 2048;
  static constexpr std::uint64_t padding = 64 / sizeof(K);  ///< keys that vectors write too many

 private:
  static constexpr cell_rule<K> first_rule{sizeof(K) * 8 - 13, 13};
  static constexpr cell_rule<K> second_rule{sizeof(K) * 8 - 23, 10};
  static constexpr std::size_t most_second_values = second_rule.num_cells() / 2;
  static constexpr std::uint64_t most_tile_keys = 2048;
  static_assert(std::ranges::all_of(hash_multipliers<K>,
                                    [](K m) { return first_rule.of(1, m) != 0 && second_rule.of(1, m) != 0; }),
                "an empty cell 0 holds the key 1");

  template <std::size_t num_cells>
  struct table {
    alignas(64) K keys[num_cells];
    std::uint32_t counts[num_cells];

    /// An empty cell holds a key that has its place in another: 0 belongs to the first one, 1 elsewhere.
    void clear() {
      std::fill_n(keys, num_cells, K{0});
      keys[0] = 1;
      std::fill_n(counts, num_cells, 0U);
    }
    void count(const std::uint16_t* cells, std::uint64_t num_keys) {
      for (std::uint64_t i = 0; i < num_keys; ++i) ++counts[cells[i]];
    }
    void uncount(const cell_rule<K>& rule, K multiplier, const K* others, std::uint64_t num_keys) {
      for (std::uint64_t i = 0; i < num_keys; ++i) --counts[rule.of(others[i], multiplier)];
    }
  };

 public:
  /// What the tables lie in.
  struct memory {
    table<first_rule.num_cells()> first;
    table<second_rule.num_cells()> second;
    K values[most_values + padding];
    std::uint64_t ends[most_values];
    K others[2][most_tile_keys + padding];
    std::uint16_t cells[most_tile_keys];
  };

  /// Empties the tables.
  explicit value_counts(memory& room) : room_(room) {
    room_.first.clear();
    room_.second.clear();
  }

  /// Adds fewer than 2^32 keys in all. Returns false where their values are too many, or where too many of them are
  /// new for a count to be worth it.
  [[nodiscard]] bool add(const K* keys, std::uint64_t num_keys) {
    constexpr std::uint64_t first_tile_keys = 256;  // all of them are new
    for (std::uint64_t begin = 0; begin < num_keys;) {
      const std::uint64_t tile_keys = std::clamp(num_keys_, first_tile_keys, most_tile_keys);
      const std::uint64_t count = std::min(tile_keys, num_keys - begin);
      if (!add_tile(keys + begin, count)) return false;
      begin += count;
      num_keys_ += count;
      if (are_crowded() && !change_multiplier()) return false;
      if (num_others_ > most_values + num_keys_ / 8) return false;
    }
    return true;
  }

  /// Adds what another table counted. Returns false where values become too many.
  [[nodiscard]] bool add(const value_counts& other) {
    for (std::size_t v = 0; v < other.num_values_; ++v) {
      const K key = other.room_.values[v];
      if (!add_value(key, other.count_of(key))) return false;
    }
    return true;
  }

  /// Returns the values in the order in which they were met, in memory with room for `padding` more. The caller may
  /// sort them there.
  [[nodiscard]] std::span<K> values() { return {room_.values, num_values_}; }

  /// Returns where the keys of each value end, as values() lie now.
  [[nodiscard]] std::span<const std::uint64_t> ends() {
    std::uint64_t end = 0;
    for (std::size_t v = 0; v < num_values_; ++v) room_.ends[v] = end += count_of(room_.values[v]);
    return {room_.ends, num_values_};
  }

 private:
  /// Counters that wait for no comparison take half the time, so keys that lie elsewhere are counted and taken off.
  [[nodiscard]] bool add_tile(const K* keys, std::uint64_t num_keys) {
    const std::uint64_t num_seconds =
        find_cells(first_rule, multiplier_, room_.first.keys, keys, num_keys, room_.cells, room_.others[0]);
    room_.first.count(room_.cells, num_keys);
    room_.first.uncount(first_rule, multiplier_, room_.others[0], num_seconds);
    const std::uint64_t num_others = find_cells(second_rule, multiplier_, room_.second.keys, room_.others[0],
                                                num_seconds, room_.cells, room_.others[1]);
    room_.second.count(room_.cells, num_seconds);
    room_.second.uncount(second_rule, multiplier_, room_.others[1], num_others);
    for (std::uint64_t i = 0; i < num_others; ++i) {
      if (!add_value(room_.others[1][i], 1)) return false;
    }
    num_others_ += num_others;
    return true;
  }

  /// Returns whether more values than one of four found their cell taken, of twice as many as at the last change. Of as
  /// many values as the tables take, one of eight does by chance.
  [[nodiscard]] bool are_crowded() const noexcept {
    return num_values_ >= fewest_to_change_ && 4 * num_second_values_ > num_values_;
  }

  /// Gives all values the cells of the multiplier by which the fewest find theirs taken. Returns false where these are
  /// too many by each of them.
  [[nodiscard, gnu::noinline, gnu::cold]] bool change_multiplier() {
    const std::size_t num_values = num_values_;
    for (std::size_t v = 0; v < num_values; ++v) room_.ends[v] = count_of(room_.values[v]);
    fewest_to_change_ = 2 * num_values;
    choose_multiplier<K>(num_values / 4, [&](K multiplier) { return take_by(multiplier, num_values); });
    return num_values_ == num_values;
  }

  /// Takes the values, whose counts lie in `ends`, by a multiplier. Returns how many find their cell taken.
  std::uint64_t take_by(K multiplier, std::size_t num_values) {
    multiplier_ = multiplier;
    num_values_ = num_second_values_ = 0;
    room_.first.clear();
    room_.second.clear();
    for (std::size_t v = 0; v < num_values; ++v) {
      // A value is written to where it is.
      if (!add_one(room_.values[v], static_cast<std::uint32_t>(room_.ends[v]))) return most_values + 1;
    }
    return num_second_values_;
  }

  /// This is add_one(), once more by another multiplier where the second table is full.
  [[nodiscard]] bool add_value(K key, std::uint32_t count) { return add_one(key, count) || add_changed(key, count); }
  [[nodiscard, gnu::noinline, gnu::cold]] bool add_changed(K key, std::uint32_t count) {
    return num_values_ < most_values && num_values_ >= fewest_to_change_ && change_multiplier() && add_one(key, count);
  }

  [[nodiscard]] bool lies_first(K key) const noexcept {
    const std::size_t cell = first_rule.of(key, multiplier_);
    return room_.first.counts[cell] == 0 || room_.first.keys[cell] == key;
  }
  /// Returns the cell of the second table that holds a key, or the empty one that it would take.
  [[nodiscard]] std::size_t find_second(K key) const noexcept {
    std::size_t cell = second_rule.of(key, multiplier_);
    while (room_.second.counts[cell] != 0 && room_.second.keys[cell] != key)
      cell = (cell + 1) % second_rule.num_cells();
    return cell;
  }
  [[nodiscard]] std::uint32_t count_of(K key) const noexcept {
    return lies_first(key) ? room_.first.counts[first_rule.of(key, multiplier_)]
                           : room_.second.counts[find_second(key)];
  }

  [[nodiscard, gnu::always_inline]] bool add_one(K key, std::uint32_t count) noexcept {
    const bool is_first = lies_first(key);
    const std::size_t cell = is_first ? first_rule.of(key, multiplier_) : find_second(key);
    std::uint32_t& counter = is_first ? room_.first.counts[cell] : room_.second.counts[cell];
    if (counter == 0) {
      if (num_values_ == most_values || (!is_first && num_second_values_ == most_second_values)) return false;
      num_second_values_ += is_first ? 0 : 1;
      room_.values[num_values_++] = key;
      (is_first ? room_.first.keys[cell] : room_.second.keys[cell]) = key;
    }
    counter += count;
    return true;
  }

  memory& room_;
  K multiplier_ = hash_multipliers<K>[0];
  std::size_t fewest_to_change_ = 64;  ///< values that a change of the multiplier is worth
  std::size_t num_values_ = 0;
  std::size_t num_second_values_ = 0;
  std::uint64_t num_keys_ = 0;
  std::uint64_t num_others_ = 0;
};

/// Writes keys[i] for `begin` <= i < `end`: values[v] from ends[v - 1] to ends[v].
template <class K>
void write_runs(std::span<const K> values, std::span<const std::uint64_t> ends, K* keys, std::uint64_t begin,
                std::uint64_t end);

}  // namespace spansort::device::host
