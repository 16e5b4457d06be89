// SPDX-License-Identifier: Apache-2.0
// Pairs of 32-bit keys and values that do not lie evenly, on one thread inside its caches. The splitters of a sorted
// sample part them into buckets; pairs are counted and moved, packed, into a bucket each, and buckets of a few hundred
// are sorted as 32-bit words, where the whole would take words of 64 bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "device/host/heavy_pairs.hpp"
#include "device/host/key_words.hpp"
#include "device/host/packed_buckets.hpp"
#include "device/host/pair_buckets.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/host/vector_sort.hpp"

namespace spansort::device::host {

class splitter_sorter {
 public:
  using key = std::uint32_t;
  using split = split_records<key, value4>;
  /// Keys and values of 32 bits.
  template <class K, class V>
  static constexpr bool has_widths = sizeof(K) == sizeof(key) && value_bytes_of<V> == sizeof(value4);
  /// Most pairs of one sort.
  static constexpr std::uint64_t most_pairs = max_words;

  splitter_sorter(const keys::codec_of<key>& codec, worker_scratch& scratch) : codec_(codec), scratch_(scratch) {}

  /// Returns whether so many pairs are sorted so where words of 32 bits do not hold them whole: fewer do not repay the
  /// sample, and more find no room.
  [[nodiscard]] static bool takes(std::uint64_t num_keys) {
    return num_keys >= fewest_pairs && num_keys <= most_pairs && has_packed_buckets();
  }

  /// Sorts `from` into `result`, which is `from` itself or does not overlap it.
  void sort(split from, split result, std::uint64_t num_keys) {
    const key_sampler<key> sampled(from.keys, num_keys, num_samples_of(num_keys));
    choose_splitters(num_keys, [&](std::uint64_t i) { return sampled(i); });
    splitters_.find(codec_, from.keys, num_keys, buckets());
    mover_.count(buckets(), num_keys, splitters_.num_buckets());
    mover_.move(from, buckets(), num_keys, pairs_in(0));
    sort_buckets(pairs_in(0), {0, ~key{0}}, result, scratch_for_buckets(1));
  }

  /// Returns where sort_packed() takes its pairs from, with room for most_pairs.
  [[nodiscard]] packed_pair* packed_room() const noexcept { return pairs_in(0); }

  /// Sorts up to most_pairs pairs, whose keys are of `range`, from packed_room() into `result`.
  void sort_packed(key_range<key> range, split result, std::uint64_t num_keys) {
    packed_pair* const pairs = packed_room();
    const auto key_bits = static_cast<unsigned>(std::bit_width(range.greatest - range.least));
    if (key_bits <= pair_splitters::most_bits && num_keys >= fewest_pairs)
      return sort_by_value(range, result, num_keys);
    const bool fit_words = key_bits + static_cast<unsigned>(std::bit_width(num_keys - 1)) <= 32;
    if (num_keys < fewest_pairs || fit_words) {
      return sort_packed_bucket(codec_, pairs, num_keys, result.keys, result.values, range, scratch_for_buckets(1));
    }
    const key_sampler<packed_pair> sampled(pairs, num_keys, num_samples_of(num_keys));
    choose_splitters(num_keys, [&](std::uint64_t i) { return static_cast<key>(sampled(i)); });
    splitters_.find(codec_, static_cast<const packed_pair*>(pairs), num_keys, buckets());
    mover_.count(buckets(), num_keys, splitters_.num_buckets());
    mover_.move(pairs, buckets(), num_keys, pairs_in(1));
    sort_buckets(pairs_in(1), range, result, scratch_for_buckets(0));
  }

 private:
  static constexpr std::uint64_t fewest_pairs = 2049;
  /// Buckets are to have 2^7 pairs. Splitters of more than 2^7 buckets do not fit registers, and to find the buckets of
  /// 2^16 keys took 1.3 ns a key and not 0.6, as much as larger buckets cost.
  static constexpr unsigned wanted_bits = 7;
  static constexpr unsigned most_bits = 7;
  static constexpr std::uint64_t samples_of_bucket = 8;
  static_assert(most_bits <= pair_splitters::most_bits);
  /// Packed pairs leave half of an array to a sample.
  static_assert(2 * most_pairs * sizeof(packed_pair) <= max_local_bytes);
  static_assert(fewest_pairs > std::uint64_t{16} << wanted_bits);  // the kernels have four levels or more

