// SPDX-License-Identifier: Apache-2.0
// A dictionary of up to some thousand keys that hold all or most of an input of pairs. A sorted sample tells them, and
// a hash table with one cell for each says which of them a key is, if any: the values of each are then moved once, to
// where they belong, and only the other pairs are sorted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "device/host/dictionary_kernels.hpp"
#include "device/host/hash_multipliers.hpp"
#include "device/host/heavy_pairs.hpp"
#include "device/host/records.hpp"
#include "device/host/sampled_repeats.hpp"
#include "device/host/scratch.hpp"
#include "device/host/vector_sort.hpp"

namespace spansort::device::host {

/// Its memory is cleared where keys are taken in, and not before.
template <class K>
class key_dictionary {
 public:
  /// The class of a key that is none of the dictionary's.
  static constexpr std::uint16_t other = 0;
  /// Keys that a sample has at most.
  static constexpr std::uint64_t most_samples = 4096;
  /// A sample of fewer keys would take its share of the time. Fewer than `many_keys` have to repeat often.
  static constexpr std::uint64_t fewest_keys = std::uint64_t{1} << 13;
  static constexpr std::uint64_t many_keys = std::uint64_t{1} << 14;

  /// A look at some keys.
  struct first_look {
    bool is_worth_a_sample = false;
    bool is_ordered = false;  ///< these keys ascend or descend: the whole input may
  };
  /// A look may miss at most one key in `least_part`.
  static constexpr std::uint64_t half = 2;
  static constexpr std::uint64_t tenth = 10;

  /// Looks at 128 keys, and at 512 where three of these are alike, as of 1,000 values eight are, or 32 where there are
  /// few keys. Returns whether a whole sample is likely to miss little.
  template <class Order>
  [[nodiscard]] static first_look look(const Order& order, const K* keys, std::uint64_t num_keys,
                                       const vector_sort_scratch<K>& scratch, unsigned num_threads,
                                       std::uint64_t least_part = half) {
    constexpr std::uint64_t most_looks = 512;
    first_look found;
    if (!may_repeat(order, keys, num_keys, found)) return found;
    std::array<K, most_looks> seen;
    sample_into(seen.data(), most_looks, order, keys, num_keys);
    vector_sort(keys::codec_of<K>(), seen.data(), seen.data(), most_looks, scratch);
    const double missed = count_repeats(seen.data(), most_looks).missed_by(num_samples(num_keys));
    found.is_worth_a_sample = missed * static_cast<double>(wanted_part(num_keys, num_threads, least_part)) <= 1;
    return found;
  }

  /// Returns how many keys are to be sampled.
  [[nodiscard]] static std::uint64_t num_samples(std::uint64_t num_keys) {
    return std::min(num_keys / 8, most_samples);
  }
  /// Encodes keys spread over an input.
  template <class Order>
  static void sample_into(K* sample, std::uint64_t num_sampled, const Order& order, const K* keys,
                          std::uint64_t num_keys) {
    const key_sampler<K> sampled(keys, num_keys, num_sampled);
    for (std::uint64_t i = 0; i < num_sampled; ++i) sample[i] = order.encode(sampled(i));
  }

  /// Takes the keys that a sorted, encoded sample of `num_keys` has met twice, and those that it has met once where
  /// they are likely to be some pairs each. Returns false where these hold too little of the input, half of it or less
  /// at any rate, by an estimate of what the sample missed (Good and Turing's). Keys that may tie with other bits,
  /// zeros and NaNs, are never taken.
  [[nodiscard]] bool take(const keys::codec_of<K>& codec, const K* sample, std::uint64_t num_sampled,
                          std::uint64_t num_keys, unsigned num_threads, std::uint64_t least_part = half) {
    constexpr std::uint64_t fewest_pairs = 8;  // of a key met once: a class of its own costs as much as their sort
    const sampled_repeats found = count_repeats(sample, num_sampled);
    const bool takes_once =
        found.different < most_key_classes && 2 * found.twice * (num_keys / num_sampled) >= fewest_pairs * found.once;
    const std::uint64_t missed = takes_once ? found.once : found.once + 2 * found.twice;
    if (wanted_part(num_keys, num_threads, least_part) * missed > num_sampled) return false;
    choose_multiplier<K>(num_sampled / 6,
                         [&](K multiplier) { return take_by(multiplier, codec, sample, num_sampled, takes_once); });
    return num_classes_ > 1;
  }

  /// Classes ascend as their keys do, behind that of the others.
  [[nodiscard]] unsigned num_classes() const noexcept { return num_classes_; }
  [[nodiscard]] K key_of(unsigned c) const noexcept { return keys_[c]; }
  void find(const K* keys, std::uint64_t num_keys, std::uint16_t* classes) const {
    find_classes({multiplier_, cells_.data(), keys_.data()}, keys, num_keys, classes);
  }

