// SPDX-License-Identifier: Apache-2.0
// Pairs of a few keys of 32 bits are sorted stably by one read that moves each value to a block of its class
// (value_blocks.hpp). Where keys turn out to be more than a few, nothing has been written to the result.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "device/host/few_values.hpp"
#include "device/host/key_sample.hpp"
#include "device/host/records.hpp"
#include "device/host/repeated_keys.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/value_blocks.hpp"
#include "device/host/workers.hpp"
#include "device/streaming.hpp"

namespace spansort::device::host {

/// Returns whether values of pairs of these widths may be moved to blocks.
template <class K, class V>
[[nodiscard]] constexpr bool have_block_widths() noexcept {
  return sizeof(K) == 4 && (sizeof(V) == 4 || sizeof(V) == 8);
}

/// Sorts `from` into `result`, which is `from` itself or does not overlap it, on the calling thread. There are up to
/// block_mover<V>::most_pairs pairs, and `room` is for as many. Returns false, with nothing written, where keys are
/// more than a few or where two of them tie.
template <class V, class Order>
[[nodiscard]] bool sort_few_by_blocks(const Order& order, split_records<std::uint32_t, V> from,
                                      split_records<std::uint32_t, V> result, std::uint64_t num_keys, V* room) {
  constexpr std::uint64_t large_keys = 8192;  // beside which a vain try costs little
  few_counts<std::uint32_t> found;
  if (num_keys < heavy_sample_keys ||
      !key_sample<std::uint32_t>(from.keys, num_keys).take_values(num_keys < large_keys ? 2 : 4, false, found)) {
    return false;
  }
  block_mover<V> mover(room);
  if (!mover.take({found.keys.data(), found.count}) || !mover.move(from.keys, from.values, num_keys)) return false;
  std::array<unsigned, most_few_values> classes;
  const auto classes_end = classes.begin() + mover.num_classes();
  std::iota(classes.begin(), classes_end, 0U);
  const auto encoded = [&](unsigned c) { return order.encode(mover.key(c)); };
  std::sort(classes.begin(), classes_end,
            [&](unsigned left, unsigned right) { return encoded(left) < encoded(right); });
  const auto tie = [&](unsigned left, unsigned right) { return encoded(left) == encoded(right); };
  if (std::adjacent_find(classes.begin(), classes_end, tie) != classes_end) return false;
  for (auto c = classes.begin(); c != classes_end; ++c) {
    mover.copy(*c, result.values, false);
    fill_keys(result.keys, mover.count(*c), mover.key(*c), false);
    result = result + mover.count(*c);
  }
  return true;
}

/// Does the same on all threads of a team, in place, with the values known.
template <class V, class Order>
class few_blocks_sorter {
 public:
  using key = std::uint32_t;
  using split = split_records<key, V>;

  few_blocks_sorter(workers& team, const Order& order, const sort_limits& limits)
      : team_(team), order_(order), limits_(limits) {}

  /// Moves values to `moved`, which does not overlap them, by class in each piece. Returns where the keys of each value
  /// end in the sorted whole; nothing when another key was found.
  [[nodiscard]] std::vector<std::uint64_t> move(split from, V* moved, std::uint64_t num_keys,
                                                const few_values<key>& few) {
    pieces_ = {num_keys, std::max<std::uint64_t>(team_.num_threads(), base::ceil_div(num_keys, piece_pairs))};
    counts_.assign(pieces_.size(), {});
    const bool stream = is_streamed(num_keys);
    std::atomic<bool> found_another = false;
    team_.for_each(pieces_.size(), [&](std::uint64_t i, worker_scratch& scratch) {
      if (found_another.load(std::memory_order_relaxed)) return;
      const piece part = pieces_[i];
      block_mover<V> mover(reinterpret_cast<V*>(scratch.records[0].get()));
      if (!mover.take(few.span()) || !mover.move(from.keys + part.begin, from.values + part.begin, part.count) ||
          mover.num_classes() != few.count) {
        return found_another.store(true, std::memory_order_relaxed);
      }
      V* next = moved + part.begin;
      for (unsigned v = 0; v < few.count; ++v) {
        next = mover.copy(v, next, stream);
        counts_[i][v] = mover.count(v);
      }
      finish_streaming();
    });
    return found_another ? std::vector<std::uint64_t>() : ends_of(few);
  }

  /// Writes what move() has moved, and keys, into the result.
  void write(const V* moved, split result, std::uint64_t num_keys, const few_values<key>& few,
             std::span<const std::uint64_t> ends) {
    std::vector<std::array<V*, most_few_values>> places(pieces_.size());
    V* next = result.values;
    for (unsigned v = 0; v < few.count; ++v) {
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        places[i][v] = next;
        next += counts_[i][v];
      }
    }
    const bool stream = is_streamed(num_keys);
    team_.for_each(pieces_.size(), [&](std::uint64_t i) {
      const V* run = moved + pieces_[i].begin;
      for (unsigned v = 0; v < few.count; ++v) {
        write_sequence(places[i][v], run, counts_[i][v] * sizeof(V), stream);
        run += counts_[i][v];
      }
      finish_streaming();
    });
    repeated_keys_sorter<key, Order>(team_, order_, limits_)
        .write_values(result.keys, num_keys, ends, [&](std::uint64_t v) { return few.keys[v]; });
  }

 private:
  static constexpr std::uint64_t piece_pairs = std::uint64_t{1} << 15;
  static_assert(piece_pairs <= block_mover<V>::most_pairs);
  static_assert(block_mover<V>::room_for(piece_pairs) * sizeof(V) <= max_local_bytes);

  [[nodiscard]] bool is_streamed(std::uint64_t num_keys) const {
    return num_keys * (sizeof(key) + sizeof(V)) >= limits_.stream_copies_bytes;
  }

  [[nodiscard]] std::vector<std::uint64_t> ends_of(const few_values<key>& few) const {
    std::vector<std::uint64_t> ends(few.count);
    std::uint64_t end = 0;
    for (unsigned v = 0; v < few.count; ++v) {
      for (const auto& of_piece : counts_) end += of_piece[v];
      ends[v] = end;
    }
    return ends;
  }

  workers& team_;
  Order order_;
  sort_limits limits_;
  piece_list pieces_;
  std::vector<std::array<std::uint64_t, most_few_values>> counts_;
};

}  // namespace spansort::device::host
