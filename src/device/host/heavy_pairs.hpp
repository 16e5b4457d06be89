// SPDX-License-Identifier: Apache-2.0
// Pairs of which one key, or few, make up much: the values of these heavy keys are moved once, to where they belong,
// and only the other pairs are sorted. A sample says which keys are heavy; any key may be, for what is not heavy is
// sorted like every other input, and may have heavy keys of its own.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "device/host/move_records.hpp"
#include "device/host/records.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/value_classes.hpp"
#include "device/host/workers.hpp"
#include "device/streaming.hpp"

namespace spansort::device::host {

/// Returns whether a sample for heavy keys is worth its time. Of some hundreds of keys four pairs are compared first.
template <class K>
[[nodiscard]] bool may_have_heavy(const K* keys, std::uint64_t num_keys) {
  constexpr std::uint64_t fewest_keys = 384;
  constexpr std::uint64_t many_keys = 768;
  if (num_keys < fewest_keys) return false;
  if (num_keys >= many_keys) return true;
  const K* const others = keys + num_keys / 2;
  unsigned equal = 0;
  for (unsigned i = 0; i < 4; ++i) equal += keys[i] == others[i] ? 1U : 0U;
  return equal >= 2;
}

/// Keys in key order, as their bits lie in memory.
template <class K>
struct heavy_keys {
  std::array<K, most_heavy_pairs> keys = {};
  unsigned count = 0;
  bool sample_is_ordered = false;  ///< the sampled keys ascend or descend: the whole input may

  [[nodiscard]] std::span<const K> span() const noexcept { return {keys.data(), count}; }
  [[nodiscard]] bool has(K key) const noexcept {
    return std::find(keys.begin(), keys.begin() + count, key) != keys.begin() + count;
  }
  void add(const keys::codec_of<K>& codec, K key) noexcept {
    unsigned at = count++;
    for (; at > 0 && codec.encode(keys[at - 1]) > codec.encode(key); --at) keys[at] = keys[at - 1];
    keys[at] = key;
  }
};

/// Returns how many of `sample` are `key`.
template <std::size_t size, class K>
[[nodiscard]] unsigned count_in_sample(const std::array<K, size>& sample, K key) {
  K found = 0;
  for (const K other : sample) found = static_cast<K>(found + (other == key ? 1 : 0));
  return static_cast<unsigned>(found);
}

/// Samples keys spread over an input.
template <class K>
class key_sampler {
 public:
  key_sampler(const K* keys, std::uint64_t num_keys, std::uint64_t num_samples)
      : keys_(keys), stride_(num_keys / num_samples) {}
  [[nodiscard]] K operator()(std::uint64_t i) const noexcept { return keys_[place_of(i)]; }
  [[nodiscard]] std::uint64_t place_of(std::uint64_t i) const noexcept {
    // A multiplicative hash moves the sample off the beat of regular inputs.
    const std::uint64_t hash = (i + 1) * 0x9E3779B97F4A7C15U >> 32;
    return i * stride_ + (hash * stride_ >> 32);
  }

