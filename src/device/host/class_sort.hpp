// SPDX-License-Identifier: Apache-2.0
// This header sorts many keys alone: a sample chooses classes, one pass partitions into them (class_partition.hpp), and
// each is sorted into its place in a thread's cache. Where the sample shows values that repeat, these are counted in
// that pass and written between the other keys. Classes that it misjudged are partitioned again or sorted by quicksort.
// Traffic: two reads and two writes of every key, one read and one write of heavy ones.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "device/host/class_partition.hpp"
#include "device/host/few_values.hpp"
#include "device/host/in_cache_sort.hpp"
#include "device/host/merge_alone.hpp"
#include "device/host/sort_level.hpp"

namespace spansort::device::host {

template <class K, class Order>
class class_sorter {
 public:
  class_sorter(workers& team, const keys::codec_of<K>& codec, const sort_limits& limits, const sort_watch& watch,
               local_sort_outcome& outcome)
      : team_(team), order_(codec), codec_(codec), limits_(limits), watch_(watch), outcome_(outcome) {}

  /// Sorts `source` in place; `alternate` is overwritten. The result begins at `position` of the whole. Until the
  /// source is overwritten it stops when asked to, if `can_stop`, and may throw std::bad_alloc, but not later.
  /// `with_heavy`: looks for values that repeat.
  void sort(K* source, K* alternate, std::uint64_t num_keys, std::uint64_t position, bool can_stop, bool with_heavy,
            unsigned depth = 1) {
    std::vector<K> sample = sorted_sample(source, num_keys, 1024);
    std::uint64_t num_light = num_keys;
    heavy_values<K> heavy(order_, std::span<const K>());
    if (with_heavy || !lies_evenly<K>(sample)) {
      sample = sorted_sample(source, num_keys, std::clamp<std::uint64_t>(num_keys / 512, 1024, 16384));
      if (with_heavy) {
        heavy = heavy_values<K>(order_, std::span<const K>(sample));
        num_light = leave_out(heavy, sample, num_keys);
      }
    }
    const key_classes<K> classes = choose_classes<K>(sample, wanted_classes(num_light, num_keys));
    const bool stream = num_light * sizeof(K) >= limits_.stream_bytes;
    class_partition<K> partition(team_, codec_, classes, sample, heavy.values().empty() ? nullptr : &heavy, alternate,
                                 num_keys, spare_bytes(num_keys), stream);
    partition.run(source, num_keys, watch_, can_stop);
    std::vector<class_place> places = places_of(partition, classes);
    add_heavy(partition, classes, heavy, places);
    for (std::uint64_t begin = 0; class_place & place : places) {
      place.begin = begin;
      begin += place.count + place.num_heavy;
    }
    if (can_stop) watch_.stop_if_asked();
    outcome_.num_passes = std::max(outcome_.num_passes, depth + 1);
    outcome_.bytes_moved += 4 * num_keys * sizeof(K);
    const sorted_array to{source, num_keys, position};
    const std::vector<unsigned> order = order_of_classes(places);
    std::vector<class_place*> large = large_classes(places);
    std::vector<heavy_run> parts_of_runs = room_for_parts(places);
    // From here on the source is being overwritten, and nothing takes memory that it cannot do without.
    sort_classes(to, places, order);
    sort_large(to, alternate, large, depth);
    fill_long_runs(to, places, parts_of_runs);
  }

 private:
  using in_cache = in_cache_sorter<K, no_value, Order>;
  static constexpr std::uint64_t line_bytes = 64;

  /// A heavy value of a class.
  struct heavy_run {
    K key = 0;
    K encoded = 0;
    std::uint64_t count = 0;
    std::uint64_t begin = 0;  ///< in the result, once the class has been sorted
  };

  /// The place of a class's keys in the blocks, and in the result.
  struct class_place {
    std::uint64_t begin = 0;
    std::uint64_t count = 0;  ///< without the heavy values
    std::uint64_t num_heavy = 0;
    std::vector<key_run<K>> runs;
    std::vector<heavy_run> heavy;
  };

  struct sorted_array {
    K* keys = nullptr;
    std::uint64_t num_keys = 0;
    std::uint64_t position = 0;  ///< in the whole
  };

  [[nodiscard]] std::vector<K> sorted_sample(const K* keys, std::uint64_t num_keys, std::uint64_t num_samples) const {
    std::vector<K> sample = sample_encoded(order_, keys, num_keys, num_samples);
    sort_sample(team_, sample);
    return sample;
  }

