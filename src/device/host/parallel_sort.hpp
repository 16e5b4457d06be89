// SPDX-License-Identifier: Apache-2.0
// The host device's local sort: most-significant-digit partition on all threads until buckets fit a thread's cache,
// then in_cache_sort.hpp on each. Traffic per record: one read of the key (count), one read and write (partition), one
// read and write (buckets); ordered and constant inputs cost the first read alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/record_flow.hpp"
#include "device/host/class_sort.hpp"
#include "device/host/few_pairs.hpp"
#include "device/host/in_cache_sort.hpp"
#include "device/host/move_records.hpp"
#include "device/host/repeated_keys.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/sort_watch.hpp"

namespace spansort::device::host {

template <class K, class V, class Order>
class parallel_sorter {
 public:
  using split = split_records<K, V>;

  /// `flow` may be null; else it is told of finished buckets of the only segment.
  parallel_sorter(workers& team, const keys::codec_of<K>& codec, const sort_limits& limits, monitor* watch,
                  base::record_flow* flow = nullptr)
      : team_(team), order_(codec), codec_(codec), limits_(limits), watch_(watch, flow) {}

  local_sort_outcome sort(split source, split alternate, bool result_in_alternate,
                          const std::vector<sort_segment>& segments) {
    const split result = result_in_alternate ? alternate : source;
    outcome_ = {};
    can_stop_ = segments.size() == 1;
    result_ = result;
    if (segments.size() == 1) {
      sort_alone(source, alternate, result, segments.front());
    } else {
      sort_segments(source, alternate, result, segments);
    }
    return outcome_;
  }

 private:
  using in_cache = in_cache_sorter<K, V, Order>;
  static constexpr std::uint64_t record_bytes = sizeof(K) + value_bytes_of<V>;
  static constexpr bool keys_alone = value_bytes_of<V> == 0;

  void sort_alone(split source, split alternate, split result, const sort_segment& s) {
    if (s.bits.empty()) return copy(source + s.begin, result + s.begin, s.count);
    const bool in_vectors = in_cache::sorts_in_vectors(s.count, s.bits) || in_cache::sorts_as_words(s.count, s.bits);
    const std::uint64_t inline_count =
        in_vectors ? inline_keys(limits_, sizeof(K), value_bytes_of<V>) : limits_.inline_keys;
    if (s.count <= inline_count && s.count <= in_cache::max_keys) {
      sort_small(source + s.begin, result + s.begin, s.count, s.bits);
    } else {
      sort_large(source + s.begin, alternate + s.begin, result + s.begin, s.count, s.bits);
    }
  }

  /// Large segments one after the other on all threads, then the others a thread each.
  void sort_segments(split source, split alternate, split result, const std::vector<sort_segment>& segments) {
    std::vector<sort_segment> small;
    std::uint64_t num_small_keys = 0;
    for (const sort_segment& s : segments) {
      if (s.bits.empty() || (s.count > local_keys() && !is_one_threads_work(s.count, s.bits))) {
        sort_alone(source, alternate, result, s);
      } else {
        small.push_back(s);
        num_small_keys += s.count;
      }
    }
    outcome_.shape = input_shape::general;
    sort_each(source, alternate, result, small, num_small_keys);
    if (!small.empty()) outcome_.num_passes = std::max(outcome_.num_passes, 1U);
  }

  /// Returns whether one thread may take a large bucket while the others have as much to do: quicksort finds bounds in
  /// crowds that another digit would not split.
  [[nodiscard]] bool fits_one_thread(const sort_segment& bucket, std::uint64_t num_keys) const {
    return in_cache::sorts_in_vectors(bucket.count, bucket.bits) && bucket.count <= num_keys / team_.num_threads();
  }

