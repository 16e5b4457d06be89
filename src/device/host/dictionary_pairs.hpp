// SPDX-License-Identifier: Apache-2.0
// Pairs whose keys are mostly those of a dictionary (key_dictionary.hpp) on all threads of a team, with a pair of
// arrays beside those of the records: values are counted and moved by class, and only the other pairs are sorted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/math.hpp"
#include "device/host/dictionary_kernels.hpp"
#include "device/host/key_dictionary.hpp"
#include "device/host/move_records.hpp"
#include "device/host/records.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/sorted_sample.hpp"
#include "device/host/workers.hpp"
#include "device/streaming.hpp"

namespace spansort::device::host {

template <class K, class V, class Order>
class dictionary_pairs_sorter {
 public:
  using split = split_records<K, V>;

  dictionary_pairs_sorter(workers& team, const Order& order, const keys::codec_of<K>& codec, const sort_limits& limits)
      : team_(team), order_(order), codec_(codec), limits_(limits) {}

  /// Finds and counts the classes of keys, and notes them in `beside`, an array of as many keys. Returns false where
  /// more than half of the keys are no dictionary's, or where the input is in order.
  [[nodiscard]] bool count(const K* keys, std::uint64_t num_keys, K* beside) {
    if (num_keys < dictionary::fewest_keys || num_keys > most_keys || !has_vector_sort()) return false;
    pieces_ = cut(num_keys);
    if (!choose(keys, num_keys)) return false;
    classes_ = reinterpret_cast<std::uint16_t*>(beside);
    places_ = std::make_unique_for_overwrite<class_halves[]>(pieces_.size());
    begins_.assign(pieces_.size() + 1, {});
    team_.for_each(pieces_.size(), [&](std::uint64_t i) {
      const piece part = pieces_[i];
      keys_->find(keys + part.begin, part.count, classes_ + part.begin);
      begins_[i].light = places_[i].count(classes_ + part.begin, part.count, keys_->num_classes());
    });
    piece_begin at;
    for (std::uint64_t i = 0; i < pieces_.size(); ++i) {
      const std::uint64_t num_light = begins_[i].light;
      begins_[i] = at;
      at.light += num_light;
      at.heavy += pieces_[i].count - num_light;
    }
    begins_.back() = at;
    return 2 * at.light <= num_keys;
  }

  /// Moves what has been counted to `to`, whose keys are what count() took beside: first the values of the classes,
  /// each piece's side by side, then the other pairs. Returns how many others there are. Where it throws it has moved
  /// nothing.
  std::uint64_t move(split from, split to) {
    ends_.resize(keys_->num_classes());
    const piece_begin all = begins_.back();
    const std::uint64_t num_keys = all.heavy + all.light;
    // Values are moved in a thread's cache first, and from there past the caches: 2^22 u32(u32) of 1,000 values took
    // 5.8 ns a pair without and take 3.6, 2^20 4.6 and 3.4, but 2^18 2.5 and 2.7.
    const bool is_staged = num_keys * sizeof(packed_record<K, V>) >= 4 * limits_.stream_pairs_bytes;
    team_.for_each(pieces_.size(), [&](std::uint64_t i, worker_scratch& scratch) {
      const piece part = pieces_[i];
      const piece_begin begin = begins_[i];
      const std::uint64_t light_begin = all.heavy + begin.light;
      if (is_staged) {
        place_staged(from, i, to.values + begin.heavy, to.values + light_begin, scratch);
      } else {
        places_[i].add_to(dictionary::other, static_cast<std::uint32_t>(light_begin - begin.heavy));
        place_classified(classes_ + part.begin, from.values + part.begin, part.count, places_[i],
                         to.values + begin.heavy);
      }
      gather_light(from.keys + part.begin, part, reinterpret_cast<K*>(scratch.words.get()), to.keys + light_begin);
    });
    return all.light;
  }

  /// Writes the result from what move() has written and someone has sorted.
  void write(split moved, split result, std::uint64_t num_keys) {
    const piece_begin all = begins_.back();
    find_ends(moved.keys + all.heavy, all.light);
    const piece_list pieces = cut_into_pieces(num_keys, team_.num_threads(), limits_.piece_keys);
    team_.for_each(pieces.size(), [&](std::uint64_t i) {
      std::uint64_t at = pieces[i].begin;
      const std::uint64_t stop = at + pieces[i].count;
      const auto first = std::upper_bound(ends_.begin() + 1, ends_.end(), at,
                                          [](std::uint64_t place, const class_end& x) { return place < x.all; });
      for (auto c = static_cast<unsigned>(first - ends_.begin()); at < stop; ++c) {
        const bool is_last = c == ends_.size();  // others above all classes
        const std::uint64_t light_end = is_last ? all.light : ends_[c].light;
        const std::uint64_t heavy_begin = is_last ? num_keys : ends_[c - 1].all + (light_end - ends_[c - 1].light);
        if (at < heavy_begin) {
          const std::uint64_t to = std::min(stop, heavy_begin);
          copy(moved + (all.heavy + light_end - (heavy_begin - at)), result + at, to - at);
          at = to;
        }
        if (at < stop && !is_last) {
          const std::uint64_t to = std::min(stop, ends_[c].all);
          write_class(moved.values, c, at - heavy_begin, to - at, result + at);
          at = to;
        }
      }
    });
  }

