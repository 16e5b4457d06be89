// SPDX-License-Identifier: Apache-2.0
// Pairs of which up to four frequent keys make up most, on one thread or two, in place. One read sets the values of
// each of these keys aside, and nothing is counted before. Those of the least key stay in their own array as far as one
// thread takes pairs from its begin on: they mostly belong there, and are not copied back.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "device/host/few_values.hpp"
#include "device/host/heavy_pairs.hpp"
#include "device/host/heavy_sample.hpp"
#include "device/host/ordered_tail.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/value_classes.hpp"
#include "device/host/workers.hpp"
#include "device/streaming.hpp"

namespace spansort::device::host {

/// Keys and values are as wide.
template <class K, class V, class Order>
class heavy_pieces_sorter {
 public:
  using split = split_records<K, V>;

  heavy_pieces_sorter(workers& team, const Order& order, const keys::codec_of<K>& codec, const sort_limits& limits)
      : team_(team), order_(order), codec_(codec), limits_(limits) {}

  /// Looks at a sample, and for keys that tie with frequent ones. Returns false where frequent keys are not most of it,
  /// where all keys may be a few others as well, and where the input may be in order.
  [[nodiscard]] bool choose(const K* keys, std::uint64_t num_keys) {
    if (num_keys > most_pairs || team_.num_threads() > most_threads) return false;
    const frequent_keys<K> frequent = sample_frequent(keys, num_keys);
    if (2 * frequent.mass(frequent.count) < frequent_keys<K>::num_samples) return false;
    if (frequent.may_be_few() && !frequent.are_all() && !frequent.are_most()) return false;
    if (may_be_ordered(keys, num_keys)) return false;
    take(frequent);
    return std::all_of(heavy_.span().begin(), heavy_.span().end(),
                       [&](K key) { return is_alone(codec_, key, keys, num_keys); });
  }

  /// Takes at least one key as frequent, whatever the input.
  void take(const frequent_keys<K>& frequent) {
    heavy_ = {};
    for (unsigned h = 0; h < frequent.count; ++h) heavy_.add(codec_, frequent.keys[h]);
    are_all_ = frequent.are_all();
  }

  /// Moves the values of frequent keys, but for those that stay or go to their places, to `beside`, which does not
  /// overlap `from`, and the others together. Returns how many these are. Where it throws std::bad_alloc it has moved
  /// nothing. The first task takes no more than `most_front` pieces, for tests.
  std::uint64_t set_apart(split from, split beside, std::uint64_t num_keys,
                          std::uint64_t most_front = std::numeric_limits<std::uint64_t>::max()) {
    stream_ = num_keys * (sizeof(K) + sizeof(V)) >= limits_.stream_copies_bytes;
    const bool has_aligned_values = reinterpret_cast<std::uintptr_t>(beside.values) % alignof(K) == 0;
    if (are_all_ && heavy_.count == 2 && team_.num_threads() == 1 && has_aligned_values) {
      return set_two_apart(from, beside, num_keys);
    }
    cut(num_keys, piece_pairs);
    light_ = {from.keys, reinterpret_cast<V*>(beside.keys)};
    claims_ = 0;
    num_back_ = 0;
    // The first task takes the first pieces, in order, and writes no further than it has read. All others take the last
    // ones, so that the first one has done more of the pieces the later others come.
    team_.for_each(team_.num_threads(), [&](std::uint64_t task, worker_scratch& scratch) {
      while (claims_.fetch_add(1, std::memory_order_relaxed) < pieces_.size()) {
        team_.stop_if_asked();
        if (task == 0 && num_front_ < most_front) {
          split_piece(from, beside.values, pieces_[num_front_++], front_, true, scratch);
        } else {
          piece_of_pairs& of = pieces_[pieces_.size() - 1 - num_back_.fetch_add(1, std::memory_order_relaxed)];
          ends_of_stretch behind{of.begin, of.begin};
          split_piece(from, beside.values, of, behind, false, scratch);
          of.num_light = behind.light - of.begin;
        }
      }
      finish_streaming();
    });
    num_light_ = front_.light;
    for (std::uint64_t p = num_front_; p < pieces_.size(); ++p) {
      const piece_of_pairs& of = pieces_[p];
      move_down(light_ + of.begin, light_ + num_light_, of.num_light);
      num_light_ += of.num_light;
    }
    sorted_ = light_;
    other_ = light_ + num_light_;
    if (2 * num_light_ > num_keys) make_room(from, beside, num_keys);
    return num_light_;
  }