 private:
  const K* keys_;
  std::uint64_t stride_;
};

/// Returns whether three of eight keys are like none of the others: few keys of a small input are looked at then.
template <class K>
[[nodiscard]] bool differ_at_first_sight(const K* keys, std::uint64_t num_keys) {
  const key_sampler<K> sampled(keys, num_keys, 8);
  std::array<K, 8> sample;
  for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = sampled(i);
  unsigned equal = 0;
  for (const std::size_t c : {0, 3, 6}) equal += count_in_sample(sample, sample[c]);
  return equal == 3;
}

/// Returns the keys that a sample of 64 meets eight times or more, none where they are less than a third of it. What
/// ties with one of them and has other bits would be misplaced: is_alone() says whether there is such a key.
template <class K>
[[nodiscard]] heavy_keys<K> sample_heavy(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys) {
  constexpr std::size_t num_samples = 64;
  constexpr std::size_t num_candidates = 8;
  constexpr unsigned fewest = 8;
  constexpr std::uint64_t small = std::uint64_t{1} << 14;  // of those a sample of 64 would take its share of the time
  heavy_keys<K> heavy;
  if (num_keys < num_samples || (num_keys < small && differ_at_first_sight(keys, num_keys))) return heavy;
  const key_sampler<K> sampled(keys, num_keys, num_samples);
  std::array<K, num_samples> sample;
  for (std::size_t i = 0; i < num_samples; ++i) sample[i] = sampled(i);
  unsigned mass = 0;
  for (std::size_t c = 0; c < num_samples && heavy.count < most_heavy_pairs; c += num_samples / num_candidates) {
    const unsigned count = count_in_sample(sample, sample[c]);
    if (count < fewest || heavy.has(sample[c])) continue;
    heavy.add(codec, sample[c]);
    mass += count;
  }
  if (3 * mass < num_samples) return {};
  const auto is_lower = [&](K left, K right) { return codec.encode(left) < codec.encode(right); };
  const auto is_higher = [&](K left, K right) { return is_lower(right, left); };
  heavy.sample_is_ordered =
      std::is_sorted(sample.begin(), sample.end(), is_lower) || std::is_sorted(sample.begin(), sample.end(), is_higher);
  return heavy;
}

/// Returns whether no other bits tie with a key. Those of NaNs may be many; a zero is alone if the other one is not
/// there.
template <class K>
[[nodiscard]] bool is_alone(const keys::codec_of<K>& codec, K key, const K* keys, std::uint64_t num_keys) {
  if (!codec.folds_ties) return true;
  const K magnitude = static_cast<K>(key & codec.magnitude_mask);
  if (magnitude > codec.infinity) return false;
  if (magnitude != 0) return true;
  const K other_zero = static_cast<K>(key ^ static_cast<K>(~codec.magnitude_mask));
  std::uint64_t count = 0;
  count_heavy(keys, num_keys, std::span<const K>(&other_zero, 1), &count);
  return count == 0;
}

/// Returns where the heavy keys stand among `num_light` sorted others.
template <class K, class Order>
[[nodiscard]] std::array<std::uint64_t, most_heavy_pairs + 1> places_among(const Order& order, const K* light,
                                                                           std::uint64_t num_light,
                                                                           const heavy_keys<K>& heavy) {
  std::array<std::uint64_t, most_heavy_pairs + 1> places = {};
  for (unsigned h = 0; h < heavy.count; ++h) {
    const K* const found = std::lower_bound(light, light + num_light, order.encode(heavy.keys[h]),
                                            [&](K key, K encoded) { return order.encode(key) < encoded; });
    places[h] = static_cast<std::uint64_t>(found - light);
  }
  places[heavy.count] = num_light;
  return places;
}

/// Sets the pairs of heavy keys apart on all threads of a team, with a pair of arrays beside those of the records.
template <class K, class V, class Order>
class heavy_pairs_sorter {
 public:
  using split = split_records<K, V>;

  heavy_pairs_sorter(workers& team, const Order& order, const keys::codec_of<K>& codec, const sort_limits& limits)
      : team_(team), order_(order), codec_(codec), limits_(limits) {}

  /// Counts the heavy keys. Returns false where there are none, or where the input is in order.
  [[nodiscard]] bool count(const K* keys, std::uint64_t num_keys) {
    heavy_ = sample_heavy(codec_, keys, num_keys);
    if (heavy_.count == 0) return false;
    pieces_ = cut_into_pieces(num_keys, team_.num_threads(), limits_.piece_keys);
    if (heavy_.sample_is_ordered && find_order(team_, codec_, pieces_, keys).any()) return false;
    counts_.assign(pieces_.size(), {});
    std::atomic<bool> all_alone = true;
    team_.for_each(pieces_.size(), [&](std::uint64_t i) {
      const K* const part = keys + pieces_[i].begin;
      count_heavy(part, pieces_[i].count, heavy_.span(), counts_[i].data());
      for (const K key : heavy_.span()) {
        if (!is_alone(codec_, key, part, pieces_[i].count)) all_alone.store(false, std::memory_order_relaxed);
      }
    });
    num_heavy_ = 0;
    totals_ = {};
    for (const auto& of_piece : counts_) {
      for (unsigned h = 0; h < heavy_.count; ++h) totals_[h] += of_piece[h];
    }
    for (const std::uint64_t total : totals_) num_heavy_ += total;
    return all_alone && 4 * num_heavy_ >= num_keys;
  }

