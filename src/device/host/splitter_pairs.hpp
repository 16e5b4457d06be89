// SPDX-License-Identifier: Apache-2.0
// Pairs of 32-bit keys and values that do not lie evenly, on one thread inside its caches. The splitters of a sorted
// sample part them into buckets; pairs are counted and moved, packed, into a bucket each, and buckets of a few hundred
// are sorted as 32-bit words, where the whole would take words of 64 bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "device/host/heavy_pairs.hpp"
#include "device/host/key_words.hpp"
#include "device/host/level_digit.hpp"
#include "device/host/packed_buckets.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/host/splitter_buckets.hpp"
#include "device/host/vector_sort.hpp"

namespace spansort::device::host {

class splitter_sorter {
 public:
  using key = std::uint32_t;
  /// Keys and values of 32 bits.
  template <class K, class V>
  static constexpr bool has_widths = sizeof(K) == sizeof(key) && value_bytes_of<V> == sizeof(value4);

  splitter_sorter(const keys::codec_of<key>& codec, worker_scratch& scratch) : codec_(codec), scratch_(scratch) {}

  /// Returns whether so many pairs are sorted so where words of 32 bits do not hold them whole: fewer do not repay the
  /// sample, and more find no room.
  [[nodiscard]] static bool takes(std::uint64_t num_keys) {
    return num_keys >= fewest_pairs && num_keys <= most_pairs && has_packed_buckets();
  }

  /// Sorts `from` into `result`, which is `from` itself or does not overlap it.
  template <class V>
  void sort(split_records<key, V> from, split_records<key, V> result, std::uint64_t num_keys) {
    static_assert(has_widths<key, V>);
    bits_ = std::min(most_bits, static_cast<unsigned>(std::bit_width(num_keys - 1)) - wanted_bits);
    choose_splitters(from.keys, num_keys);
    auto* const classes = reinterpret_cast<std::uint16_t*>(scratch_.words.get());
    classify(from.keys, num_keys, classes);
    count(classes, num_keys);
    auto* const moved = reinterpret_cast<packed_pair*>(scratch_.records[0].get());
    move(from, classes, num_keys, moved);
    sort_buckets(moved, result);
  }

 private:
  static constexpr std::uint64_t fewest_pairs = 2049;
  static constexpr std::uint64_t most_pairs = max_words;
  /// Buckets are to have 2^7 pairs. Splitters of more than 2^7 buckets do not fit registers, and to find the buckets of
  /// 2^16 keys took 1.3 ns a key and not 0.6, as much as larger buckets cost.
  static constexpr unsigned wanted_bits = 7;
  static constexpr unsigned most_bits = 7;
  static constexpr std::uint64_t most_buckets = std::uint64_t{1} << most_bits;
  static constexpr std::uint64_t samples_of_bucket = 8;
  static_assert(most_pairs * sizeof(packed_pair) <= max_local_bytes);
  static_assert(fewest_pairs > std::uint64_t{16} << wanted_bits);  // the kernels have four levels or more

  [[nodiscard]] std::uint64_t num_buckets() const noexcept { return std::uint64_t{1} << bits_; }

  void choose_splitters(const key* keys, std::uint64_t num_keys) {
    key* const sample = reinterpret_cast<key*>(scratch_.words.get());
    const std::uint64_t num_samples = samples_of_bucket << bits_;
    const key_sampler<key> sampled(keys, num_keys, num_samples);
    for (std::uint64_t i = 0; i < num_samples; ++i) sample[i] = sampled(i);
    encode_keys(codec_, sample, num_samples, sample + num_samples);
    vector_sort(keys::codec_of<key>(), sample + num_samples, sample, num_samples, vector_scratch_in<key>(scratch_));
    write_splitter_tree(sample, num_samples, bits_, tree_);
  }

  void classify(const key* keys, std::uint64_t num_keys, std::uint16_t* classes) const {
    alignas(64) key encoded[splitter_tile_keys];
    for (std::uint64_t begin = 0; begin < num_keys; begin += splitter_tile_keys) {
      const std::uint64_t n = std::min(splitter_tile_keys, num_keys - begin);
      encode_keys(codec_, keys + begin, n, encoded);
      find_splitter_buckets(static_cast<const key*>(tree_), bits_, encoded, n, classes + begin);
    }
  }

  /// Counts both halves of the pairs, and says where those of each bucket go. Of two equal keys in a row the second
  /// waits for what the first has stored, so that counts and moves go on in both halves in turns.
  void count(const std::uint16_t* classes, std::uint64_t num_keys) {
    std::fill_n(first_, num_buckets(), 0U);
    std::fill_n(second_, num_buckets(), 0U);
    std::uint32_t* __restrict of_first = first_;
    std::uint32_t* __restrict of_second = second_;
    const std::uint64_t half = num_keys / 2;
    for_both(
        classes, classes + half, half, [&](std::uint64_t, std::uint64_t b) { ++of_first[b]; },
        [&](std::uint64_t, std::uint64_t b) { ++of_second[b]; });
    if (2 * half != num_keys) ++of_second[classes[num_keys - 1]];
    std::uint32_t begin = 0;
    for (std::uint64_t b = 0; b < num_buckets(); ++b) {
      const std::uint32_t in_first = first_[b];
      const std::uint32_t all = in_first + second_[b];
      first_[b] = begin;
      second_[b] = begin + in_first;
      begin += all;
    }
  }