  /// Sorts segments of `from`, a thread each. Those that do not fit a thread's caches overwrite `other`.
  void sort_each(split from, split other, split result, const std::vector<sort_segment>& segments,
                 std::uint64_t num_keys) {
    const bool stream = num_keys * record_bytes >= limits_.stream_bytes;
    std::atomic<std::uint64_t> next{0};
    team_.for_each(segments.size(), [&](std::uint64_t i, worker_scratch& scratch) {
      // Whoever takes results away wants them from the begin on, not from where each thread has its share.
      const sort_segment s = segments[!watch_.has_flow() ? i : next.fetch_add(1, std::memory_order_relaxed)];
      in_cache bucket(order_, codec_, scratch, stream);
      if (s.count > in_cache::max_keys) {
        bucket.sort_large(from + s.begin, other + s.begin, result + s.begin, s.count);
      } else {
        bucket.sort(from + s.begin, result + s.begin, s.count, s.bits);
      }
      watch_.advance(s.count);
      hand_over(result + s.begin, s.count);
    });
    add_moves(num_keys, 2);
  }

  [[nodiscard]] std::uint64_t local_keys() const {
    return std::min(in_cache::max_keys, 8 * limits_.bucket_bytes / record_bytes);
  }

  void sort_small(split source, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if (sort_few_pairs(source, source, result, num_keys, bits)) return;
    const repeats<K> seen = look_for_repeats(source, num_keys, bits);
    if (seen.few.count != 0 && !seen.sample_is_ordered && sort_few(source, result, num_keys, seen.few)) return;
    if (finish_ordered(scan_order(codec_, source.keys, num_keys), source, result, num_keys, bits)) return;
    team_.for_each(1, [&](std::uint64_t, worker_scratch& scratch) {
      in_cache(order_, codec_, scratch, false).sort(source, result, num_keys, bits);
    });
    outcome_.num_passes = 1;
    add_moves(num_keys, 2);
  }

  void sort_large(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if (sort_few_pairs(source, alternate, result, num_keys, bits)) return;
    if (sort_heavy_pairs(source, alternate, result, num_keys, bits)) return;
    const repeats<K> seen = look_for_repeats(source, num_keys, bits);
    if (seen.few.count != 0 && !seen.sample_is_ordered && sort_few(source, result, num_keys, seen.few)) return;
    if (num_keys <= in_cache::max_keys && team_.num_threads() == 1 && limits_.vector_alone_keys != 0 &&
        in_cache::sorts_as_words(num_keys, bits)) {
      return sort_small(source, result, num_keys, bits);
    }
    if (is_one_threads_work(num_keys, bits) || is_one_threads_heavy_work(num_keys, bits, seen)) {
      outcome_.bytes_moved += num_keys * sizeof(K);
      if (finish_ordered(scan_order(codec_, source.keys, num_keys), source, result, num_keys, bits)) return;
      if (can_stop_) watch_.stop_if_asked();
      if (seen.few.count != 0 && seen.sample_is_ordered && sort_few(source, result, num_keys, seen.few)) return;
      return sort_by_one_thread(source, alternate, result, num_keys);
    }
    if constexpr (keys_alone && sizeof(K) >= 4) {
      if (in_cache::sorts_in_vectors(num_keys, bits) && has_memory_for_classes(num_keys)) {
        if (sort_narrow(source, result, num_keys, bits)) return;
        return sort_by_classes(source, alternate, result, num_keys, seen);
      }
    }
    if (seen.has_heavy && !seen.sample_is_ordered && sort_light(source, alternate, result, num_keys, bits)) return;
    level_counts<K> level = counter().count(source.keys, num_keys, bits, 1);
    outcome_.bytes_moved += num_keys * sizeof(K);
    if (finish_ordered(level.order, source, result, num_keys, bits)) return;
    if (can_stop_) watch_.stop_if_asked();
    if (seen.any() && seen.sample_is_ordered && sort_repeats(source, alternate, result, num_keys, bits, seen)) return;
    sort_level(source, alternate, result, num_keys, bits.begin, level, 1);
  }

  /// Counts and writes keys that differ in few low bits, as a sample says. Returns false, with nothing written, where
  /// they do not, or where they are in order.
  bool sort_narrow(split source, split result, std::uint64_t num_keys, keys::bit_range bits) {
    const std::vector<K> sample = sample_encoded(order_, source.keys, num_keys, 256);
    K differing = 0;
    for (const K key : sample) differing = static_cast<K>(differing | (key ^ sample[0]));
    if (!can_fill(num_keys, static_cast<unsigned>(std::bit_width(differing)))) return false;
    level_counts<K> level = counter().count(source.keys, num_keys, bits, 1);
    outcome_.bytes_moved += num_keys * sizeof(K);
    if (level.order.any()) return finish_ordered(level.order, source, result, num_keys, bits);
    return fill_instead(source, result, num_keys, level, can_stop_);
  }

