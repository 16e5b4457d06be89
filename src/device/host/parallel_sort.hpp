// SPDX-License-Identifier: Apache-2.0
// The host device's local sort chooses a way here: the order that the input has already, counted values, one thread's
// vectors, classes (class_sort.hpp), or levels of counted digits (level_sort.hpp). Ordered and constant inputs cost one
// read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/record_flow.hpp"
#include "device/host/class_sort.hpp"
#include "device/host/dictionary_pairs.hpp"
#include "device/host/few_pairs.hpp"
#include "device/host/heavy_pieces.hpp"
#include "device/host/heavy_split.hpp"
#include "device/host/level_sort.hpp"
#include "device/host/presorted.hpp"
#include "device/host/sort_call.hpp"
#include "device/host/tiled_pairs.hpp"

namespace spansort::device::host {

template <class K, class V, class Order>
class parallel_sorter {
 public:
  using split = split_records<K, V>;

  /// `flow` may be null; else it is told of finished buckets of the only segment.
  parallel_sorter(workers& team, const keys::codec_of<K>& codec, const sort_limits& limits, monitor* watch,
                  base::record_flow* flow = nullptr)
      : call_{team, Order(codec), codec, limits, sort_watch(watch, flow)} {}

  local_sort_outcome sort(split source, split alternate, bool result_in_alternate,
                          const std::vector<sort_segment>& segments) {
    const split result = result_in_alternate ? alternate : source;
    call_.outcome = {};
    call_.can_stop = segments.size() == 1;
    call_.whole_result = result;
    if (segments.size() == 1) {
      sort_alone(source, alternate, result, segments.front());
    } else {
      sort_segments(source, alternate, result, segments);
    }
    return call_.outcome;
  }

 private:
  using call = sort_call<K, V, Order>;
  using in_cache = typename call::in_cache;
  static constexpr bool keys_alone = call::keys_alone;

  void sort_alone(split source, split alternate, split result, const sort_segment& s) {
    if (s.bits.empty()) return call_.copy(source + s.begin, result + s.begin, s.count);
    const bool in_vectors = in_cache::sorts_in_vectors(s.count, s.bits) || in_cache::sorts_as_words(s.count, s.bits);
    const std::uint64_t inline_count =
        in_vectors ? inline_keys(call_.limits, sizeof(K), value_bytes_of<V>) : call_.limits.inline_keys;
    if (s.count <= inline_count && s.count <= in_cache::max_keys) {
      sort_in_any_case(call_.order, source + s.begin, alternate + s.begin, result + s.begin, s.count, s.bits.begin,
                       [&] { sort_small(source + s.begin, alternate + s.begin, result + s.begin, s.count, s.bits); });
    } else {
      sort_large(source + s.begin, alternate + s.begin, result + s.begin, s.count, s.bits);
    }
  }

  /// Large segments one after the other on all threads, then the others a thread each.
  void sort_segments(split source, split alternate, split result, const std::vector<sort_segment>& segments) {
    std::vector<sort_segment> small;
    std::uint64_t num_small_keys = 0;
    bool has_memory = true;
    try {
      small.reserve(segments.size());
    } catch (const std::bad_alloc&) {
      has_memory = false;
    }
    for (const sort_segment& s : segments) {
      if (s.bits.empty() || (s.count > call_.local_keys() && !is_one_threads_work(s.count, s.bits))) {
        sort_alone(source, alternate, result, s);
        continue;
      }
      num_small_keys += s.count;
      if (has_memory) {
        small.push_back(s);
      } else {
        levels_.sort_each(source, alternate, result, {&s, 1}, s.count);
      }
    }
    call_.outcome.shape = input_shape::general;
    levels_.sort_each(source, alternate, result, small, num_small_keys);
    if (num_small_keys != 0) call_.outcome.num_passes = std::max(call_.outcome.num_passes, 1U);
  }

  void sort_small(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if (merge_few_runs(source, alternate, result, num_keys, bits, as_one_piece{})) return;
    if (sort_few_pairs(source, source, result, num_keys, bits)) return;
    const repeats<K> seen = look_for_repeats(source, num_keys, bits);
    if (seen.few.count != 0 && !seen.sample_is_ordered && sort_few(source, result, num_keys, seen.few)) return;
    if (call_.finish_ordered(scan_order(call_.codec, source.keys, num_keys), source, result, num_keys, bits)) return;
    call_.team.for_each(1, [&](std::uint64_t, worker_scratch& scratch) {
      in_cache(call_.order, call_.codec, scratch, false).sort(source, result, num_keys, bits);
    });
    call_.outcome.num_passes = 1;
    call_.add_moves(num_keys, 2);
  }

