// SPDX-License-Identifier: Apache-2.0
// The sorts of Satish, Harris and Garland (Designing Efficient Sorting Algorithms for Manycore GPUs, 2009) are made of
// these parts on every device: sizes of tiles, the words that a radix tile splits, the comparators of a merge tile, and
// the ranks by which runs are merged. They are plain arithmetic, for kernels and for threads of a CPU alike.
#pragma once

#include <cstdint>

#include "base/math.hpp"
#include "keys/codec.hpp"

namespace spansort::device::satish {

/// Section III: digits of 4 bits, tiles of 1,024 records for blocks of 256 threads.
inline constexpr unsigned radix_digit_bits = 4;
inline constexpr unsigned radix_buckets = 1U << radix_digit_bits;
inline constexpr unsigned radix_tile_keys = 1024;

[[nodiscard]] constexpr std::uint64_t num_radix_tiles(std::uint64_t num_keys) noexcept {
  return base::ceil_div(num_keys, std::uint64_t{radix_tile_keys});
}

/// What the splits of a radix tile move: a record's digit, and below it the record's place in the tile.
inline constexpr unsigned place_bits = 10;
static_assert(radix_tile_keys == 1U << place_bits);
static_assert(place_bits + radix_digit_bits <= 16);
[[nodiscard]] constexpr std::uint16_t split_word(unsigned digit, unsigned place) noexcept {
  return static_cast<std::uint16_t>(digit << place_bits | place);
}
[[nodiscard]] constexpr unsigned digit_of(std::uint16_t word) noexcept { return word >> place_bits; }
[[nodiscard]] constexpr unsigned place_of(std::uint16_t word) noexcept { return word & (radix_tile_keys - 1U); }
/// Returns the bit that split number `split` looks at, lowest first.
[[nodiscard]] constexpr unsigned split_bit(std::uint16_t word, unsigned split) noexcept {
  return static_cast<unsigned>(word) >> (place_bits + split) & 1U;
}

/// Section IV: tiles of 256 records, and a splitter every 256 records of a run.
inline constexpr unsigned merge_tile_keys = 256;

[[nodiscard]] constexpr std::uint64_t num_merge_tiles(std::uint64_t num_keys) noexcept {
  return base::ceil_div(num_keys, std::uint64_t{merge_tile_keys});
}

/// Returns whether place `at` is the lower end of a comparator of Batcher's odd-even merge sort of `num_places`, a
/// power of two. The comparator's upper end is at + distance. The steps of the sort are: for half = 1, 2, 4 ...
/// num_places / 2, and for each of these distance = half, half / 2 ... 1.
[[nodiscard]] constexpr bool begins_comparator(unsigned at, unsigned half, unsigned distance,
                                               unsigned num_places) noexcept {
  const unsigned first = distance % half;  // the first step of a merge compares from the beginning, others skip some
  if (at < first || at + distance >= num_places) return false;
  const bool is_lower = (at - first) / distance % 2 == 0;
  return is_lower && at / (2 * half) == (at + distance) / (2 * half);  // both ends in the same two runs
}

/// A key beside its place in the tile. The network is not stable by itself: ties are broken by the place.
template <class K>
[[nodiscard]] constexpr bool is_out_of_order(K left, unsigned left_place, K right, unsigned right_place) noexcept {
  return right < left || (left == right && right_place < left_place);
}

/// The encoded keys of an array, as far as a sort looks at them.
template <class K>
struct encoded_keys {
  const K* keys = nullptr;
  keys::codec_of<K> codec;
  unsigned shift = 0;  ///< the lowest bit that is looked at