  /// Returns whether keys that differ in so many low bits are written by their counts.
  [[nodiscard]] static bool can_fill(std::uint64_t num_keys, unsigned differing_end) {
    constexpr unsigned widest = 16;
    return differing_end <= widest && num_keys >= (std::uint64_t{4} << differing_end);
  }

  [[nodiscard]] bool has_memory_for_classes(std::uint64_t num_keys) const {
    return num_keys * sizeof(K) >= limits_.class_memory_parts * team_.num_threads() * spare_block_bytes;
  }

  /// Sorts keys alone in vectors, on all threads.
  void sort_by_classes(split source, split alternate, split result, std::uint64_t num_keys, const repeats<K>& seen) {
    if (seen.sample_is_ordered) {
      outcome_.bytes_moved += num_keys * sizeof(K);
      const order_flags order = find_order(team_, codec_, cut(num_keys), source.keys);
      if (finish_ordered(order, source, result, num_keys, {0, sizeof(K) * 8})) return;
      if (seen.few.count != 0 && sort_few(source, result, num_keys, seen.few)) return;
    }
    // Keys that have to be copied at the end are not in their place before.
    const bool in_place = source.keys == result.keys;
    class_sorter<K, Order>(team_, codec_, limits_, in_place ? watch_ : watch_.without_flow(), outcome_)
        .sort(source.keys, alternate.keys, num_keys, static_cast<std::uint64_t>(result.keys - result_.keys), can_stop_,
              seen.has_heavy);
    copy(source, result, num_keys);
  }

  /// Returns whether one thread sorts alone: up to some size its quicksort in vectors is faster than a partition on two
  /// threads.
  [[nodiscard]] bool is_one_threads_work(std::uint64_t num_keys, keys::bit_range bits) const {
    if (limits_.vector_alone_keys == 0 || !in_cache::sorts_in_vectors(num_keys, bits)) return false;
    constexpr unsigned most_threads = 2;
    return team_.num_threads() <= most_threads && num_keys <= limits_.vector_alone_keys;
  }

  /// Returns whether keys that repeat are left to the quicksort of the only thread: AND of 4 words, u32, takes 1.7 ns a
  /// key with 2^21 keys and 1.8 with 2^22, against 2.0 and 1.9 where heavy values are counted; with 2^24 it is slower.
  [[nodiscard]] bool is_one_threads_heavy_work(std::uint64_t num_keys, keys::bit_range bits,
                                               const repeats<K>& seen) const {
    if (limits_.vector_alone_keys == 0 || sizeof(K) != 4 || !seen.has_heavy) return false;
    return team_.num_threads() == 1 && num_keys <= 4 * limits_.vector_alone_keys &&
           in_cache::sorts_in_vectors(num_keys, bits);
  }

  void sort_by_one_thread(split source, split alternate, split result, std::uint64_t num_keys) {
    team_.for_each(1, [&](std::uint64_t, worker_scratch& scratch) {
      in_cache(order_, codec_, scratch, false).sort_large(source, alternate, result, num_keys);
    });
    outcome_.num_passes = 1;
    add_moves(num_keys, 2);
    watch_.advance(num_keys);
  }

  /// None where counting values would not sort the whole.
  [[nodiscard]] repeats<K> look_for_repeats(split source, std::uint64_t num_keys, keys::bit_range bits) {
    if constexpr (keys_alone && sizeof(K) >= 4) {
      if (bits.begin == 0) return repeated().look(source.keys, num_keys);
    }
    return {};
  }

  bool sort_repeats(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits,
                    const repeats<K>& seen) {
    if (seen.few.count != 0 && sort_few(source, result, num_keys, seen.few)) return true;
    return seen.has_heavy && sort_light(source, alternate, result, num_keys, bits);
  }