  void sort_large(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits) {
    sort_in_any_case(call_.order, source, alternate, result, num_keys, bits.begin,
                     [&] { choose_way(source, alternate, result, num_keys, bits); });
  }

  /// Throws std::bad_alloc only while the source is whole, as all ways do: they take what memory they need before they
  /// overwrite it, and sort parts of it in any case.
  void choose_way(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits) {
    const in_pieces each{call_.team, call_.limits.piece_keys};
    if (merge_few_runs(source, alternate, result, num_keys, bits, each)) return;
    if (sort_nearly_ordered(source, alternate, result, num_keys, bits)) return;
    if (sort_runs_in_buckets(source, alternate, result, num_keys, bits)) return;
    if (sort_around_heavy(source, alternate, result, num_keys, bits)) return;
    if (sort_few_pairs(source, alternate, result, num_keys, bits)) return;
    if (sort_heavy_pairs(source, alternate, result, num_keys, bits)) return;
    if (sort_by_dictionary(source, alternate, result, num_keys, bits)) return;
    if (sort_in_tiles(source, alternate, result, num_keys, bits)) return;
    const repeats<K> seen = look_for_repeats(source, num_keys, bits);
    if (seen.few.count != 0 && !seen.sample_is_ordered && sort_few(source, result, num_keys, seen.few)) return;
    if (are_one_threads_words(source.keys, num_keys, bits))
      return sort_small(source, alternate, result, num_keys, bits);
    if (is_one_threads_work(num_keys, bits) || is_one_threads_heavy_work(num_keys, bits, seen)) {
      call_.outcome.bytes_moved += num_keys * sizeof(K);
      if (call_.finish_ordered(scan_order(call_.codec, source.keys, num_keys), source, result, num_keys, bits)) return;
      if (call_.can_stop) call_.watch.stop_if_asked();
      if (seen.few.count != 0 && seen.sample_is_ordered && sort_few(source, result, num_keys, seen.few)) return;
      return sort_by_one_thread(source, alternate, result, num_keys);
    }
    if constexpr (keys_alone && sizeof(K) >= 4) {
      if (in_cache::sorts_in_vectors(num_keys, bits) && are_worth_classes(source.keys, num_keys)) {
        if (sort_narrow(source, result, num_keys, bits)) return;
        return sort_by_classes(source, alternate, result, num_keys, seen);
      }
    }
    if (seen.has_heavy && !seen.sample_is_ordered && sort_light(source, alternate, result, num_keys, bits)) return;
    level_counts<K> level = call_.counter().count(source.keys, num_keys, bits, 1);
    call_.outcome.bytes_moved += num_keys * sizeof(K);
    if (call_.finish_ordered(level.order, source, result, num_keys, bits)) return;
    if (call_.can_stop) call_.watch.stop_if_asked();
    if (seen.any() && seen.sample_is_ordered && sort_repeats(source, alternate, result, num_keys, bits, seen)) return;
    levels_.sort_level(source, alternate, result, num_keys, bits.begin, level, 1);
  }

  /// Merges a few runs that ascend, on all threads or on the calling one, and sorts what is appended to a long one.
  /// Returns false, with nothing written, where there are others.
  template <class Each>
  [[gnu::noinline]] bool merge_few_runs(split source, split alternate, split result, std::uint64_t num_keys,
                                        keys::bit_range bits, const Each& each) {
    if constexpr (sizeof(K) >= 4) {
      if (bits.begin != 0 || alternate.keys == source.keys) return false;
      return presorted_records<K, V, Order>(call_, source, alternate, result, num_keys)
          .merge_runs(each, [&](split tail, split other, std::uint64_t count) {
            sort_moved(tail, other, count, bits, call_.can_stop);  // a copy
          });
    }
    return false;
  }

  /// Sorts what is in order but for a few keys. Returns false, with nothing done, where there are others.
  [[gnu::noinline]] bool sort_nearly_ordered(split source, split alternate, split result, std::uint64_t num_keys,
                                             keys::bit_range bits) {
    if constexpr (sizeof(K) >= 4) {
      if (bits.begin != 0 || alternate.keys == source.keys) return false;
      const auto sort_misplaced = [&](const auto& misplaced, const auto& spare, std::uint64_t count) {
        parallel_sorter<K, misplaced_value<V>, Order>(call_.team, call_.codec, call_.limits, nullptr)
            .sort(misplaced, spare, false, {{0, count, bits}});
        if (call_.can_stop) call_.watch.stop_if_asked();
      };
      return presorted_records<K, V, Order>(call_, source, alternate, result, num_keys)
          .sort_nearly_ordered(sort_misplaced);
    }
    return false;
  }