  [[nodiscard]] constexpr K operator[](std::uint64_t at) const {
    return static_cast<K>(codec.encode(keys[at]) >> shift);
  }
};

/// Two neighbouring runs of an array that become one: a is [begin, middle), b is [middle, end), which may be empty.
struct run_pair {
  std::uint64_t begin = 0;
  std::uint64_t middle = 0;
  std::uint64_t end = 0;
};

/// Returns the pair that position `at` of an array belongs to, when runs of `run_keys` become one each with its
/// neighbour.
[[nodiscard]] constexpr run_pair pair_at(std::uint64_t at, std::uint64_t run_keys, std::uint64_t num_keys) noexcept {
  const std::uint64_t begin = at / (2 * run_keys) * (2 * run_keys);
  const std::uint64_t left = num_keys - begin;  // no sum can wrap around
  return {begin, left < run_keys ? num_keys : begin + run_keys, left < 2 * run_keys ? num_keys : begin + 2 * run_keys};
}

/// Returns how many of the `count` values from `first` on, `step` apart, are below `key`, or, where `counts_equal`, not
/// above it. They are in order; `array` gives the value at a position.
template <class Array, class K>
[[nodiscard]] constexpr std::uint64_t rank_among(const Array& array, std::uint64_t first, std::uint64_t step,
                                                 std::uint64_t count, K key, bool counts_equal) {
  std::uint64_t low = 0;
  while (count != 0) {
    const std::uint64_t half = count / 2;
    const K value = array[first + (low + half) * step];
    if (value < key || (counts_equal && value == key)) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low;
}

/// Where an interval of a merge begins: how many records of a and of b come before it.
struct interval_begin {
  std::uint64_t in_a = 0;
  std::uint64_t in_b = 0;
};

/// A splitter's number among those of both runs in order, and where its interval begins.
struct placed_splitter {
  std::uint64_t number = 0;
  interval_begin begin;
};

/// Places the splitter at position `at` of the array, a multiple of merge_tile_keys from the pair's begin. Where keys
/// tie, a comes before b. The splitter's rank among the other run's splitters leaves a window of merge_tile_keys
/// records in which its rank in that run is found.
template <class Array>
[[nodiscard]] constexpr placed_splitter place_splitter(const Array& array, const run_pair& pair, std::uint64_t at) {
  const auto key = array[at];
  const bool is_in_b = at >= pair.middle;
  const std::uint64_t own = at - (is_in_b ? pair.middle : pair.begin);
  const std::uint64_t other_begin = is_in_b ? pair.begin : pair.middle;
  const std::uint64_t other_count = is_in_b ? pair.middle - pair.begin : pair.end - pair.middle;
  // Equal keys of a come before those of b, so b's splitters count them.
  const std::uint64_t before =
      rank_among(array, other_begin, merge_tile_keys, num_merge_tiles(other_count), key, is_in_b);
  std::uint64_t rank = 0;
  if (before != 0) {
    const std::uint64_t window = (before - 1) * merge_tile_keys + 1;  // the splitter itself is known to come before
    const std::uint64_t window_end = before * merge_tile_keys < other_count ? before * merge_tile_keys : other_count;
    rank = window + rank_among(array, other_begin + window, 1, window_end - window, key, is_in_b);
  }
  const std::uint64_t number = own / merge_tile_keys + before;
  return is_in_b ? placed_splitter{number, {rank, own}} : placed_splitter{number, {own, rank}};
}

/// The records of both runs that one interval merges, from where to where, and where they go.
struct merge_interval {
  std::uint64_t a = 0;  ///< position in the array
  std::uint64_t b = 0;
  unsigned num_a = 0;  ///< at most merge_tile_keys
  unsigned num_b = 0;
  std::uint64_t to = 0;
};

/// Returns interval `number` of all of a level, which begin at multiples of merge_tile_keys of the array as tiles do.
/// `begins` has the beginnings of all of them.
[[nodiscard]] constexpr merge_interval interval_at(const interval_begin* begins, std::uint64_t number,
                                                   std::uint64_t run_keys, std::uint64_t num_keys) {
  const run_pair pair = pair_at(number * merge_tile_keys, run_keys, num_keys);
  const interval_begin from = begins[number];
  const bool is_last = (number + 1) * merge_tile_keys >= pair.end;
  const interval_begin to =
      is_last ? interval_begin{pair.middle - pair.begin, pair.end - pair.middle} : begins[number + 1];
  return {pair.begin + from.in_a, pair.middle + from.in_b, static_cast<unsigned>(to.in_a - from.in_a),
          static_cast<unsigned>(to.in_b - from.in_b), pair.begin + from.in_a + from.in_b};
}

}  // namespace spansort::device::satish