  /// Returns where the others lie, which are to be sorted there, and as many pairs that may be overwritten meanwhile.
  [[nodiscard]] split light() const noexcept { return sorted_; }
  [[nodiscard]] split other() const noexcept { return other_; }

  /// Writes the result over the array that was sorted, from what has been set apart, when the others are in order.
  void write(const V* set_apart, split result, std::uint64_t num_keys) {
    if (sorted_.values != light_.values) {
      std::memcpy(static_cast<void*>(light_.values), sorted_.values, num_light_ * sizeof(V));
    }
    place_runs();
    if (begins_[0] != 0 && num_kept_ != 0) {
      std::memmove(static_cast<void*>(result.values + begins_[0]), result.values, num_kept_ * sizeof(V));
    }
    // The keys of the others lie at the begin of their own result.
    for (unsigned h = heavy_.count; h > 0; --h) {
      std::memmove(result.keys + ends_[h - 1], light_.keys + cuts_[h - 1], (cuts_[h] - cuts_[h - 1]) * sizeof(K));
    }
    const piece_list fills = cut_into_pieces(num_keys, team_.num_threads(), limits_.piece_keys);
    const std::uint64_t num_parts_of_light = heavy_.count + 1;
    team_.for_each(pieces_.size() + fills.size() + num_parts_of_light, [&](std::uint64_t i) {
      if (i < pieces_.size()) {
        if (!are_placed_) write_runs(set_apart, pieces_[i], result.values);
      } else if (i < pieces_.size() + fills.size()) {
        fill_heavy(result.keys, fills[i - pieces_.size()]);
      } else {
        write_light(static_cast<unsigned>(i - pieces_.size() - fills.size()), result.values);
      }
      finish_streaming();
    });
  }

 private:
  /// What the first thread leaves to others is moved once more by one thread. 2^20 u32(u32) of zipf 2 took 32 threads
  /// 1.6 ms, and 0.6 by heavy_pairs_sorter, which counts first; one and two threads were measured besides.
  static constexpr unsigned most_threads = 2;
  /// The sample has places of 32 bits.
  static constexpr std::uint64_t most_pairs = std::uint64_t{1} << 30;
  static constexpr std::uint64_t piece_pairs = std::uint64_t{1} << 14;
  static constexpr std::uint64_t long_piece_pairs = std::uint64_t{1} << 20;  ///< between looks at whether to stop
  /// Arrays that are written in turns begin at different offsets in their pages.
  static constexpr std::uint64_t stride = piece_pairs + 17 * 64 / sizeof(V);
  static_assert((most_heavy_pairs + 1) * stride * sizeof(V) <= max_local_bytes);

  /// A piece has the pairs that one call splits.
  struct piece_of_pairs {
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
    std::uint64_t runs = 0;       ///< where the values of its frequent keys begin, key after key
    std::uint64_t num_light = 0;  ///< its others, where it is none of the first pieces
    std::array<std::uint64_t, most_heavy_pairs> counts = {};
    std::array<std::uint64_t, most_heavy_pairs> places = {};  ///< of the runs, in the result
  };

  /// This says where the runs and the others of pieces that lie together end.
  struct ends_of_stretch {
    std::uint64_t runs = 0;
    std::uint64_t light = 0;
  };

  [[nodiscard]] bool may_be_ordered(const K* keys, std::uint64_t num_keys) {
    const order_flags first = look_at_first(codec_, keys, num_keys);
    if (!first.any()) return false;
    return find_order(team_, codec_, cut_into_pieces(num_keys, team_.num_threads(), limits_.piece_keys), keys).any();
  }