  /// Counts the values and writes them, unless another key is among them: then nothing has been written.
  bool sort_few(split source, split result, std::uint64_t num_keys, const few_values<K>& few) {
    if constexpr (keys_alone && sizeof(K) >= 4) {
      const std::vector<std::uint64_t> ends = repeated().count_few(source.keys, num_keys, few);
      outcome_.bytes_moved += num_keys * sizeof(K);
      if (ends.empty()) return false;
      if (can_stop_) watch_.stop_if_asked();
      repeated().write_values(result.keys, num_keys, ends, [&](std::uint64_t v) { return few.keys[v]; });
      outcome_.bytes_moved += num_keys * sizeof(K);
      watch_.advance(num_keys);
      return true;
    }
    return false;
  }

  /// Pairs of a few keys: moves the values only. `alternate` is the source where the caller has no other array.
  bool sort_few_pairs(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if constexpr (!keys_alone && sizeof(K) >= 4) {
      if (bits.begin != 0 || num_keys < limits_.few_values_keys) return false;
      const bool in_place = source.keys == result.keys;
      if (in_place && alternate.keys == source.keys) return false;
      const few_values<K> few = sample_classes(order_, source.keys, num_keys);
      if (few.count == 0 || few.sample_is_ordered) return false;
      few_pairs_sorter<K, V, Order> sorter(team_, order_, limits_);
      const std::vector<std::uint64_t> ends = sorter.count(source.keys, num_keys, few);
      outcome_.bytes_moved += num_keys * sizeof(K);
      if (ends.empty()) return false;
      if (can_stop_) watch_.stop_if_asked();
      V* const moved = in_place ? alternate.values : result.values;
      sorter.move_values(source, moved, few);
      if (can_stop_ && in_place) watch_.stop_if_asked();
      sorter.write(moved, result, num_keys, few, ends);
      outcome_.num_passes = 1;
      add_moves(num_keys, 2);
      watch_.advance(num_keys);
      return true;
    }
    return false;
  }

  /// Pairs of which heavy keys make up much, in place: moves their values, and sorts the others.
  bool sort_heavy_pairs(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if constexpr (!keys_alone && sizeof(K) >= 4) {
      if (bits.begin != 0 || source.keys != result.keys || num_keys < limits_.few_values_keys) return false;
      heavy_pairs_sorter<K, V, Order> sorter(team_, order_, codec_, limits_);
      if (!sorter.count(source.keys, num_keys)) return false;
      outcome_.bytes_moved += num_keys * sizeof(K);
      if (can_stop_) watch_.stop_if_asked();
      const std::uint64_t num_light = sorter.move(source, alternate, num_keys);
      if (can_stop_) watch_.stop_if_asked();
      // The others overwrite the source, and are not in their places when they are sorted.
      const sort_watch watch = std::exchange(watch_, watch_.without_flow());
      const bool could_stop = std::exchange(can_stop_, false);
      if (num_light > (team_.num_threads() == 1 ? local_keys() : limits_.inline_keys)) {
        sort_large(alternate, source, alternate, num_light, bits);
      } else if (num_light != 0) {
        sort_each(alternate, source, alternate, {{0, num_light, bits}}, num_light);
      }
      watch_ = watch;
      can_stop_ = could_stop;
      sorter.write(alternate, num_light, result, num_keys);
      outcome_.num_passes = std::max(outcome_.num_passes, 1U);
      add_moves(num_keys, 4);
      watch_.advance(num_keys - num_light);
      return true;
    }
    return false;
  }

  /// Counts the heavy values, sorts the other keys, and writes both.
  bool sort_light(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if constexpr (keys_alone && sizeof(K) >= 4) {
      const heavy_values<K> heavy = repeated().choose_heavy(source.keys, num_keys);
      if (heavy.values().empty()) return false;
      const auto found = repeated().filter(source.keys, num_keys, heavy, alternate.keys);
      if (can_stop_) watch_.stop_if_asked();
      const std::uint64_t num_light = repeated().gather_light(alternate.keys, found, source.keys);
      const split sorted = result.keys == source.keys ? alternate : source;
      // Light keys that are sorted are not in their places yet.
      const sort_watch watch = std::exchange(watch_, watch_.without_flow());
      if (num_light > local_keys() && is_one_threads_work(num_light, bits)) {
        sort_by_one_thread(source, alternate, sorted, num_light);
      } else if (num_light > local_keys()) {
        level_counts<K> level = counter().count(source.keys, num_light, bits, 2);
        sort_level(source, alternate, sorted, num_light, bits.begin, level, 2);
      } else if (num_light != 0) {
        sort_each(source, alternate, sorted, {{0, num_light, bits}}, num_light);
      }
      watch_ = watch;
      repeated().write_merged(sorted.keys, num_light, heavy, found, result.keys, num_keys);
      outcome_.num_passes = std::max(outcome_.num_passes, 1U);
      outcome_.bytes_moved += 2 * (num_keys + num_light) * sizeof(K);
      watch_.advance(num_keys - num_light);
      return true;
    }
    return false;
  }

