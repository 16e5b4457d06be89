// SPDX-License-Identifier: Apache-2.0
// This header has what all ways of the host device's local sort share: who works, by which order, within which sizes,
// who watches, and what is reported.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/record_flow.hpp"
#include "device/host/in_cache_sort.hpp"
#include "device/host/move_records.hpp"
#include "device/host/repeated_keys.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/sort_watch.hpp"

namespace spansort::device::host {

/// A call of the local sort. K, V: words of keys and values; Order: of records.hpp.
template <class K, class V, class Order>
struct sort_call {
  using split = split_records<K, V>;
  using in_cache = in_cache_sorter<K, V, Order>;
  static constexpr std::uint64_t record_bytes = sizeof(K) + value_bytes_of<V>;
  static constexpr bool keys_alone = value_bytes_of<V> == 0;

  workers& team;
  Order order;
  keys::codec_of<K> codec;
  sort_limits limits;
  sort_watch watch;
  split whole_result = {};  ///< of the whole request
  local_sort_outcome outcome = {};
  bool can_stop = false;  ///< the first level of the only segment has overwritten nothing yet

  void copy(split source, split result, std::uint64_t num_keys) {
    if (source.keys == result.keys) return;
    copy_records(team, cut(num_keys), source, result);
    outcome.bytes_moved += 2 * num_keys * record_bytes;
  }

  void reverse(split source, split result, std::uint64_t num_keys) {
    reverse_records(team, cut(source.keys == result.keys ? num_keys / 2 : num_keys), source, result, num_keys);
    outcome.bytes_moved += 2 * num_keys * record_bytes;
  }

  /// Takes the shortcut that the input's order allows.
  bool finish_ordered(order_flags flags, split source, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if (flags.ascending) {
      outcome.shape = flags.descending ? input_shape::constant : input_shape::sorted;
      copy(source, result, num_keys);
      return true;
    }
    // Keys that tie on the range asked for must not change places: only whole keys can be reversed.
    if (bits.begin != 0 || !(keys_alone ? flags.descending : flags.strictly_descending)) return false;
    outcome.shape = input_shape::reversed;
    reverse(source, result, num_keys);
    return true;
  }

  void add_moves(std::uint64_t num_keys, std::uint64_t moves) {
    outcome.bytes_moved += moves * num_keys * record_bytes;
  }

  void hand_over(split finished, std::uint64_t num_keys) {
    watch.hand_over(static_cast<std::uint64_t>(finished.keys - whole_result.keys), num_keys);
  }

  [[nodiscard]] std::uint64_t local_keys() const {
    return std::min(in_cache::max_keys, 8 * limits.bucket_bytes / record_bytes);
  }

  [[nodiscard]] piece_list cut(std::uint64_t num_keys) const {
    return cut_into_pieces(num_keys, team.num_threads(), limits.piece_keys);
  }
  [[nodiscard]] repeated_keys_sorter<K, Order> repeated() { return {team, order, limits}; }
  [[nodiscard]] level_counter<K, V, Order> counter() { return {team, order, codec, limits}; }
};

}  // namespace spansort::device::host