  static void move_down(split from, split to, std::uint64_t count) {
    std::memmove(to.keys, from.keys, count * sizeof(K));
    std::memmove(static_cast<void*>(to.values), from.values, count * sizeof(V));
  }

  void cut(std::uint64_t num_keys, std::uint64_t most_pairs_of_piece) {
    const piece_list all(num_keys, base::ceil_div(num_keys, most_pairs_of_piece));
    pieces_.assign(all.size(), {});
    for (std::uint64_t p = 0; p < all.size(); ++p) {
      pieces_[p].begin = all[p].begin;
      pieces_[p].count = all[p].count;
    }
    front_ = {};
    num_front_ = 0;
    num_kept_ = 0;
    are_placed_ = false;
  }

  /// Sets pairs of two keys apart on one thread. The values of the greater key wait where keys have been read, and go
  /// to where they belong at once if there are no others: 2^18 u32(u32) took a Granite Rapids 131 us by way of memory
  /// beside, and take 95.
  std::uint64_t set_two_apart(split from, split beside, std::uint64_t num_keys) {
    cut(num_keys, num_keys);
    V* const greater = reinterpret_cast<V*>(from.keys);
    class_places<V> places;
    places.next = {from.values, greater};
    places.end = {from.values + num_keys, greater + num_keys};
    light_ = {reinterpret_cast<K*>(beside.values), reinterpret_cast<V*>(beside.keys)};
    num_light_ = 0;
    for (std::uint64_t begin = 0; begin < num_keys; begin += long_piece_pairs) {
      team_.stop_if_asked();
      const std::uint64_t end = std::min(begin + long_piece_pairs, num_keys);
      split_pairs(from + begin, end - begin, heavy_.span(), places, light_ + num_light_, num_keys - num_light_, true);
      const auto num_placed = (places.next[0] - from.values) + (places.next[1] - greater);
      num_light_ = end - static_cast<std::uint64_t>(num_placed);
    }
    num_kept_ = static_cast<std::uint64_t>(places.next[0] - from.values);
    const auto num_greater = static_cast<std::uint64_t>(places.next[1] - greater);
    pieces_[0].counts[1] = num_greater;
    pieces_[0].runs = num_light_;
    are_placed_ = num_light_ == 0;
    V* const to = are_placed_ ? from.values + num_kept_ : beside.values + num_light_;
    write_sequence(to, greater, num_greater * sizeof(V), stream_);
    finish_streaming();
    std::memcpy(from.keys, light_.keys, num_light_ * sizeof(K));
    light_.keys = from.keys;
    sorted_ = light_;
    other_ = light_ + num_light_;
    if (2 * num_light_ > num_keys) make_room(from, beside, num_keys);
    return num_light_;
  }

  /// Splits a piece in the thread's scratch, and appends what is not kept to a stretch.
  void split_piece(split from, V* beside, piece_of_pairs& of, ends_of_stretch& to, bool keeps,
                   worker_scratch& scratch) {
    const std::uint64_t end = of.begin + of.count;
    auto* const staged = reinterpret_cast<V*>(scratch.records[0].get());
    class_places<V> places;
    std::array<V*, most_heavy_pairs> begins = {};
    for (unsigned h = 0; h < heavy_.count; ++h) {
      const bool is_kept = keeps && h == 0;
      begins[h] = is_kept ? from.values + num_kept_ : staged + h * stride;
      places.next[h] = begins[h];
      places.end[h] = is_kept ? from.values + end : begins[h] + of.count;
    }
    split_pairs(from + of.begin, of.count, heavy_.span(), places, light_ + to.light, end - to.light, are_all_);
    of.runs = to.runs;
    to.light += of.count;
    for (unsigned h = 0; h < heavy_.count; ++h) {
      const auto count = static_cast<std::uint64_t>(places.next[h] - begins[h]);
      to.light -= count;
      if (keeps && h == 0) {
        num_kept_ += count;
        continue;
      }
      of.counts[h] = count;
      write_sequence(beside + to.runs, begins[h], count * sizeof(V), stream_);
      to.runs += count;
    }
  }