  /// Takes the shortcut that the input's order allows.
  bool finish_ordered(order_flags flags, split source, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if (flags.ascending) {
      outcome_.shape = flags.descending ? input_shape::constant : input_shape::sorted;
      copy(source, result, num_keys);
      return true;
    }
    // Keys that tie on the range asked for must not change places: only whole keys can be reversed.
    if (bits.begin != 0 || !(keys_alone ? flags.descending : flags.strictly_descending)) return false;
    outcome_.shape = input_shape::reversed;
    reverse(source, result, num_keys);
    return true;
  }

  /// Sorts what has been counted. On the first level nothing of the source has been overwritten yet: it can stop.
  void sort_level(split source, split alternate, split result, std::uint64_t num_keys, unsigned begin_bit,
                  level_counts<K>& level, unsigned depth) {
    const bool can_stop = can_stop_ && depth == 1;
    if (level.digit.num_buckets() == 1) return copy(source, result, num_keys);
    if (keys_alone && begin_bit == 0 && fill_instead(source, result, num_keys, level, can_stop)) return;
    const std::vector<std::uint64_t> positions = positions_of(level);
    partition(source, alternate, num_keys, level, positions, can_stop);
    if (can_stop) watch_.stop_if_asked();
    sort_buckets(source, alternate, result, num_keys, begin_bit, level, positions, depth);
  }

  void partition(split source, split alternate, std::uint64_t num_keys, const level_counts<K>& level,
                 const std::vector<std::uint64_t>& positions, bool can_stop) {
    const std::uint64_t num_buckets = level.digit.num_buckets();
    const std::uint64_t least_bytes = keys_alone ? limits_.stream_bytes : limits_.stream_pairs_bytes;
    const bool stream = num_keys * record_bytes >= least_bytes;
    level.digit.template visit<!keys_alone>([&](const auto& digit) {
      team_.for_each(level.pieces.size(), [&](std::uint64_t i, worker_scratch& scratch) {
        if (can_stop && watch_.stopping()) return;
        std::vector<split> destinations(num_buckets);
        for (std::uint64_t b = 0; b < num_buckets; ++b) destinations[b] = alternate + positions[i * num_buckets + b];
        const piece part = level.pieces[i];
        partition_records(order_, scratch, stream, source + part.begin, part.count, digit, destinations.data());
        watch_.advance(part.count);
      });
    });
    add_moves(num_keys, 2);
  }

  /// Buckets lie partitioned in `alternate`; large ones get another level, the others a thread each.
  void sort_buckets(split source, split alternate, split result, std::uint64_t num_keys, unsigned begin_bit,
                    const level_counts<K>& level, const std::vector<std::uint64_t>& positions, unsigned depth) {
    outcome_.num_passes = std::max(outcome_.num_passes, depth + 1);
    const unsigned shift = level.digit.shift();
    if (!level.digit.is_chosen_by_rank() && shift == begin_bit) return copy(alternate, result, num_keys);
    std::vector<sort_segment> small;
    std::vector<sort_segment> large;
    std::uint64_t num_small_keys = 0;
    const std::uint64_t num_buckets = level.digit.num_buckets();
    for (std::uint64_t b = 0; b < num_buckets; ++b) {
      const std::uint64_t end = b + 1 == num_buckets ? num_keys : positions[b + 1];
      const unsigned end_bit = level.digit.is_exact(b) ? shift : level.differing_end;
      const sort_segment found{positions[b], end - positions[b], {begin_bit, end_bit}};
      if (found.count == 0) continue;
      if (found.count > local_keys() && !fits_one_thread(found, num_keys)) {
        large.push_back(found);
      } else {
        small.push_back(found);
        num_small_keys += found.count;
      }
    }
    for (const sort_segment& b : large) {
      sort_again(source + b.begin, alternate + b.begin, result + b.begin, b.count, b.bits, depth + 1);
      hand_over(result + b.begin, b.count);
    }
    if (!watch_.has_flow()) {  // the longest tasks first, so that nobody waits for one that began last
      std::stable_partition(small.begin(), small.end(), [&](const sort_segment& b) { return b.count > local_keys(); });
    }
    sort_each(alternate, source, result, small, num_small_keys);
  }