  /// Partitions many runs that ascend. Returns false, with nothing of the source written, where there are others.
  [[gnu::noinline]] bool sort_runs_in_buckets(split source, split alternate, split result, std::uint64_t num_keys,
                                              keys::bit_range bits) {
    if constexpr (sizeof(K) >= 4) {
      if (bits.begin != 0 || alternate.keys == source.keys) return false;
      using samples = split_records<K, value4>;
      const auto sort_samples = [&](samples found, samples spare, std::uint64_t count) {
        parallel_sorter<K, value4, bijective_order<K>>(call_.team, keys::codec_of<K>(), call_.limits, nullptr)
            .sort(found, spare, false, {{0, count, bits}});
      };
      return presorted_records<K, V, Order>(call_, source, alternate, result, num_keys)
          .sort_in_buckets(sort_samples, [&](std::span<const sort_segment> buckets) {
            levels_.sort_each(alternate, source, result, buckets, num_keys);
          });
    }
    return false;
  }

  /// Counts and writes keys that differ in few low bits, as a sample says. Returns false, with nothing written, where
  /// they do not, or where they are in order.
  bool sort_narrow(split source, split result, std::uint64_t num_keys, keys::bit_range bits) {
    const std::vector<K> sample = sample_encoded(call_.order, source.keys, num_keys, 256);
    K differing = 0;
    for (const K key : sample) differing = static_cast<K>(differing | (key ^ sample[0]));
    if (!levels_.can_fill(num_keys, static_cast<unsigned>(std::bit_width(differing)))) return false;
    level_counts<K> level = call_.counter().count(source.keys, num_keys, bits, 1);
    call_.outcome.bytes_moved += num_keys * sizeof(K);
    if (level.order.any()) return call_.finish_ordered(level.order, source, result, num_keys, bits);
    return levels_.fill_instead(source, result, num_keys, level, call_.can_stop);
  }

  /// Classes cost their threads more than exact buckets do, and cut keys of any distribution into equal parts: 16
  /// threads took 1.2 ms for 2^20 even u64 and 0.9 by levels, but 3.6 ms for 2^22 times the AND of four words and 10.
  [[nodiscard]] bool are_worth_classes(const K* keys, std::uint64_t num_keys) const {
    constexpr std::uint64_t most_even_keys = std::uint64_t{1} << 16;  // of each thread
    if (!has_memory_for_classes(num_keys)) return false;
    if (call_.limits.class_memory_parts == 0 || num_keys > most_even_keys * call_.team.num_threads()) return true;
    return !sample_lies_evenly(keys, num_keys);
  }

  [[nodiscard]] bool sample_lies_evenly(const K* keys, std::uint64_t num_keys) const {
    std::vector<K> sample = sample_encoded(call_.order, keys, num_keys, 1024);
    sort_sample(call_.team, sample);
    return lies_evenly<K>(sample);
  }

  [[nodiscard]] bool has_memory_for_classes(std::uint64_t num_keys) const {
    return num_keys * sizeof(K) >= call_.limits.class_memory_parts * call_.team.num_threads() * least_spare_block_bytes;
  }

  /// Sorts keys alone in vectors, on all threads.
  void sort_by_classes(split source, split alternate, split result, std::uint64_t num_keys, const repeats<K>& seen) {
    if (seen.sample_is_ordered) {
      call_.outcome.bytes_moved += num_keys * sizeof(K);
      const order_flags order = find_order(call_.team, call_.codec, call_.cut(num_keys), source.keys);
      if (call_.finish_ordered(order, source, result, num_keys, {0, sizeof(K) * 8})) return;
      if (seen.few.count != 0 && sort_few(source, result, num_keys, seen.few)) return;
    }
    // Keys that have to be copied at the end are not in their place before.
    const bool in_place = source.keys == result.keys;
    class_sorter<K, Order>(call_.team, call_.codec, call_.limits, in_place ? call_.watch : call_.watch.without_flow(),
                           call_.outcome)
        .sort(source.keys, alternate.keys, num_keys, static_cast<std::uint64_t>(result.keys - call_.whole_result.keys),
              call_.can_stop, seen.has_heavy);
    call_.copy(source, result, num_keys);
  }

