// SPDX-License-Identifier: Apache-2.0
// Sorting keys alone where few values make up all or much of the input: they are counted and written, not moved. Two
// ways, which a sample chooses between: a few values that are all there is (few_values.hpp), and heavy values among
// others (heavy_values.hpp), where only the light keys are sorted. Both read the input once before they write anything.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "device/host/few_values.hpp"
#include "device/host/heavy_values.hpp"
#include "device/host/sort_level.hpp"

namespace spansort::device::host {

/// A sample's word on values that repeat.
template <class K>
struct repeats {
  few_values<K> few;
  bool has_heavy = false;
  bool sample_is_ordered = false;  ///< the whole input may be in order: that is cheaper to find out first

  [[nodiscard]] bool any() const noexcept { return few.count != 0 || has_heavy; }
};

template <class K, class Order>
class repeated_keys_sorter {
 public:
  repeated_keys_sorter(workers& team, const Order& order, const sort_limits& limits)
      : team_(team), order_(order), limits_(limits) {}

  [[nodiscard]] repeats<K> look(const K* keys, std::uint64_t num_keys) const {
    repeats<K> found;
    if (num_keys < limits_.few_values_keys) return found;
    found.few = sample_few_values(order_, keys, num_keys);
    found.sample_is_ordered = found.few.sample_is_ordered;
    if (found.few.count != 0 || num_keys < limits_.heavy_values_keys) return found;
    const std::vector<K> sample = sample_encoded(order_, keys, num_keys, 1024);
    found.sample_is_ordered =
        std::is_sorted(sample.begin(), sample.end()) || std::is_sorted(sample.begin(), sample.end(), std::greater<>());
    std::vector<K> sorted = sample;
    sort_sample(team_, sorted);
    found.has_heavy =
        repeated_share(std::span<const K>(sorted), heavy_values<K>::fewest_in_sample) > limits_.heavy_share;
    return found;
  }

  /// Returns where the keys of each value end in the sorted whole; nothing when another key was found.
  [[nodiscard]] std::vector<std::uint64_t> count_few(const K* keys, std::uint64_t num_keys, const few_values<K>& few) {
    const piece_list pieces = cut(num_keys);
    std::vector<std::array<std::uint64_t, most_few_values>> counts(pieces.size());
    std::atomic<bool> found_another = false;
    team_.for_each(pieces.size(), [&](std::uint64_t i) {
      if (found_another.load(std::memory_order_relaxed)) return;
      if (!count_values(keys + pieces[i].begin, pieces[i].count, few.span(), counts[i].data())) {
        found_another.store(true, std::memory_order_relaxed);
      }
    });
    if (found_another) return {};
    std::vector<std::uint64_t> ends(few.count);
    std::uint64_t end = 0;
    for (unsigned v = 0; v < few.count; ++v) {
      for (const auto& of_piece : counts) end += of_piece[v];
      ends[v] = end;
    }
    return ends;
  }

  /// Writes key_of(v) up to ends[v], from ends[v - 1] on, for every value v.
  template <class KeyOf>
  void write_values(K* result, std::uint64_t num_keys, std::span<const std::uint64_t> ends, const KeyOf& key_of) {
    const bool stream = num_keys * sizeof(K) >= limits_.stream_bytes;
    const piece_list pieces = cut(num_keys);
    team_.for_each(pieces.size(), [&](std::uint64_t i) {
      std::uint64_t at = pieces[i].begin;
      const std::uint64_t stop = at + pieces[i].count;
      auto value = static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
      for (; at < stop; ++value) {
        const std::uint64_t to = std::min(stop, ends[value]);
        write_run(result + at, to - at, key_of(value), stream);
        at = to;
      }
    });
  }

  /// Heavy values with their counts; the light keys lie in `light`, piece by piece from each piece's begin on.
  struct filtered {
    piece_list pieces;
    std::vector<std::uint64_t> light_counts;  ///< [piece]
    std::vector<std::uint64_t> heavy_counts;  ///< [value]
  };

  /// Empty when a larger sample shows that too little repeats often enough.
  [[nodiscard]] heavy_values<K> choose_heavy(const K* keys, std::uint64_t num_keys) const {
    std::vector<K> sample = sample_encoded(order_, keys, num_keys, std::min<std::uint64_t>(num_keys / 32, 4096));
    sort_sample(team_, sample);
    if (repeated_share(std::span<const K>(sample), heavy_values<K>::fewest_in_sample) <= limits_.heavy_share)
      sample.clear();
    return {order_, std::span<const K>(sample)};
  }