  /// Makes room for the sort of others that are more than half of the input, because the sample was deceived: their
  /// values go to the end of the input's, and the runs are moved together.
  void make_room(split from, split beside, std::uint64_t num_keys) {
    sorted_.values = from.values + (num_keys - num_light_);
    std::memcpy(static_cast<void*>(sorted_.values), light_.values, num_light_ * sizeof(V));
    std::uint64_t runs_end = 0;
    for (piece_of_pairs& p : pieces_) {
      std::uint64_t count = 0;
      for (const std::uint64_t of_key : p.counts) count += of_key;
      std::memmove(static_cast<void*>(beside.values + runs_end), beside.values + p.runs, count * sizeof(V));
      p.runs = runs_end;
      runs_end += count;
    }
    other_ = {beside.keys, beside.values + runs_end};
  }

  /// Tells where runs and others go.
  void place_runs() {
    cuts_ = places_among(order_, light_.keys, num_light_, heavy_);
    std::uint64_t at = 0;
    for (unsigned h = 0; h < heavy_.count; ++h) {
      at += cuts_[h] - (h == 0 ? 0 : cuts_[h - 1]);
      begins_[h] = at;
      if (h == 0) at += num_kept_;
      for (piece_of_pairs& p : pieces_) {
        p.places[h] = at;
        at += p.counts[h];
      }
      ends_[h] = at;
    }
  }

  void write_runs(const V* runs, const piece_of_pairs& of, V* result) const {
    std::uint64_t at = of.runs;
    for (unsigned h = 0; h < heavy_.count; ++h) {
      write_sequence(result + of.places[h], runs + at, of.counts[h] * sizeof(V), stream_);
      at += of.counts[h];
    }
  }

  void fill_heavy(K* result, const piece& part) const {
    for (unsigned h = 0; h < heavy_.count; ++h) {
      const std::uint64_t begin = std::max(begins_[h], part.begin);
      const std::uint64_t end = std::min(ends_[h], part.begin + part.count);
      if (begin < end) fill_keys(result + begin, end - begin, heavy_.keys[h], stream_);
    }
  }

  /// Writes the values of others before a frequent key, or behind the last one.
  void write_light(unsigned h, V* result) const {
    const std::uint64_t from = h == 0 ? 0 : cuts_[h - 1];
    const std::uint64_t to = h == 0 ? 0 : ends_[h - 1];
    std::memcpy(static_cast<void*>(result + to), light_.values + from, (cuts_[h] - from) * sizeof(V));
  }

  workers& team_;
  Order order_;
  keys::codec_of<K> codec_;
  sort_limits limits_;
  heavy_keys<K> heavy_;  ///< in key order
  bool are_all_ = false;
  bool stream_ = false;
  std::vector<piece_of_pairs> pieces_;
  ends_of_stretch front_;        ///< of the first pieces
  std::uint64_t num_front_ = 0;  ///< how many these are
  std::atomic<std::uint64_t> num_back_ = 0;
  std::atomic<std::uint64_t> claims_ = 0;
  std::uint64_t num_kept_ = 0;  ///< values of the least of the frequent keys that lie at the begin of their own array
  bool are_placed_ = false;     ///< the values of the greater of two keys are in their places, too
  std::uint64_t num_light_ = 0;
  split light_;   ///< the others: keys at the begin of their own array, values in that of the keys beside
  split sorted_;  ///< where they are sorted
  split other_;
  std::array<std::uint64_t, most_heavy_pairs + 1> cuts_ = {};  ///< where frequent keys stand among the others
  std::array<std::uint64_t, most_heavy_pairs> begins_ = {};
  std::array<std::uint64_t, most_heavy_pairs> ends_ = {};
};

}  // namespace spansort::device::host