  /// Calls first(i, class) and second(i, class) for the classes of two stretches in turns.
  template <class First, class Second>
  [[gnu::always_inline]] static void for_both(const std::uint16_t* lower, const std::uint16_t* upper,
                                              std::uint64_t count, const First& first, const Second& second) {
    const auto class_at = [](std::uint64_t four, unsigned j) { return four >> (16 * j) & 0xFFFF; };
    std::uint64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      std::uint64_t a = 0;
      std::uint64_t b = 0;
      std::memcpy(&a, lower + i, sizeof a);
      std::memcpy(&b, upper + i, sizeof b);
      for (unsigned j = 0; j < 4; ++j) {
        first(i + j, class_at(a, j));
        second(i + j, class_at(b, j));
      }
    }
    for (; i < count; ++i) {
      first(i, lower[i]);
      second(i, upper[i]);
    }
  }

  /// Moves pairs to their buckets, each by one store of what vectors have packed.
  template <class V>
  void move(split_records<key, V> from, const std::uint16_t* classes, std::uint64_t num_keys, packed_pair* moved) {
    constexpr std::uint64_t tile = splitter_tile_keys / 2;
    alignas(64) packed_pair lower[tile];
    alignas(64) packed_pair upper[tile];
    const std::uint64_t half = num_keys / 2;
    for (std::uint64_t begin = 0; begin < half; begin += tile) {
      const std::uint64_t n = std::min(tile, half - begin);
      pack_pairs(from.keys + begin, from.values + begin, n, lower, false);
      pack_pairs(from.keys + half + begin, from.values + half + begin, n, upper, false);
      move_tiles(lower, upper, classes + begin, classes + half + begin, n, moved);
    }
    if (2 * half == num_keys) return;
    const std::uint64_t last = num_keys - 1;
    pack_pairs(from.keys + last, from.values + last, 1, moved + second_[classes[last]]++, false);
  }

  void move_tiles(const packed_pair* __restrict lower, const packed_pair* __restrict upper,
                  const std::uint16_t* __restrict of_lower, const std::uint16_t* __restrict of_upper,
                  std::uint64_t num_pairs, packed_pair* __restrict moved) {
    std::uint32_t* __restrict of_first = first_;
    std::uint32_t* __restrict of_second = second_;
    for_both(
        of_lower, of_upper, num_pairs, [&](std::uint64_t i, std::uint64_t b) { moved[of_first[b]++] = lower[i]; },
        [&](std::uint64_t i, std::uint64_t b) { moved[of_second[b]++] = upper[i]; });
  }

  /// Sorts the buckets, which end where the places of their second halves are by now.
  template <class V>
  void sort_buckets(const packed_pair* moved, split_records<key, V> result) {
    constexpr std::uint64_t num_words = max_local_bytes / 2 / sizeof(std::uint64_t);
    static_assert(most_pairs <= num_words && most_pairs <= max_words);
    auto* const arrays = reinterpret_cast<std::uint64_t*>(scratch_.records[1].get());
    const bucket_scratch scratch{.words = scratch_.words.get(),
                                 .arrays = {.first = arrays,
                                            .second = arrays + num_words,
                                            .num_keys = num_words,
                                            .num_second_keys = num_words,
                                            .cursors = scratch_.digit_counts.get(),
                                            .num_cursors = (std::uint64_t{1} << max_digit_bits) * max_local_digits}};
    const key* const ends = tree_ + num_buckets();  // in ascending order
    std::uint32_t begin = 0;
    for (std::uint64_t b = 0; b < num_buckets(); ++b) {
      const std::uint32_t num_pairs = second_[b] - begin;
      if (num_pairs != 0) {
        const key_range<key> range{b == 0 ? key{0} : ends[b - 1],
                                   b + 1 == num_buckets() ? static_cast<key>(~key{0}) : ends[b] - 1};
        sort_packed_bucket(codec_, moved + begin, num_pairs, result.keys + begin, result.values + begin, range,
                           scratch);
      }
      begin = second_[b];
    }
  }

  const keys::codec_of<key>& codec_;
  worker_scratch& scratch_;
  unsigned bits_ = 0;
  key tree_[2 * most_buckets];
  std::uint32_t first_[most_buckets];
  std::uint32_t second_[most_buckets];
};

}  // namespace spansort::device::host