  [[nodiscard]] filtered filter(const K* keys, std::uint64_t num_keys, const heavy_values<K>& heavy, K* light) {
    filtered found;
    found.pieces = cut(num_keys);
    found.light_counts.assign(found.pieces.size(), 0);
    const std::size_t num_values = heavy.values().size();
    std::vector<std::uint64_t> counts(found.pieces.size() * num_values, 0);
    team_.for_each(found.pieces.size(), [&](std::uint64_t i, worker_scratch& scratch) {
      constexpr std::size_t num_counters = heavy_values<K>::num_cells * heavy_values<K>::num_lanes;
      static_assert(num_counters * sizeof(std::uint32_t) <= combining_bytes);
      auto* const counters = reinterpret_cast<std::uint32_t*>(scratch.combining.get());
      const piece part = found.pieces[i];
      // Counters have 32 bits.
      constexpr std::uint64_t most = std::uint64_t{1} << 31;
      for (std::uint64_t begin = 0; begin < part.count; begin += most) {
        for (const auto& value : heavy.values()) {
          std::fill_n(counters + value.cell * heavy_values<K>::num_lanes, heavy_values<K>::num_lanes, 0U);
        }
        found.light_counts[i] += heavy.filter(keys + part.begin + begin, std::min(most, part.count - begin),
                                              light + part.begin + found.light_counts[i], counters);
        for (std::size_t v = 0; v < num_values; ++v) {
          for (std::size_t lane = 0; lane < heavy_values<K>::num_lanes; ++lane) {
            counts[i * num_values + v] += counters[heavy.values()[v].cell * heavy_values<K>::num_lanes + lane];
          }
        }
      }
    });
    found.heavy_counts.assign(num_values, 0);
    for (std::size_t i = 0; i < counts.size(); ++i) found.heavy_counts[i % num_values] += counts[i];
    return found;
  }

  /// Moves the light keys of all pieces together; returns how many they are. Where it throws it has moved nothing.
  std::uint64_t gather_light(const K* light, const filtered& found, K* together) {
    std::vector<std::uint64_t> positions(found.pieces.size());
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      positions[i] = position;
      position += found.light_counts[i];
    }
    team_.for_each(positions.size(), [&](std::uint64_t i) {
      std::copy_n(light + found.pieces[i].begin, found.light_counts[i], together + positions[i]);
    });
    return position;
  }

  /// Light keys, then a run of one heavy key.
  struct stretch {
    std::uint64_t end = 0;        ///< in the result
    std::uint64_t light_end = 0;  ///< of its light keys, among all of them
    std::uint64_t run_count = 0;
    K key = 0;
  };
  /// Returns the memory that write_merged() takes.
  [[nodiscard]] std::vector<stretch> room_for_stretches(const heavy_values<K>& heavy) const {
    std::vector<stretch> stretches;
    stretches.reserve(heavy.values().size() + 1);
    return stretches;
  }

  /// Merges sorted light keys with the runs of heavy ones. `result` does not overlap `light`.
  void write_merged(const K* light, std::uint64_t num_light, const heavy_values<K>& heavy, const filtered& found,
                    std::vector<stretch>& stretches, K* result, std::uint64_t num_keys) {
    list_stretches(light, num_light, heavy, found.heavy_counts, stretches);
    const bool stream = num_keys * sizeof(K) >= limits_.stream_bytes;
    const piece_list pieces = cut(num_keys);
    team_.for_each(pieces.size(), [&](std::uint64_t i) {
      std::uint64_t at = pieces[i].begin;
      const std::uint64_t stop = at + pieces[i].count;
      auto s = std::upper_bound(stretches.begin(), stretches.end(), at,
                                [](std::uint64_t place, const stretch& x) { return place < x.end; });
      for (; at < stop; ++s) {
        const std::uint64_t to = std::min(stop, s->end);
        const std::uint64_t to_run = std::min(to, std::max(at, s->end - s->run_count));
        std::copy_n(light + (s->light_end + at - (s->end - s->run_count)), to_run - at, result + at);
        if (to > to_run) write_run(result + to_run, to - to_run, s->key, stream);
        at = to;
      }
    });
  }

 private:
  void list_stretches(const K* light, std::uint64_t num_light, const heavy_values<K>& heavy,
                      const std::vector<std::uint64_t>& heavy_counts, std::vector<stretch>& stretches) const {
    std::uint64_t before = 0;  // heavy keys so far
    const K* from = light;
    for (std::size_t v = 0; v < heavy.values().size(); ++v) {
      const auto& value = heavy.values()[v];
      from = std::lower_bound(from, light + num_light, value.encoded,
                              [&](K key, K encoded) { return order_.encode(key) < encoded; });
      before += heavy_counts[v];
      const auto light_end = static_cast<std::uint64_t>(from - light);
      stretches.push_back({light_end + before, light_end, heavy_counts[v], value.key});
    }
    stretches.push_back({num_light + before, num_light, 0, K{0}});
  }

  static void write_run(K* to, std::uint64_t count, K key, bool stream) {
    constexpr std::uint64_t streamed_keys = 1024;  // fewer are not worth the fence
    if constexpr (sizeof(K) >= 4) {
      fill_keys(to, count, key, stream && count >= streamed_keys);
    } else {
      std::fill_n(to, count, key);
    }
  }

  [[nodiscard]] piece_list cut(std::uint64_t num_keys) const {
    return cut_into_pieces(num_keys, team_.num_threads(), limits_.piece_keys);
  }

  workers& team_;
  Order order_;
  sort_limits limits_;
};

}  // namespace spansort::device::host