  [[nodiscard]] static unsigned bits_for(std::uint64_t num_keys) noexcept {
    return std::min(most_bits, static_cast<unsigned>(std::bit_width(num_keys - 1)) - wanted_bits);
  }
  [[nodiscard]] static std::uint64_t num_samples_of(std::uint64_t num_keys) noexcept {
    return samples_of_bucket << bits_for(num_keys);
  }

  [[nodiscard]] packed_pair* pairs_in(unsigned array) const noexcept {
    return reinterpret_cast<packed_pair*>(scratch_.records[array].get());
  }
  [[nodiscard]] std::uint16_t* buckets() const noexcept {
    return reinterpret_cast<std::uint16_t*>(scratch_.words.get());
  }

  /// Few values in a row are the buckets themselves.
  void sort_by_value(key_range<key> range, split result, std::uint64_t num_keys) {
    const packed_pair* const pairs = packed_room();
    subtract_from_keys(codec_, pairs, num_keys, range.least, buckets());
    mover_.count(buckets(), num_keys, std::uint64_t{range.greatest - range.least} + 1);
    mover_.move(pairs, buckets(), num_keys, pairs_in(1));
    unpack_pairs(pairs_in(1), num_keys, result.keys, result.values);
  }

  /// Memory for large buckets: that of the records where none of them lie.
  [[nodiscard]] bucket_scratch scratch_for_buckets(unsigned array) const noexcept {
    constexpr std::uint64_t num_words = max_local_bytes / 2 / sizeof(std::uint64_t);
    static_assert(most_pairs <= num_words && most_pairs <= max_words);
    auto* const arrays = reinterpret_cast<std::uint64_t*>(scratch_.records[array].get());
    return {.words = scratch_.words.get(),
            .arrays = {.first = arrays,
                       .second = arrays + num_words,
                       .num_keys = num_words,
                       .num_second_keys = num_words,
                       .cursors = scratch_.digit_counts.get(),
                       .num_cursors = (std::uint64_t{1} << max_digit_bits) * max_local_digits}};
  }

  template <class KeyAt>
  void choose_splitters(std::uint64_t num_keys, const KeyAt& sampled) {
    key* const sample = reinterpret_cast<key*>(scratch_.words.get());
    const std::uint64_t num_samples = num_samples_of(num_keys);
    for (std::uint64_t i = 0; i < num_samples; ++i) sample[i] = sampled(i);
    encode_keys(codec_, sample, num_samples, sample + num_samples);
    vector_sort(keys::codec_of<key>(), sample + num_samples, sample, num_samples, vector_scratch_for_sample());
    splitters_.choose(sample, num_samples, bits_for(num_keys));
  }

  /// The second half of the records' memory: packed pairs are in the first.
  [[nodiscard]] vector_sort_scratch<key> vector_scratch_for_sample() const noexcept {
    constexpr std::uint64_t num_words = max_local_bytes / 2 / sizeof(key);
    auto* const first = reinterpret_cast<key*>(scratch_.records[0].get() + max_local_bytes / 2);
    auto* const second = reinterpret_cast<key*>(scratch_.records[1].get());
    return {.first = first,
            .second = second,
            .num_keys = num_words,
            .num_second_keys = num_words,
            .cursors = scratch_.digit_counts.get(),
            .num_cursors = (std::uint64_t{1} << max_digit_bits) * max_local_digits};
  }

  /// Sorts the buckets of pairs whose keys are of `range`.
  void sort_buckets(const packed_pair* moved, key_range<key> range, split result, const bucket_scratch& scratch) {
    std::uint32_t begin = 0;
    for (std::uint64_t b = 0; b < splitters_.num_buckets(); ++b) {
      const std::uint32_t end = mover_.end_of_moved(b);
      if (end != begin) {
        const key_range<key> of_bucket = splitters_.range_of(b);
        sort_packed_bucket(codec_, moved + begin, end - begin, result.keys + begin, result.values + begin,
                           {std::max(range.least, of_bucket.least), std::min(range.greatest, of_bucket.greatest)},
                           scratch);
      }
      begin = end;
    }
  }

  const keys::codec_of<key>& codec_;
  worker_scratch& scratch_;
  pair_splitters splitters_;
  pair_mover mover_;
};

}  // namespace spansort::device::host