  /// Returns whether one thread sorts alone: up to some size its quicksort in vectors is faster than a partition on two
  /// threads.
  [[nodiscard]] bool is_one_threads_work(std::uint64_t num_keys, keys::bit_range bits) const {
    if (call_.limits.vector_alone_keys == 0 || !in_cache::sorts_in_vectors(num_keys, bits)) return false;
    constexpr unsigned most_threads = 2;
    return call_.team.num_threads() <= most_threads && num_keys <= call_.limits.vector_alone_keys;
  }

  /// Returns whether the only thread sorts pairs as words in its scratch, which has room for twice as many that lie
  /// evenly (2^18 u32(u32) of the AND of two words took 10.3 ns a pair without words, and 6.9 in parts).
  [[nodiscard]] bool are_one_threads_words(const K* keys, std::uint64_t num_keys, keys::bit_range bits) const {
    if (num_keys > in_cache::max_keys || call_.team.num_threads() != 1 || call_.limits.vector_alone_keys == 0) {
      return false;
    }
    return in_cache::sorts_as_words(num_keys, bits) && (num_keys <= max_words || sample_lies_evenly(keys, num_keys));
  }

  /// Returns whether keys that repeat are left to the quicksort of the only thread: AND of 4 words, u32, takes 1.7 ns a
  /// key with 2^21 keys and 1.8 with 2^22, against 2.0 and 1.9 where heavy values are counted; with 2^24 it is slower.
  [[nodiscard]] bool is_one_threads_heavy_work(std::uint64_t num_keys, keys::bit_range bits,
                                               const repeats<K>& seen) const {
    if (call_.limits.vector_alone_keys == 0 || sizeof(K) != 4 || !seen.has_heavy) return false;
    return call_.team.num_threads() == 1 && num_keys <= 4 * call_.limits.vector_alone_keys &&
           in_cache::sorts_in_vectors(num_keys, bits);
  }

  void sort_by_one_thread(split source, split alternate, split result, std::uint64_t num_keys) {
    call_.team.for_each(1, [&](std::uint64_t, worker_scratch& scratch) {
      in_cache(call_.order, call_.codec, scratch, false).sort_large(source, alternate, result, num_keys);
    });
    call_.outcome.num_passes = 1;
    call_.add_moves(num_keys, 2);
    call_.watch.advance(num_keys);
  }

  /// None where counting values would not sort the whole.
  [[nodiscard]] repeats<K> look_for_repeats(split source, std::uint64_t num_keys, keys::bit_range bits) {
    if constexpr (keys_alone && sizeof(K) >= 4) {
      if (bits.begin == 0) return call_.repeated().look(source.keys, num_keys);
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
      const std::vector<std::uint64_t> ends = call_.repeated().count_few(source.keys, num_keys, few);
      call_.outcome.bytes_moved += num_keys * sizeof(K);
      if (ends.empty()) return false;
      if (call_.can_stop) call_.watch.stop_if_asked();
      call_.repeated().write_values(result.keys, num_keys, ends, [&](std::uint64_t v) { return few.keys[v]; });
      call_.outcome.bytes_moved += num_keys * sizeof(K);
      call_.watch.advance(num_keys);
      return true;
    }
    return false;
  }

  /// Pairs of a few keys: moves the values only. `alternate` is the source where the caller has no other array.
  bool sort_few_pairs(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if constexpr (!keys_alone && sizeof(K) >= 4) {
      if (bits.begin != 0 || num_keys < call_.limits.few_values_keys) return false;
      const bool in_place = source.keys == result.keys;
      if (in_place && alternate.keys == source.keys) return false;
      const few_values<K> few = sample_classes(call_.order, source.keys, num_keys);
      if (few.count == 0 || few.sample_is_ordered) return false;
      if constexpr (have_block_widths<K, V>()) {
        if (in_place && has_value_blocks()) return sort_few_by_blocks(source, alternate, num_keys, few);
      }
      few_pairs_sorter<K, V, Order> sorter(call_.team, call_.order, call_.limits);
      const std::vector<std::uint64_t> ends = sorter.count(source.keys, num_keys, few);
      call_.outcome.bytes_moved += num_keys * sizeof(K);
      if (ends.empty()) return false;
      if (call_.can_stop) call_.watch.stop_if_asked();
      V* const moved = in_place ? alternate.values : result.values;
      sorter.move_values(source, moved, num_keys, few);
      if (call_.can_stop && in_place) call_.watch.stop_if_asked();
      sorter.write(moved, result, num_keys, few, ends);
      call_.outcome.num_passes = 1;
      call_.add_moves(num_keys, 2);
      call_.watch.advance(num_keys);
      return true;
    }
    return false;
  }

