// SPDX-License-Identifier: Apache-2.0
// One level of the host device's most-significant-digit sort: choose a digit, count it on all threads, partition by it.
// The digit starts at the highest bit in which a sample of the keys differs; the count checks that guess.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "device/host/count_digits.hpp"
#include "device/host/partition_records.hpp"
#include "device/host/records.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/sorted_sample.hpp"
#include "device/host/workers.hpp"
#include "keys/digit.hpp"

namespace spansort::device::host {

/// A contiguous part of the input, counted and partitioned by one task.
struct piece {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// A run of an array, which may have no records.
struct run_span {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] std::uint64_t size() const noexcept { return end - begin; }
};

/// Pieces of an input, as equal as can be. A list of them takes no memory, for memory may end while they are moved.
class piece_list {
 public:
  piece_list() = default;
  piece_list(std::uint64_t num_keys, std::uint64_t num_pieces)
      : num_pieces_(num_pieces), share_(num_keys / num_pieces), rest_(num_keys % num_pieces) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return num_pieces_; }
  [[nodiscard]] piece operator[](std::uint64_t i) const noexcept {
    return {i * share_ + std::min(i, rest_), share_ + (i < rest_ ? 1 : 0)};
  }

 private:
  std::uint64_t num_pieces_ = 0;
  std::uint64_t share_ = 0;
  std::uint64_t rest_ = 0;
};

[[nodiscard]] inline piece_list cut_into_pieces(std::uint64_t num_keys, unsigned num_threads,
                                                std::uint64_t piece_keys) {
  // Four a thread, so that a late thread costs a quarter of its share; one thread needs no more than one. A sort stops
  // between two pieces, so that none is much larger than this many of the smallest, some tens of milliseconds.
  constexpr std::uint64_t smallest_in_largest = 256;
  const std::uint64_t most = num_threads == 1 ? 1 : std::uint64_t{num_threads} * 4;
  const std::uint64_t least = std::max<std::uint64_t>(1, num_keys / (smallest_in_largest * piece_keys));
  return {num_keys, std::max(least, std::clamp<std::uint64_t>(num_keys / piece_keys, 1, most))};
}

/// Counts of one digit, piece by piece.
template <class K>
struct level_counts {
  level_digit<K> digit;
  unsigned differing_end = 0;  ///< keys agree in the bits from here up
  order_flags order;           ///< of the whole input; all false when nobody looked
  piece_list pieces;
  std::vector<std::uint64_t> counts;  ///< [piece][bucket]

  [[nodiscard]] std::uint64_t* of_piece(std::uint64_t i) noexcept { return counts.data() + i * digit.num_buckets(); }
};

/// How wide a level's digit may be.
struct digit_widths {
  unsigned bits = 0;    ///< makes buckets of the wanted size of keys that lie evenly
  unsigned window = 0;  ///< wider, for a window is taken where they crowd
};

/// The digit that cuts the sampled crowd finest. Nothing below `begin`; `end`: the sample agrees from here up.
template <class K>
[[nodiscard]] level_digit<K> choose_level_digit(const std::vector<K>& sample, digit_widths widths, unsigned begin,
                                                unsigned end) {
  level_digit<K> digit;
  digit.bits.bits = std::min(widths.bits, end - begin);
  digit.bits.shift = end - digit.bits.bits;
  // Leave a 128th of the keys out at each end: they may be far away.
  const std::size_t left_out = sample.size() / 128;
  const K low = sample[left_out];
  const K high = sample[sample.size() - 1 - left_out];
  window_digit<K>& window = digit.window;
  window.bits = widths.window;
  window.shift = begin;
  const auto start = [&] { return static_cast<K>(low >> window.shift << window.shift); };
  while (static_cast<K>((high - start()) >> window.shift) >= window.num_buckets()) ++window.shift;
  window.base = start();
  // Clamping costs two instructions a key and the outer buckets another level: worth it from four times finer on.
  const unsigned granted = window.bits - digit.bits.bits;
  digit.is_window = sizeof(K) >= 4 && low != high && window.shift + 2 + granted <= digit.bits.shift;
  return digit;
}

