// SPDX-License-Identifier: Apache-2.0
// One level of the host device's most-significant-digit sort: choose a digit, count it on all threads, partition by it.
// The digit starts at the highest bit in which a sample of the keys differs; the count checks that guess.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "device/host/count_digits.hpp"
#include "device/host/partition_records.hpp"
#include "device/host/records.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/workers.hpp"
#include "keys/digit.hpp"

namespace spansort::device::host {

/// A contiguous part of the input, counted and partitioned by one task.
struct piece {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

[[nodiscard]] inline std::vector<piece> cut_into_pieces(std::uint64_t num_keys, unsigned num_threads,
                                                        std::uint64_t piece_keys) {
  // Four a thread, so that a late thread costs a quarter of its share; one thread needs no more than one.
  const std::uint64_t most = num_threads == 1 ? 1 : std::uint64_t{num_threads} * 4;
  const std::uint64_t num_pieces = std::clamp<std::uint64_t>(num_keys / piece_keys, 1, most);
  std::vector<piece> pieces(num_pieces);
  for (std::uint64_t i = 0; i < num_pieces; ++i) {
    const std::uint64_t share = num_keys / num_pieces;
    const std::uint64_t rest = num_keys % num_pieces;
    pieces[i] = {i * share + std::min(i, rest), share + (i < rest ? 1 : 0)};
  }
  return pieces;
}

/// Counts of one digit, piece by piece.
struct level_counts {
  keys::digit_position digit;
  keys::bit_range differing;          ///< bits in which keys may differ, within the range asked for
  order_flags order;                  ///< of the whole input; all false when nobody looked
  std::vector<piece> pieces;
  std::vector<std::uint64_t> counts;  ///< [piece][bucket]

  [[nodiscard]] std::uint64_t* of_piece(std::uint64_t i) noexcept { return counts.data() + i * digit.num_buckets(); }
};

/// The highest bit + 1 in which a sample of up to 1,024 keys differs.
template <class K, class Order>
[[nodiscard]] unsigned sample_differing_end(const Order& order, const K* keys, std::uint64_t num_keys) {
  const std::uint64_t num_samples = std::min<std::uint64_t>(num_keys, 1024);
  const K first = order.rank(keys[0]);
  K differing = 0;
  for (std::uint64_t i = 0; i < num_samples; ++i) {
    // Integer arithmetic that cannot wrap: i < 1024.
    const std::uint64_t at = num_keys / num_samples * i + num_keys % num_samples * i / num_samples;
    differing = static_cast<K>(differing | (order.rank(keys[at]) ^ first));
  }
  return static_cast<unsigned>(std::bit_width(differing));
}

/// Pieces in order, and each border between two of them too.
template <class K, class Order>
[[nodiscard]] order_flags join_orders(const Order& order, const K* keys, const std::vector<piece>& pieces,
                                      const std::vector<look_result<K>>& found) {
  order_flags joined;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    joined &= found[i].order;
    if (i == 0 || pieces[i].count == 0) continue;
    const K left = order.rank(keys[pieces[i].begin - 1]);
    const K right = order.rank(keys[pieces[i].begin]);
    joined &= order_flags{left <= right, right <= left, right < left};
  }
  return joined;
}

template <class K, class V, class Order>
class level_counter {
 public:
  level_counter(workers& team, const Order& order, const keys::codec_of<K>& codec, const sort_limits& limits)
      : team_(team), order_(order), codec_(codec), limits_(limits) {}

  /// Counts the digit that a level sorts on. `look`: also find out whether the input is in order.
  [[nodiscard]] level_counts count(const K* keys, std::uint64_t num_keys, keys::bit_range bits, bool look) {
    const unsigned guess = std::clamp(sample_differing_end(order_, keys, num_keys), bits.begin, bits.end);
    level_counts level = count_range(keys, num_keys, {bits.begin, guess}, bits.end, look);
    if (level.differing.end <= guess) return level;
    // The sample missed keys that differ higher up: count again, with the truth.
    const order_flags found = level.order;
    level = count_range(keys, num_keys, level.differing, level.differing.end, false);
    level.order = found;
    return level;
  }

 private:
  /// Counts the top digit of `bits`; where `limit` is higher, also sees whether keys differ in [bits.end, limit).
  level_counts count_range(const K* keys, std::uint64_t num_keys, keys::bit_range bits, unsigned limit, bool look) {
    level_counts level;
    level.pieces = cut_into_pieces(num_keys, team_.num_threads(), limits_.piece_keys);
    level.digit = choose_digit(num_keys, bits);
    level.counts.assign(level.pieces.size() * level.digit.num_buckets(), 0);
    const look_request<K> wanted{look, bits.end < limit, order_.rank(keys[0])};
    std::vector<look_result<K>> found(level.pieces.size());
    team_.for_each(level.pieces.size(), [&](std::uint64_t i, worker_scratch&) {
      const piece part = level.pieces[i];
      const std::span<const keys::digit_position> digits(&level.digit, 1);
      found[i] = count_and_look(order_, codec_, keys + part.begin, part.count, digits, level.of_piece(i), wanted);
    });
    level.order = join_orders(order_, keys, level.pieces, found);
    level.differing = bits;
    for (const look_result<K>& f : found) {
      const unsigned end = std::min(limit, static_cast<unsigned>(std::bit_width(f.differing)));
      level.differing.end = std::max(level.differing.end, end);
    }
    return level;
  }

  [[nodiscard]] keys::digit_position choose_digit(std::uint64_t num_keys, keys::bit_range bits) const {
    const std::uint64_t total_bytes = num_keys * sizeof(packed_record<K, V>);
    const std::uint64_t wanted = std::max<std::uint64_t>(total_bytes / limits_.bucket_bytes, 4 * team_.num_threads());
    unsigned width = static_cast<unsigned>(std::bit_width(wanted));
    width = std::min({width, limits_.radix_bits, max_combining_digit_bits<K, V>(), bits.size()});
    return {bits.end - width, width};
  }

  workers& team_;
  Order order_;
  keys::codec_of<K> codec_;
  sort_limits limits_;
};

/// Where each piece's part of each bucket starts, when buckets lie one after the other: [piece][bucket].
[[nodiscard]] inline std::vector<std::uint64_t> positions_of(const level_counts& level) {
  const std::uint64_t num_buckets = level.digit.num_buckets();
  std::vector<std::uint64_t> positions(level.counts.size());
  std::uint64_t position = 0;
  for (std::uint64_t b = 0; b < num_buckets; ++b) {
    for (std::uint64_t p = 0; p < level.pieces.size(); ++p) {
      positions[p * num_buckets + b] = position;
      position += level.counts[p * num_buckets + b];
    }
  }
  return positions;
}

}  // namespace spansort::device::host