  /// Does the same in place, by one read of the keys.
  bool sort_few_by_blocks(split source, split alternate, std::uint64_t num_keys, const few_values<K>& few) {
    few_blocks_sorter<V, Order> sorter(call_.team, call_.order, call_.limits);
    const std::vector<std::uint64_t> ends = sorter.move(source, alternate.values, num_keys, few);
    call_.outcome.bytes_moved += num_keys * sizeof(K);
    if (ends.empty()) return false;
    if (call_.can_stop) call_.watch.stop_if_asked();
    sorter.write(alternate.values, source, num_keys, few, ends);
    call_.outcome.num_passes = 1;
    call_.add_moves(num_keys, 2);
    call_.watch.advance(num_keys);
    return true;
  }

  /// Pairs that are mostly of some frequent keys, in place.
  [[gnu::noinline]] bool sort_around_heavy(split source, split alternate, split result, std::uint64_t num_keys,
                                           keys::bit_range bits) {
    if constexpr (sizeof(K) >= 4 && sizeof(K) == value_bytes_of<V>) {
      if (bits.begin != 0 || source.keys != result.keys || alternate.keys == source.keys) return false;
      if (num_keys < call_.limits.few_values_keys || !looks_around_heavy_) return false;
      heavy_pieces_sorter<K, V, Order> sorter(call_.team, call_.order, call_.codec, call_.limits);
      if (!sorter.choose(source.keys, num_keys)) return false;
      if (call_.can_stop) call_.watch.stop_if_asked();
      const std::uint64_t num_light = sorter.set_apart(source, alternate, num_keys);
      const bool looked = std::exchange(looks_around_heavy_, is_worth_another_look(num_keys, num_light));
      sort_moved(sorter.light(), sorter.other(), num_light, bits);
      looks_around_heavy_ = looked;
      sorter.write(alternate.values, result, num_keys);
      call_.outcome.num_passes = std::max(call_.outcome.num_passes, 1U);
      call_.add_moves(num_keys, 3);
      call_.watch.advance(num_keys - num_light);
      return true;
    }
    return false;
  }

  /// Pairs of which heavy keys make up much, in place: moves their values, and sorts the others.
  bool sort_heavy_pairs(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if constexpr (!keys_alone && sizeof(K) >= 4) {
      if (bits.begin != 0 || source.keys != result.keys || num_keys < call_.limits.few_values_keys) return false;
      heavy_pairs_sorter<K, V, Order> sorter(call_.team, call_.order, call_.codec, call_.limits);
      if (!sorter.count(source.keys, num_keys)) return false;
      call_.outcome.bytes_moved += num_keys * sizeof(K);
      if (call_.can_stop) call_.watch.stop_if_asked();
      const std::uint64_t num_light = sorter.move(source, alternate, num_keys);
      if (call_.can_stop) call_.watch.stop_if_asked();
      sort_moved(alternate, source, num_light, bits);
      sorter.write(alternate, num_light, result, num_keys);
      call_.outcome.num_passes = std::max(call_.outcome.num_passes, 1U);
      call_.add_moves(num_keys, 4);
      call_.watch.advance(num_keys - num_light);
      return true;
    }
    return false;
  }

  /// Pairs whose keys are mostly those of a dictionary, in place: moves the values of these, and sorts the others.
  [[gnu::noinline]] bool sort_by_dictionary(split source, split alternate, split result, std::uint64_t num_keys,
                                            keys::bit_range bits) {
    if constexpr (!keys_alone && sizeof(K) >= 4) {
      if (bits.begin != 0 || source.keys != result.keys || alternate.keys == source.keys) return false;
      dictionary_pairs_sorter<K, V, Order> sorter(call_.team, call_.order, call_.codec, call_.limits);
      if (!sorter.count(source.keys, num_keys, alternate.keys)) return false;
      call_.outcome.bytes_moved += num_keys * sizeof(K);
      if (call_.can_stop) call_.watch.stop_if_asked();
      const std::uint64_t num_light = sorter.move(source, alternate);
      if (call_.can_stop) call_.watch.stop_if_asked();
      const std::uint64_t num_heavy = num_keys - num_light;
      sort_moved(alternate + num_heavy, source + num_heavy, num_light, bits);
      sorter.write(alternate, result, num_keys);
      call_.outcome.num_passes = std::max(call_.outcome.num_passes, 1U);
      call_.add_moves(num_keys, 4);
      call_.watch.advance(num_heavy);
      return true;
    }
    return false;
  }