/// Joins the orders of pieces, and compares the keys on both sides of each bound between two of them.
template <class K, class Order>
[[nodiscard]] order_flags join_orders(const Order& order, const K* keys, const piece_list& pieces,
                                      const std::vector<look_result<K>>& found) {
  order_flags joined;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    joined &= found[i].order;
    if (i == 0 || pieces[i].count == 0) continue;
    const K left = order.encode(keys[pieces[i].begin - 1]);
    const K right = order.encode(keys[pieces[i].begin]);
    joined &= order_flags{left <= right, right <= left, right < left};
  }
  return joined;
}

template <class K, class V, class Order>
class level_counter {
 public:
  level_counter(workers& team, const Order& order, const keys::codec_of<K>& codec, const sort_limits& limits)
      : team_(team), order_(order), codec_(codec), limits_(limits) {}

  /// Counts the digit that a level sorts on. The first level also finds out whether the input is in order. Windows are
  /// for the first two: keys made to deceive the sample could make many levels of them.
  [[nodiscard]] level_counts<K> count(const K* keys, std::uint64_t num_keys, keys::bit_range bits, unsigned depth) {
    const bool look = depth == 1;
    std::vector<K> sample = sample_encoded(order_, keys, num_keys, 1024);
    sort_sample(team_, sample);
    const auto sample_end = static_cast<unsigned>(std::bit_width(static_cast<K>(sample.front() ^ sample.back())));
    const unsigned guess = std::clamp(sample_end, bits.begin, bits.end);
    level_digit<K> digit = choose_level_digit(sample, widths_for(num_keys), bits.begin, guess);
    digit.is_window = digit.is_window && depth <= 2;
    if (depth <= 2 && bits.begin == 0) prefer_splitters(keys, num_keys, sample, digit);
    level_counts<K> level = count_digit(keys, num_keys, digit, guess, bits.end, look);
    if (level.digit.is_chosen_by_rank() || level.differing_end <= guess) return level;
    // The sample missed keys that differ higher up: count again, with the truth.
    const order_flags found = level.order;
    const unsigned end = level.differing_end;
    digit = choose_level_digit(sample, widths_for(num_keys), bits.begin, end);
    digit.is_window = digit.is_window && depth <= 2;
    level = count_digit(keys, num_keys, digit, end, end, false);
    level.order = found;
    return level;
  }

  /// Counts `digit`. Keys are taken to agree from bit `end` up; where `limit` is higher, that is checked.
  [[nodiscard]] level_counts<K> count_digit(const K* keys, std::uint64_t num_keys, const level_digit<K>& digit,
                                            unsigned end, unsigned limit, bool look) {
    level_counts<K> level;
    level.pieces = cut_into_pieces(num_keys, team_.num_threads(), limits_.piece_keys);
    level.digit = digit;
    level.counts.assign(level.pieces.size() * digit.num_buckets(), 0);
    const look_request<K> wanted{look, !digit.is_chosen_by_rank() && end < limit, order_.encode(keys[0])};
    std::vector<look_result<K>> found(level.pieces.size());
    digit.template visit<has_values>([&]<class Digit>(const Digit& d) {
      team_.for_each(level.pieces.size(), [&](std::uint64_t i, worker_scratch&) {
        const piece part = level.pieces[i];
        found[i] =
            count_and_look(order_, codec_, keys + part.begin, part.count, std::span(&d, 1), level.of_piece(i), wanted);
      });
    });
    level.order = join_orders(order_, keys, level.pieces, found);
    level.differing_end = digit.is_chosen_by_rank() ? limit : end;
    for (const look_result<K>& f : found) {
      const unsigned differing = std::min(limit, static_cast<unsigned>(std::bit_width(f.differing)));
      level.differing_end = std::max(level.differing_end, differing);
    }
    return level;
  }

 private:
  static constexpr bool has_values = value_bytes_of<V> != 0;