  /// Another level for a bucket that lies in `alternate`.
  void sort_again(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits,
                  unsigned depth) {
    level_counts<K> level = counter().count(alternate.keys, num_keys, bits, depth);
    outcome_.bytes_moved += num_keys * sizeof(K);
    sort_level(alternate, source, result, num_keys, bits.begin, level, depth);
  }

  /// Few distinct keys, keys alone: writes them by their counts instead of moving them.
  bool fill_instead(split source, split result, std::uint64_t num_keys, level_counts<K>& level, bool can_stop) {
    if constexpr (!keys_alone) return false;
    const unsigned end = level.differing_end;
    if (!can_fill(num_keys, end)) return false;
    const std::vector<std::uint64_t> ends = count_ends(source.keys, num_keys, level, end);
    if (can_stop) watch_.stop_if_asked();
    const K above = static_cast<K>(order_.encode(source.keys[0]) & ~static_cast<K>(base::low_mask(end)));
    repeated().write_values(result.keys, num_keys, ends, [&](std::uint64_t value) {
      return order_.store(static_cast<K>(above | static_cast<K>(value)));
    });
    watch_.advance(num_keys);
    outcome_.bytes_moved += num_keys * sizeof(K);
    return true;
  }

  /// Returns where the keys of each value of the low `bits` bits end in the sorted whole.
  std::vector<std::uint64_t> count_ends(const K* keys, std::uint64_t num_keys, level_counts<K>& level, unsigned bits) {
    const std::uint64_t num_values = std::uint64_t{1} << bits;
    if (level.digit.is_chosen_by_rank() || level.digit.shift() != 0) {
      level_digit<K> whole;
      whole.bits = bit_digit<K>({0, bits});
      level = counter().count_digit(keys, num_keys, whole, bits, bits, false);
    }
    std::vector<std::uint64_t> ends(num_values, 0);
    std::uint64_t end = 0;
    for (std::uint64_t value = 0; value < num_values; ++value) {
      for (std::uint64_t p = 0; p < level.pieces.size(); ++p) end += level.counts[p * num_values + value];
      ends[value] = end;
    }
    return ends;
  }

  void copy(split source, split result, std::uint64_t num_keys) {
    if (source.keys == result.keys) return;
    copy_records(team_, cut(num_keys), source, result);
    outcome_.bytes_moved += 2 * num_keys * record_bytes;
  }

  void reverse(split source, split result, std::uint64_t num_keys) {
    reverse_records(team_, cut(source.keys == result.keys ? num_keys / 2 : num_keys), source, result, num_keys);
    outcome_.bytes_moved += 2 * num_keys * record_bytes;
  }

  [[nodiscard]] std::vector<piece> cut(std::uint64_t num_keys) const {
    return cut_into_pieces(num_keys, team_.num_threads(), limits_.piece_keys);
  }
  [[nodiscard]] repeated_keys_sorter<K, Order> repeated() { return {team_, order_, limits_}; }
  [[nodiscard]] level_counter<K, V, Order> counter() { return {team_, order_, codec_, limits_}; }

  void add_moves(std::uint64_t num_keys, std::uint64_t moves) {
    outcome_.bytes_moved += moves * num_keys * record_bytes;
  }

  void hand_over(split finished, std::uint64_t num_keys) {
    watch_.hand_over(static_cast<std::uint64_t>(finished.keys - result_.keys), num_keys);
  }

  workers& team_;
  Order order_;
  keys::codec_of<K> codec_;
  sort_limits limits_;
  sort_watch watch_;
  split result_ = {};  ///< of the whole request
  local_sort_outcome outcome_;
  bool can_stop_ = false;  ///< the first level of the only segment has overwritten nothing yet
};

}  // namespace spansort::device::host