  /// Removes heavy values from the sample; returns how many of `num_keys` keys are likely to be left.
  [[nodiscard]] static std::uint64_t leave_out(const heavy_values<K>& heavy, std::vector<K>& sample,
                                               std::uint64_t num_keys) {
    const std::size_t all = sample.size();
    const K largest = sample.back();
    auto value = heavy.values().begin();
    std::erase_if(sample, [&](K encoded) {
      while (value != heavy.values().end() && value->encoded < encoded) ++value;
      return value != heavy.values().end() && value->encoded == encoded;
    });
    const auto share = static_cast<double>(sample.size()) / static_cast<double>(all);
    if (sample.empty()) sample.push_back(largest);
    return static_cast<std::uint64_t>(static_cast<double>(num_keys) * share);
  }

  /// Returns how much memory each thread has for blocks that are not full.
  [[nodiscard]] std::uint64_t spare_bytes(std::uint64_t num_keys) const {
    if (limits_.class_memory_parts == 0) return spare_block_bytes;
    const std::uint64_t share = num_keys * sizeof(K) / (limits_.class_memory_parts * team_.num_threads());
    return std::min(share / line_bytes * line_bytes + lost_block_bytes, spare_block_bytes);
  }

  /// Classes of the wanted size, and a few for every thread as long as they are worth a task. Up to four times as many
  /// are made, each of which takes a block of some lines from each thread.
  [[nodiscard]] unsigned wanted_classes(std::uint64_t num_light, std::uint64_t num_keys) const {
    const std::uint64_t of_threads = std::min<std::uint64_t>(4 * team_.num_threads(), num_light / limits_.piece_keys);
    const std::uint64_t most = std::min<std::uint64_t>(most_classes / 4, spare_bytes(num_keys) / (8 * line_bytes));
    const std::uint64_t wanted = std::max(num_light * sizeof(K) / limits_.class_bytes, of_threads);
    return static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 4, most));
  }

  /// Returns whether a class is more than a thread's scratch holds.
  [[nodiscard]] bool is_large(std::uint64_t num_keys) const {
    return num_keys > std::min<std::uint64_t>(max_local_bytes, 4 * limits_.class_bytes) / sizeof(K);
  }

  [[nodiscard]] static std::vector<class_place> places_of(const class_partition<K>& partition,
                                                          const key_classes<K>& classes) {
    std::vector<class_place> places(classes.num_classes);
    for (unsigned c = 0; c < classes.num_classes; ++c) {
      class_place& place = places[c];
      for (const class_writer<K>& writer : partition.writers()) {
        if (writer.pool == nullptr) continue;
        writer.for_each_run(c, [&](const key_run<K>& run) {
          place.runs.push_back(run);
          place.count += run.count;
        });
      }
    }
    return places;
  }

  static void add_heavy(const class_partition<K>& partition, const key_classes<K>& classes,
                        const heavy_values<K>& heavy, std::vector<class_place>& places) {
    for (std::size_t v = 0; v < heavy.values().size(); ++v) {
      class_place& place = places[classes.of(heavy.values()[v].encoded)];
      place.heavy.push_back({heavy.values()[v].key, heavy.values()[v].encoded, partition.heavy_counts()[v], 0});
      place.num_heavy += partition.heavy_counts()[v];
    }
  }

  /// Returns the classes that hold any keys, in the order in which they are sorted.
  [[nodiscard]] std::vector<unsigned> order_of_classes(const std::vector<class_place>& places) const {
    std::vector<unsigned> order;
    for (unsigned c = 0; c < places.size(); ++c) {
      if (places[c].count + places[c].num_heavy != 0) order.push_back(c);
    }
    if (!watch_.has_flow()) {  // the longest tasks first, so that nobody waits for one that began last
      std::stable_sort(order.begin(), order.end(),
                       [&](unsigned a, unsigned b) { return places[a].count > places[b].count; });
    }
    return order;
  }

  [[nodiscard]] std::vector<class_place*> large_classes(std::vector<class_place>& places) const {
    std::vector<class_place*> large;
    for (class_place& place : places) {
      if (is_large(place.count)) large.push_back(&place);
    }
    return large;
  }

  /// Sorts the classes that fit a thread's scratch, and moves the others to their places.
  void sort_classes(const sorted_array& result, std::vector<class_place>& places, const std::vector<unsigned>& order) {
    std::atomic<std::uint64_t> next{0};
    team_.for_each(order.size(), [&](std::uint64_t, worker_scratch& scratch) {
      class_place& place = places[order[next.fetch_add(1, std::memory_order_relaxed)]];
      K* to = result.keys + place.begin;
      if (is_large(place.count)) {
        for (const key_run<K>& run : place.runs) to = std::copy_n(run.keys, run.count, to);
        return;
      }
      in_cache(order_, codec_, scratch, false).sort_runs(place.runs, to, place.count);
      finish(result, place);
    });
  }

  /// Sorts the classes that sort_classes() has left: very large ones on all threads, the others a thread each.
  void sort_large(const sorted_array& result, K* alternate, std::vector<class_place*>& large, unsigned depth) {
    constexpr unsigned most_levels = 4;  // keys made to deceive samples could make many
    const auto one_thread_each = std::partition(large.begin(), large.end(), [&](const class_place* place) {
      return depth < most_levels && place->count > result.num_keys / std::max(team_.num_threads(), 8U);
    });
    for (auto place = large.begin(); place != one_thread_each; ++place) {
      const split_records<K, no_value> keys{result.keys + (*place)->begin, nullptr};
      const split_records<K, no_value> other{alternate + (*place)->begin, nullptr};
      const std::uint64_t count = (*place)->count;
      sort_in_any_case(order_, keys, other, keys, count, 0, [&] {
        class_sorter(team_, codec_, limits_, watch_.without_flow(), outcome_)
            .sort(keys.keys, other.keys, count, 0, false, false, depth + 1);
      });
      finish(result, **place);
    }
    team_.for_each(static_cast<std::uint64_t>(large.end() - one_thread_each),
                   [&](std::uint64_t i, worker_scratch& scratch) {
                     class_place& place = *one_thread_each[static_cast<std::ptrdiff_t>(i)];
                     const split_records<K, no_value> keys{result.keys + place.begin, nullptr};
                     const split_records<K, no_value> other{alternate + place.begin, nullptr};
                     in_cache(order_, codec_, scratch, false).sort_large(keys, other, keys, place.count);
                     finish(result, place);
                   });
  }

  /// Puts the heavy values of a class between its keys, which are sorted and lie where the class begins, from the end
  /// on.
  void finish(const sorted_array& result, class_place& place) {
    K* const begin = result.keys + place.begin;
    K* from = begin + place.count;
    K* to = from + place.num_heavy;
    for (std::size_t v = place.heavy.size(); v-- != 0;) {
      heavy_run& run = place.heavy[v];
      K* const above =
          std::lower_bound(begin, from, run.encoded, [&](K key, K encoded) { return order_.encode(key) < encoded; });
      to = std::copy_backward(above, from, to) - run.count;
      from = above;
      run.begin = static_cast<std::uint64_t>(to - result.keys);
      if (!is_long(run)) fill_keys(to, run.count, run.key, false);
    }
    watch_.advance(place.count + place.num_heavy);
    watch_.hand_over(result.position + place.begin, place.count + place.num_heavy);
  }

  /// Returns whether a run of one value is worth several threads.
  [[nodiscard]] bool is_long(const heavy_run& run) const {
    return team_.num_threads() > 1 && !watch_.has_flow() && run.count * sizeof(K) > limits_.class_bytes;
  }

  /// Keys of a long run that one task writes.
  [[nodiscard]] std::uint64_t part_keys() const { return limits_.class_bytes / sizeof(K); }

  /// Returns the memory that fill_long_runs() takes.
  [[nodiscard]] std::vector<heavy_run> room_for_parts(const std::vector<class_place>& places) const {
    std::uint64_t num_parts = 0;
    for (const class_place& place : places) {
      for (const heavy_run& run : place.heavy) num_parts += is_long(run) ? base::ceil_div(run.count, part_keys()) : 0;
    }
    std::vector<heavy_run> parts;
    parts.reserve(num_parts);
    return parts;
  }

  void fill_long_runs(const sorted_array& result, const std::vector<class_place>& places,
                      std::vector<heavy_run>& parts) {
    for (const class_place& place : places) {
      for (const heavy_run& run : place.heavy) {
        if (!is_long(run)) continue;
        for (std::uint64_t i = 0; i < run.count; i += part_keys()) {
          parts.push_back({run.key, run.encoded, std::min(part_keys(), run.count - i), run.begin + i});
        }
      }
    }
    const bool stream = result.num_keys * sizeof(K) >= limits_.stream_bytes;
    team_.for_each(parts.size(), [&](std::uint64_t i) {
      fill_keys(result.keys + parts[i].begin, parts[i].count, parts[i].key, stream);
    });
  }

  workers& team_;
  Order order_;
  keys::codec_of<K> codec_;
  sort_limits limits_;
  sort_watch watch_;
  local_sort_outcome& outcome_;
};

}  // namespace spansort::device::host