  /// Takes a tree of splitters where the digit leaves pairs crowded in a bucket that no thread's cache holds, or that
  /// one thread would sort while the others wait.
  void prefer_splitters(const K* keys, std::uint64_t num_keys, const std::vector<K>& sorted_sample,
                        level_digit<K>& digit) const {
    if constexpr (has_values && sizeof(K) >= 4) {
      std::uint64_t fullest = 0;
      std::uint64_t in_bucket = 0;
      std::size_t last = 0;
      K first_in_bucket = 0;
      digit.template visit<false>([&](const auto& d) {
        for (const K encoded : sorted_sample) {
          const std::size_t bucket = d.of(encoded);
          if (bucket != last || in_bucket == 0) {
            in_bucket = 0;
            first_in_bucket = encoded;
          }
          last = bucket;
          ++in_bucket;
          if (encoded != first_in_bucket) fullest = std::max(fullest, in_bucket);  // equal keys no splitter parts
        }
      });
      const std::uint64_t most_keys = 8 * limits_.bucket_bytes / sizeof(packed_record<K, V>);
      // All other threads would wait for the one that sorts more than its share and a half.
      const std::uint64_t most_of_thread = num_keys / 2 * 3 / team_.num_threads();
      constexpr std::uint64_t worth_a_tree = 16;  // in the sample: fewer may be chance
      const std::uint64_t in_fullest = fullest * (num_keys / sorted_sample.size());
      if (fullest < worth_a_tree || in_fullest <= std::min(most_keys, most_of_thread)) return;
      std::vector<K> sample = sample_encoded(order_, keys, num_keys, 4096);
      sort_sample(team_, sample);
      // Caches hold the words of as many pairs, and each bit is a step down the tree for each key: four times as many
      // buckets took 10 to 50 % longer from 2^22 pairs on (two threads of a Zen 4).
      const std::uint64_t wanted = std::max<std::uint64_t>(num_keys / (most_keys / 2), 8 * team_.num_threads());
      digit.splitter_bits = std::min(static_cast<unsigned>(std::bit_width(wanted)), widths_for(num_keys).window);
      digit.splitter_tree = make_splitter_tree(sample, digit.splitter_bits);
    }
  }

  /// Buckets of the wanted size, and a few for every thread.
  [[nodiscard]] digit_widths widths_for(std::uint64_t num_keys) const {
    const std::uint64_t total_bytes = num_keys * sizeof(packed_record<K, V>);
    // Pairs are sorted as words, which take less memory than records.
    const std::uint64_t bucket_bytes = has_values && sizeof(K) >= 4 ? 2 * limits_.bucket_bytes : limits_.bucket_bytes;
    const std::uint64_t wanted = std::max<std::uint64_t>(total_bytes / bucket_bytes, 4 * team_.num_threads());
    const auto width = static_cast<unsigned>(std::bit_width(wanted));
    const unsigned widest = std::min(limits_.radix_bits, max_combining_digit_bits(sizeof(K), value_bytes_of<V>));
    return {std::min(width, widest), std::min(width + 2, widest)};
  }

  workers& team_;
  Order order_;
  keys::codec_of<K> codec_;
  sort_limits limits_;
};

/// Returns how many keys fall into each bucket. Rows are read one after the other, for the counts of one bucket lie far
/// apart, in other threads' caches.
template <class K>
[[nodiscard]] std::vector<std::uint64_t> counts_of_buckets(const level_counts<K>& level) {
  const std::uint64_t num_buckets = level.digit.num_buckets();
  std::vector<std::uint64_t> sums(num_buckets, 0);
  for (std::uint64_t p = 0; p < level.pieces.size(); ++p) {
    const std::uint64_t* const row = level.counts.data() + p * num_buckets;
    for (std::uint64_t b = 0; b < num_buckets; ++b) sums[b] += row[b];
  }
  return sums;
}

/// Returns where each piece's part of each bucket starts, when buckets lie one after the other: [piece][bucket].
template <class K>
[[nodiscard]] std::vector<std::uint64_t> positions_of(const level_counts<K>& level) {
  std::vector<std::uint64_t> next = counts_of_buckets(level);
  std::exclusive_scan(next.begin(), next.end(), next.begin(), std::uint64_t{0});
  std::vector<std::uint64_t> positions(level.counts.size());
  for (std::uint64_t p = 0; p < level.pieces.size(); ++p) {
    const std::uint64_t row = p * next.size();
    for (std::uint64_t b = 0; b < next.size(); ++b) {
      positions[row + b] = next[b];
      next[b] += level.counts[row + b];
    }
  }
  return positions;
}

}  // namespace spansort::device::host