 private:
  using dictionary = key_dictionary<K>;
  static constexpr std::uint64_t most_keys = std::uint64_t{1} << 31;  // places have 32 bits
  static constexpr std::uint64_t most_piece_bytes = std::uint64_t{1} << 19;
  static_assert(2 * sizeof(std::uint16_t) <= sizeof(K), "classes and half of the keys find room in as many keys");

  /// These say where the moved values of a piece's classes begin, and its other pairs among all others.
  struct piece_begin {
    std::uint64_t heavy = 0;
    std::uint64_t light = 0;
  };

  /// These say where a class ends in the result, and the others that are lower among all others.
  struct class_end {
    std::uint64_t all = 0;
    std::uint64_t light = 0;
  };

  /// Pieces whose values stay in a thread's cache while they are moved, and two for each thread.
  [[nodiscard]] piece_list cut(std::uint64_t num_keys) const {
    const std::uint64_t most_threads = std::max<std::uint64_t>(1, num_keys / limits_.piece_keys);
    const std::uint64_t wanted = team_.num_threads() == 1 ? 1 : std::uint64_t{2} * team_.num_threads();
    const std::uint64_t least = base::ceil_div(num_keys * sizeof(V), most_piece_bytes);
    return {num_keys, std::max(least, std::min(wanted, most_threads))};
  }

  bool choose(const K* keys, std::uint64_t num_keys) {
    typename dictionary::first_look seen;
    team_.for_each(1, [&](std::uint64_t, worker_scratch& scratch) {
      seen = dictionary::look(order_, keys, num_keys, vector_scratch_in<K>(scratch), team_.num_threads());
    });
    if (!seen.is_worth_a_sample) return false;
    if (seen.is_ordered && find_order(team_, codec_, pieces_, keys).any()) return false;
    std::vector<K> sample(dictionary::num_samples(num_keys));
    dictionary::sample_into(sample.data(), sample.size(), order_, keys, num_keys);
    sort_sample(team_, sample);
    keys_ = std::make_unique<dictionary>();
    return keys_->take(codec_, sample.data(), sample.size(), num_keys, team_.num_threads());
  }

  /// Moves the values of a piece to where they belong by way of the scratch.
  void place_staged(split from, std::uint64_t i, V* heavy, V* light, worker_scratch& scratch) {
    static_assert(most_piece_bytes <= max_local_bytes);
    const piece part = pieces_[i];
    const std::uint64_t num_heavy = begins_[i + 1].heavy - begins_[i].heavy;
    auto* const staged = reinterpret_cast<V*>(scratch.records[0].get());
    places_[i].add_to(dictionary::other, static_cast<std::uint32_t>(num_heavy));
    place_classified(classes_ + part.begin, from.values + part.begin, part.count, places_[i], staged);
    write_sequence(heavy, staged, num_heavy * sizeof(V), true);
    write_sequence(light, staged + num_heavy, (part.count - num_heavy) * sizeof(V), true);
    finish_streaming();
  }

  /// Vectors write more than there is, which belongs to others.
  void gather_light(const K* keys, piece part, K* tile, K* to) const {
    constexpr std::uint64_t tile_keys = 2048;
    for (std::uint64_t i = 0; i < part.count; i += tile_keys) {
      const std::uint64_t n = std::min(tile_keys, part.count - i);
      const std::uint64_t count = gather_unclassified(classes_ + part.begin + i, keys + i, n, tile);
      std::memcpy(to, tile, count * sizeof(K));
      to += count;
    }
  }

  [[nodiscard]] std::uint64_t count_of(unsigned c) const {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < pieces_.size(); ++i) count += places_[i].count_of_moved(c);
    return count;
  }

  void find_ends(const K* light, std::uint64_t num_light) {
    class_end at;
    for (unsigned c = 1; c < ends_.size(); ++c) {
      const K encoded = static_cast<K>(order_.encode(keys_->key_of(c)));
      const std::uint64_t lower = count_lower(order_, light + at.light, num_light - at.light, encoded);
      at.light += lower;
      at.all += lower + count_of(c);
      ends_[c] = at;
    }
  }

  static void copy(split from, split to, std::uint64_t count) {
    std::memcpy(to.keys, from.keys, count * sizeof(K));
    std::memcpy(static_cast<void*>(to.values), from.values, count * sizeof(V));
  }

  /// Writes `count` pairs of a class from its `first` one on. Each piece has some of its values.
  void write_class(const V* moved, unsigned c, std::uint64_t first, std::uint64_t count, split to) const {
    std::fill_n(to.keys, count, keys_->key_of(c));
    for (std::uint64_t i = 0; count != 0; ++i) {
      const std::uint64_t of_piece = places_[i].count_of_moved(c);
      if (first >= of_piece) {
        first -= of_piece;
        continue;
      }
      const std::uint64_t n = std::min(count, of_piece - first);
      const V* const values = moved + begins_[i].heavy + places_[i].begin_of_moved(c) + first;
      std::memcpy(static_cast<void*>(to.values), values, n * sizeof(V));
      to.values += n;
      count -= n;
      first = 0;
    }
  }

  workers& team_;
  Order order_;
  keys::codec_of<K> codec_;
  sort_limits limits_;
  std::unique_ptr<dictionary> keys_;
  std::uint16_t* classes_ = nullptr;
  piece_list pieces_;
  std::unique_ptr<class_halves[]> places_;  ///< [piece]: where the values of each class go on
  std::vector<piece_begin> begins_;         ///< [piece], and behind the last
  std::vector<class_end> ends_;             ///< [class]
};

}  // namespace spansort::device::host