  /// Pairs of 32 bits are partitioned tile by tile, in place, where a sample says that this pays. Returns whether they
  /// are sorted.
  [[gnu::noinline]] bool sort_in_tiles(split source, split alternate, split result, std::uint64_t num_keys,
                                       keys::bit_range bits) {
    if constexpr (splitter_sorter::has_widths<K, V>) {
      if (bits.begin != 0 || source.keys != result.keys || alternate.keys == source.keys) return false;
      tiled_pairs_sorter sorter(call_.team, call_.codec, call_.limits);
      if (!sorter.choose(source.keys, num_keys)) return false;
      sorter.partition(source, alternate, num_keys, call_.watch, call_.can_stop);
      if (call_.can_stop) call_.watch.stop_if_asked();
      sorter.sort_buckets(result, call_.watch, static_cast<std::uint64_t>(result.keys - call_.whole_result.keys));
      call_.outcome.num_passes = std::max(call_.outcome.num_passes, 2U);
      call_.add_moves(num_keys, 4);
      for (const sort_segment& s : sorter.large_buckets()) {
        levels_.sort_counted(source + s.begin, alternate + s.begin, result + s.begin, s.count, s.bits, 2);
        call_.hand_over(result + s.begin, s.count);
      }
      return true;
    }
    return false;
  }

  /// Sorts records that have been moved, where they are. They overwrite `other`, and are not in their places when they
  /// are sorted.
  void sort_moved(split moved, split other, std::uint64_t num_keys, keys::bit_range bits, bool can_stop = false) {
    const sort_watch watch = std::exchange(call_.watch, call_.watch.without_flow());
    const bool could_stop = std::exchange(call_.can_stop, can_stop);
    const input_shape of_all = call_.outcome.shape;
    if (num_keys > (call_.team.num_threads() == 1 ? call_.local_keys() : call_.limits.inline_keys)) {
      sort_large(moved, other, moved, num_keys, bits);
    } else if (num_keys != 0) {
      const sort_segment all{0, num_keys, bits};
      levels_.sort_each(moved, other, moved, {&all, 1}, num_keys);
    }
    call_.outcome.shape = of_all;
    call_.watch = watch;
    call_.can_stop = could_stop;
  }

  /// Counts the heavy values, sorts the other keys, and writes both.
  bool sort_light(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if constexpr (keys_alone && sizeof(K) >= 4) {
      const heavy_values<K> heavy = call_.repeated().choose_heavy(source.keys, num_keys);
      if (heavy.values().empty()) return false;
      const auto found = call_.repeated().filter(source.keys, num_keys, heavy, alternate.keys);
      if (call_.can_stop) call_.watch.stop_if_asked();
      auto stretches = call_.repeated().room_for_stretches(heavy);
      const std::uint64_t num_light = call_.repeated().gather_light(alternate.keys, found, source.keys);
      const split sorted = result.keys == source.keys ? alternate : source;
      // Light keys that are sorted are not in their places yet.
      const sort_watch watch = std::exchange(call_.watch, call_.watch.without_flow());
      if (num_light > call_.local_keys() && is_one_threads_work(num_light, bits)) {
        sort_by_one_thread(source, alternate, sorted, num_light);
      } else if (num_light > call_.local_keys()) {
        levels_.sort_counted(source, alternate, sorted, num_light, bits, 2);
      } else if (num_light != 0) {
        const sort_segment light{0, num_light, bits};
        levels_.sort_each(source, alternate, sorted, {&light, 1}, num_light);
      }
      call_.watch = watch;
      call_.repeated().write_merged(sorted.keys, num_light, heavy, found, stretches, result.keys, num_keys);
      call_.outcome.num_passes = std::max(call_.outcome.num_passes, 1U);
      call_.outcome.bytes_moved += 2 * (num_keys + num_light) * sizeof(K);
      call_.watch.advance(num_keys - num_light);
      return true;
    }
    return false;
  }

  bool looks_around_heavy_ = true;  ///< for the next sort of moved pairs, unless a sample has been deceived
  call call_;
  level_sorter<K, V, Order> levels_{call_};
};

}  // namespace spansort::device::host
