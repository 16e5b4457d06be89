// SPDX-License-Identifier: Apache-2.0
// One thread parts pairs of 32-bit keys and values into buckets here: the splitters of a sorted sample say of which
// bucket a key is, and pairs are counted and moved, packed, each by one store, to where those of their bucket lie.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device/host/key_words.hpp"
#include "device/host/level_digit.hpp"
#include "device/host/packed_buckets.hpp"
#include "device/host/records.hpp"
#include "device/host/splitter_buckets.hpp"

namespace spansort::device::host {

/// Splitters of up to 2^8 buckets.
class pair_splitters {
 public:
  using key = std::uint32_t;
  static constexpr unsigned most_bits = 8;
  static constexpr std::uint64_t most_buckets = std::uint64_t{1} << most_bits;

  /// Cuts a sorted, encoded sample into 2^bits equal parts.
  void choose(const key* sorted_sample, std::uint64_t num_samples, unsigned bits) {
    bits_ = bits;
    write_splitter_tree(sorted_sample, num_samples, bits, tree_);
  }

  [[nodiscard]] std::uint64_t num_buckets() const noexcept { return std::uint64_t{1} << bits_; }

  /// Returns which encoded keys may be of a bucket.
  [[nodiscard]] key_range<key> range_of(std::uint64_t b) const noexcept {
    const key* const ends = tree_ + num_buckets();  // in ascending order
    return {b == 0 ? key{0} : ends[b - 1], b + 1 == num_buckets() ? static_cast<key>(~key{0}) : ends[b] - 1};
  }

  /// Writes the buckets of keys, or of packed pairs.
  template <class Item>
  void find(const keys::codec_of<key>& codec, const Item* items, std::uint64_t num_items,
            std::uint16_t* buckets) const {
    alignas(64) key encoded[splitter_tile_keys];
    for (std::uint64_t begin = 0; begin < num_items; begin += splitter_tile_keys) {
      const std::uint64_t n = std::min(splitter_tile_keys, num_items - begin);
      encode_keys(codec, items + begin, n, encoded);
      find_splitter_buckets(static_cast<const key*>(tree_), bits_, encoded, n, buckets + begin);
    }
  }

 private:
  unsigned bits_ = 0;
  key tree_[2 * most_buckets];
};

/// Counts and moves pairs. Of two equal keys in a row the second waits for what the first has stored, so that counts
/// and moves go on in both halves of the pairs in turns.
class pair_mover {
 public:
  using key = std::uint32_t;

  /// Says where the pairs of each bucket go.
  void count(const std::uint16_t* buckets, std::uint64_t num_pairs, std::uint64_t num_buckets) {
    std::fill_n(first_, num_buckets, 0U);
    std::fill_n(second_, num_buckets, 0U);
    std::uint32_t* __restrict of_first = first_;
    std::uint32_t* __restrict of_second = second_;
    const std::uint64_t half = num_pairs / 2;
    for_both(
        buckets, buckets + half, half, [&](std::uint64_t, std::uint64_t b) { ++of_first[b]; },
        [&](std::uint64_t, std::uint64_t b) { ++of_second[b]; });
    if (2 * half != num_pairs) ++of_second[buckets[num_pairs - 1]];
    std::uint32_t begin = 0;
    for (std::uint64_t b = 0; b < num_buckets; ++b) {
      const std::uint32_t in_first = first_[b];
      const std::uint32_t all = in_first + second_[b];
      first_[b] = begin;
      second_[b] = begin + in_first;
      begin += all;
    }
  }

  /// Moves pairs that have been counted, which vectors pack first.
  void move(split_records<key, value4> from, const std::uint16_t* buckets, std::uint64_t num_pairs,
            packed_pair* moved) {
    constexpr std::uint64_t tile = splitter_tile_keys / 2;
    alignas(64) packed_pair lower[tile];
    alignas(64) packed_pair upper[tile];
    const std::uint64_t half = num_pairs / 2;
    for (std::uint64_t begin = 0; begin < half; begin += tile) {
      const std::uint64_t n = std::min(tile, half - begin);
      pack_pairs(from.keys + begin, from.values + begin, n, lower, false);
      pack_pairs(from.keys + half + begin, from.values + half + begin, n, upper, false);
      move_both(lower, upper, buckets + begin, buckets + half + begin, n, moved);
    }
    if (2 * half == num_pairs) return;
    const std::uint64_t last = num_pairs - 1;
    pack_pairs(from.keys + last, from.values + last, 1, moved + second_[buckets[last]]++, false);
  }

  /// Moves packed pairs that have been counted.
  void move(const packed_pair* from, const std::uint16_t* buckets, std::uint64_t num_pairs, packed_pair* moved) {
    const std::uint64_t half = num_pairs / 2;
    move_both(from, from + half, buckets, buckets + half, half, moved);
    if (2 * half != num_pairs) moved[second_[buckets[num_pairs - 1]]++] = from[num_pairs - 1];
  }

  /// Returns where a bucket whose pairs have been moved ends.
  [[nodiscard]] std::uint32_t end_of_moved(std::uint64_t b) const noexcept { return second_[b]; }

 private:
  /// Calls first(i, bucket) and second(i, bucket) for the buckets of two stretches in turns.
  template <class First, class Second>
  [[gnu::always_inline]] static void for_both(const std::uint16_t* lower, const std::uint16_t* upper,
                                              std::uint64_t count, const First& first, const Second& second) {
    const auto bucket_at = [](std::uint64_t four, unsigned j) { return four >> (16 * j) & 0xFFFF; };
    std::uint64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      std::uint64_t a = 0;
      std::uint64_t b = 0;
      std::memcpy(&a, lower + i, sizeof a);
      std::memcpy(&b, upper + i, sizeof b);
      for (unsigned j = 0; j < 4; ++j) {
        first(i + j, bucket_at(a, j));
        second(i + j, bucket_at(b, j));
      }
    }
    for (; i < count; ++i) {
      first(i, lower[i]);
      second(i, upper[i]);
    }
  }

  void move_both(const packed_pair* __restrict lower, const packed_pair* __restrict upper,
                 const std::uint16_t* __restrict of_lower, const std::uint16_t* __restrict of_upper,
                 std::uint64_t num_pairs, packed_pair* __restrict moved) {
    std::uint32_t* __restrict of_first = first_;
    std::uint32_t* __restrict of_second = second_;
    for_both(
        of_lower, of_upper, num_pairs, [&](std::uint64_t i, std::uint64_t b) { moved[of_first[b]++] = lower[i]; },
        [&](std::uint64_t i, std::uint64_t b) { moved[of_second[b]++] = upper[i]; });
  }

  std::uint32_t first_[pair_splitters::most_buckets];
  std::uint32_t second_[pair_splitters::most_buckets];
};

}  // namespace spansort::device::host