  /// Moves what has been counted to `to`, which does not overlap `from`: the other pairs first, behind their values
  /// those of the heavy keys. Returns how many others there are. Where it throws it has moved nothing.
  std::uint64_t move(split from, split to, std::uint64_t num_keys) {
    const std::uint64_t num_light = num_keys - num_heavy_;
    std::vector<class_places<V>> places(pieces_.size());
    V* next = to.values + num_light;
    for (unsigned h = 0; h < heavy_.count; ++h) {
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        places[i].next[h] = next;
        places[i].end[h] = next += counts_[i][h];
      }
    }
    std::vector<std::uint64_t> begins(pieces_.size() + 1, 0);
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      begins[i + 1] = begins[i] + pieces_[i].count;
      for (unsigned h = 0; h < heavy_.count; ++h) begins[i + 1] -= counts_[i][h];
    }
    team_.for_each(pieces_.size(), [&](std::uint64_t i) {
      split_pairs(from + pieces_[i].begin, pieces_[i].count, heavy_.span(), places[i], to + begins[i],
                  begins[i + 1] - begins[i]);
    });
    return num_light;
  }

  /// Writes the result from what move() has written and someone has sorted.
  void write(split moved, std::uint64_t num_light, split result, std::uint64_t num_keys) {
    const auto cuts = places_among(order_, moved.keys, num_light, heavy_);
    stretch_list stretches;
    std::uint64_t at = 0;
    std::uint64_t light = 0;
    std::uint64_t heavy_value = num_light;
    for (unsigned h = 0; h <= heavy_.count; ++h) {
      add(stretches, at, cuts[h] - light, light, false, K{0});
      light = cuts[h];
      if (h == heavy_.count) break;
      add(stretches, at, totals_[h], heavy_value, true, heavy_.keys[h]);
      heavy_value += totals_[h];
    }
    const bool stream = num_keys * sizeof(V) >= limits_.stream_copies_bytes;
    const piece_list pieces = cut_into_pieces(num_keys, team_.num_threads(), limits_.piece_keys);
    team_.for_each(pieces.size(), [&](std::uint64_t i) {
      const std::uint64_t end = pieces[i].begin + pieces[i].count;
      for (const stretch& s : std::span(stretches.all).first(stretches.count)) {
        const std::uint64_t from = std::max(s.begin, pieces[i].begin);
        const std::uint64_t to = std::min(s.begin + s.count, end);
        if (from < to) write_part(moved, s, from, to - from, result, stream);
      }
      finish_streaming();
    });
  }

 private:
  /// A part of the result: pairs, or the values of a heavy key.
  struct stretch {
    std::uint64_t begin = 0;  ///< in the result
    std::uint64_t count = 0;
    std::uint64_t source = 0;  ///< of its values, among those moved
    bool is_heavy = false;
    K key = 0;
  };

  struct stretch_list {
    std::array<stretch, 2 * most_heavy_pairs + 1> all = {};
    std::size_t count = 0;
  };

  static void add(stretch_list& stretches, std::uint64_t& at, std::uint64_t count, std::uint64_t source, bool is_heavy,
                  K key) {
    if (count != 0) stretches.all[stretches.count++] = {at, count, source, is_heavy, key};
    at += count;
  }

  static void write_part(split moved, const stretch& s, std::uint64_t begin, std::uint64_t count, split result,
                         bool stream) {
    const std::uint64_t source = s.source + begin - s.begin;
    write_sequence(result.values + begin, moved.values + source, count * sizeof(V), stream);
    if (s.is_heavy) {
      fill_keys(result.keys + begin, count, s.key, stream);
    } else {
      write_sequence(result.keys + begin, moved.keys + source, count * sizeof(K), stream);
    }
  }

  workers& team_;
  Order order_;
  keys::codec_of<K> codec_;
  sort_limits limits_;
  heavy_keys<K> heavy_;
  std::uint64_t num_heavy_ = 0;
  std::array<std::uint64_t, most_heavy_pairs> totals_ = {};
  piece_list pieces_;
  std::vector<std::array<std::uint64_t, most_heavy_pairs>> counts_;
};

}  // namespace spansort::device::host