 private:
  /// Takes keys into the cells that a multiplier gives them. Returns how many of the sample find theirs taken.
  std::uint64_t take_by(K multiplier, const keys::codec_of<K>& codec, const K* sample, std::uint64_t num_sampled,
                        bool takes_once) {
    multiplier_ = multiplier;
    cells_.fill(other);
    num_classes_ = 1;
    keys_[other] = 0;
    std::array<std::uint16_t, most_key_classes> sampled_times;
    std::uint64_t lost = 0;
    for (std::uint64_t i = 0; i < num_sampled && num_classes_ < most_key_classes;) {
      const std::uint64_t begin = i;
      while (i < num_sampled && sample[i] == sample[begin]) ++i;
      const std::uint64_t count = i - begin;
      const K key = codec.decode(sample[begin]);
      if ((!takes_once && count == 1) || (codec.folds_ties && may_tie(codec, key))) continue;
      std::uint16_t& cell = cells_[class_cell_of(key, multiplier)];
      if (cell != other) lost += std::min<std::uint64_t>(sampled_times[cell], count);
      if (cell != other && sampled_times[cell] >= count) continue;
      // A key that loses its cell keeps its class, which no key will be of any more.
      sampled_times[num_classes_] = static_cast<std::uint16_t>(count);
      keys_[num_classes_] = key;
      cell = static_cast<std::uint16_t>(num_classes_++);
    }
    return lost;
  }

  /// One part of so many may be missed: a sixth and an eighth of small inputs, which a vain sample costs most, and no
  /// more of large ones than the threads sort as words. Of keys that are the AND of eight words of 64 bits, a sample of
  /// those that are not zero misses a ninth: most have one bit, and each of those with two is rare.
  [[nodiscard]] static constexpr std::uint64_t wanted_part(std::uint64_t num_keys, unsigned num_threads,
                                                           std::uint64_t least_part) noexcept {
    if (num_keys < std::uint64_t{1} << 15) return 6;
    if (num_keys < std::uint64_t{1} << 16) return 8;
    return std::max<std::uint64_t>(least_part, num_keys / (2 * max_words * num_threads));
  }

  /// Looks at 128 keys by a table of bits: the code of a network would push that of the sort out of its cache.
  template <class Order>
  [[nodiscard]] static bool may_repeat(const Order& order, const K* keys, std::uint64_t num_keys, first_look& found) {
    constexpr std::uint64_t num_looks = 128;
    const std::uint64_t fewest_alike = num_keys < many_keys ? num_looks / 4 : 3;
    std::array<std::uint64_t, (std::size_t{1} << class_cell_bits) / 64> met = {};
    const key_sampler<K> sampled(keys, num_keys, num_looks);
    bool ascending = true;
    bool descending = true;
    std::uint64_t alike = 0;
    K last = order.encode(sampled(0));
    for (std::uint64_t i = 0; i < num_looks; ++i) {
      const K encoded = order.encode(sampled(i));
      ascending = ascending & (last <= encoded);
      descending = descending & (last >= encoded);
      last = encoded;
      const std::size_t cell = class_cell_of(encoded, hash_multipliers<K>[0]);
      alike += met[cell / 64] >> cell % 64 & 1;
      met[cell / 64] |= std::uint64_t{1} << cell % 64;
    }
    found.is_ordered = ascending || descending;
    return alike >= fewest_alike;
  }

  [[nodiscard]] static bool may_tie(const keys::codec_of<K>& codec, K key) noexcept {
    const K magnitude = static_cast<K>(key & codec.magnitude_mask);
    return magnitude == 0 || magnitude > codec.infinity;
  }

  K multiplier_ = 0;
  unsigned num_classes_ = 0;
  std::array<std::uint16_t, std::size_t{1} << class_cell_bits> cells_;
  std::array<K, most_key_classes> keys_;  ///< as their bits lie in memory
};

/// Returns how many of `num_keys` sorted keys are lower than an encoded one. Few are, so that steps double.
template <class K, class Order>
[[nodiscard]] std::uint64_t count_lower(const Order& order, const K* keys, std::uint64_t num_keys, K encoded) {
  std::uint64_t step = 1;
  while (step <= num_keys && order.encode(keys[step - 1]) < encoded) step *= 2;
  const K* const begin = keys + step / 2;
  const K* const end = keys + std::min(step - 1, num_keys);
  const K* const found =
      std::lower_bound(begin, end, encoded, [&](K key, K wanted) { return order.encode(key) < wanted; });
  return static_cast<std::uint64_t>(found - keys);
}

}  // namespace spansort::device::host
