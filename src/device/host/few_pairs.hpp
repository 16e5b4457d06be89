// SPDX-License-Identifier: Apache-2.0
// Pairs whose keys are a few values are sorted stably by moving each value once, to where those of its key lie, and by
// writing keys by their counts. A key that is none of a sample's values ends the attempt before anything is written.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "device/host/block_pairs.hpp"
#include "device/host/count_few.hpp"
#include "device/host/few_values.hpp"
#include "device/host/records.hpp"
#include "device/host/repeated_keys.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/value_classes.hpp"
#include "device/host/workers.hpp"
#include "device/streaming.hpp"

namespace spansort::device::host {

/// Finds and counts the values of keys, in key order. Returns none where they are more than a few or where two of them
/// tie.
template <class K, class Order>
[[nodiscard]] few_values<K> count_classes(const Order& order, const K* keys, std::uint64_t num_keys,
                                          std::array<std::uint64_t, most_few_values>& counts) {
  few_counts<K> found;
  if (num_keys < heavy_sample_keys || !count_few(keys, num_keys, found)) return {};
  few_values<K> few;
  for (unsigned v = 0; v < found.count; ++v) {
    const K encoded = order.encode(found.keys[v]);
    unsigned at = few.count++;
    for (; at != 0 && order.encode(few.keys[at - 1]) > encoded; --at) {
      few.keys[at] = few.keys[at - 1];
      counts[at] = counts[at - 1];
    }
    if (at != 0 && order.encode(few.keys[at - 1]) == encoded) return {};
    few.keys[at] = found.keys[v];
    counts[at] = found.counts[v];
  }
  return few;
}

/// Sorts `from` into `result`, which is `from` itself or does not overlap it, on the calling thread; `spare` has room
/// for all values, and for their blocks. Returns false, with nothing written, where there are other keys.
template <class K, class V, class Order>
[[nodiscard]] bool sort_few_pairs(const Order& order, split_records<K, V> from, split_records<K, V> result,
                                  std::uint64_t num_keys, V* spare) {
  if constexpr (have_block_widths<K, V>()) {
    if (has_value_blocks() && num_keys <= block_mover<V>::most_pairs) {
      return sort_few_by_blocks(order, from, result, num_keys, spare);
    }
  }
  std::array<std::uint64_t, most_few_values> counts = {};
  const few_values<K> few = count_classes(order, from.keys, num_keys, counts);
  if (few.count == 0) return false;
  const bool in_place = from.keys == result.keys;
  // Values of the first key may move down where they are.
  const std::uint64_t num_kept = in_place && few.count <= most_placed_at_once<K, V> ? counts[0] : 0;
  class_places<V> places;
  V* next = in_place ? spare : result.values;
  for (unsigned v = 0; v < few.count; ++v) {
    const bool is_kept = v == 0 && num_kept != 0;
    places.next[v] = is_kept ? result.values : next;
    places.end[v] = places.next[v] + counts[v];
    if (!is_kept) next = places.end[v];
  }
  place_values(from.keys, from.values, num_keys, few.span(), places);
  if (in_place) std::memcpy(static_cast<void*>(result.values + num_kept), spare, (num_keys - num_kept) * sizeof(V));
  for (unsigned v = 0; v < few.count; ++v) {
    fill_keys(result.keys, counts[v], few.keys[v], false);
    result.keys += counts[v];
  }
  return true;
}

/// Does the same on all threads of a team.
template <class K, class V, class Order>
class few_pairs_sorter {
 public:
  using split = split_records<K, V>;

  few_pairs_sorter(workers& team, const Order& order, const sort_limits& limits)
      : team_(team), order_(order), limits_(limits) {}

  /// Returns where the keys of each value end in the sorted whole; nothing when another key was found.
  [[nodiscard]] std::vector<std::uint64_t> count(const K* keys, std::uint64_t num_keys, const few_values<K>& few) {
    pieces_ = cut_into_pieces(num_keys, team_.num_threads(), limits_.piece_keys);
    if (are_staged(num_keys)) pieces_ = {num_keys, std::max(pieces_.size(), base::ceil_div(num_keys, staged_pairs))};
    counts_.assign(pieces_.size(), {});
    std::atomic<bool> found_another = false;
    team_.for_each(pieces_.size(), [&](std::uint64_t i) {
      if (found_another.load(std::memory_order_relaxed)) return;
      if (!count_values(keys + pieces_[i].begin, pieces_[i].count, few.span(), counts_[i].data())) {
        found_another.store(true, std::memory_order_relaxed);
      }
    });
    if (found_another) return {};
    std::vector<std::uint64_t> ends(few.count);
    std::uint64_t end = 0;
    for (unsigned v = 0; v < few.count; ++v) {
      for (const auto& of_piece : counts_) end += of_piece[v];
      ends[v] = end;
    }
    return ends;
  }

  /// Moves the values that count() has seen to `to`, which does not overlap them.
  void move_values(split from, V* to, std::uint64_t num_keys, const few_values<K>& few) {
    std::vector<class_places<V>> places(pieces_.size());
    for (unsigned v = 0; v < few.count; ++v) {
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        places[i].next[v] = to;
        places[i].end[v] = to += counts_[i][v];
      }
    }
    const bool is_staged = are_staged(num_keys);
    team_.for_each(pieces_.size(), [&](std::uint64_t i, worker_scratch& scratch) {
      const piece part = pieces_[i];
      const split of_part = from + part.begin;
      if (!is_staged) return place_values<K, V>(of_part.keys, of_part.values, part.count, few.span(), places[i]);
      class_places<V> staged;
      auto* next_staged = reinterpret_cast<V*>(scratch.records[0].get());
      for (unsigned v = 0; v < few.count; ++v) {
        staged.next[v] = next_staged;
        staged.end[v] = next_staged += counts_[i][v];
      }
      place_values<K, V>(of_part.keys, of_part.values, part.count, few.span(), staged);
      for (unsigned v = 0; v < few.count; ++v) {
        const std::uint64_t count = counts_[i][v];
        write_sequence(places[i].next[v], staged.end[v] - count, count * sizeof(V), true);
      }
      finish_streaming();
    });
  }

  /// Writes sorted values and keys into the result, which `values` may lie in already.
  void write(const V* values, split result, std::uint64_t num_keys, const few_values<K>& few,
             std::span<const std::uint64_t> ends) {
    if (values != result.values) {
      const bool stream = num_keys * sizeof(V) >= limits_.stream_copies_bytes;
      team_.for_each(pieces_.size(), [&](std::uint64_t i) {
        const piece part = pieces_[i];
        write_sequence(result.values + part.begin, values + part.begin, part.count * sizeof(V), stream);
        finish_streaming();
      });
    }
    repeated_keys_sorter<K, Order>(team_, order_, limits_)
        .write_values(result.keys, num_keys, ends, [&](std::uint64_t v) { return few.keys[v]; });
  }

 private:
  static constexpr std::uint64_t staged_pairs = std::uint64_t{1} << 15;
  static_assert(staged_pairs * sizeof(V) <= max_local_bytes);

  /// Returns whether values are moved in a thread's cache first, and from there past the caches: 2^22 u32(u32) of 16
  /// values took 2.9 ns a pair without and take 2.1, 2^20 1.7 and 1.8.
  [[nodiscard]] bool are_staged(std::uint64_t num_keys) const {
    return num_keys * sizeof(packed_record<K, V>) >= limits_.stream_copies_bytes;
  }

  workers& team_;
  Order order_;
  sort_limits limits_;
  piece_list pieces_;
  std::vector<std::array<std::uint64_t, most_few_values>> counts_;
};

}  // namespace spansort::device::host
