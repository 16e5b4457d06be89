// SPDX-License-Identifier: Apache-2.0
// The merge sort of Satish, Harris and Garland (2009, section IV). Tiles of 256 records are sorted by Batcher's
// odd-even merge sort, then a tree of pairwise merges makes them one. A merge of two runs is cut into intervals of at
// most 256 records of either run: every 256th record of both is a splitter, whose ranks in both runs are found by
// binary search, first among the other run's splitters and then in a window of 256 records. The paper merges the
// splitters by a nested merge to get the first of these ranks; the search gives the same number.
//
// Keys are compared by their encoding. Neither the network nor a merge is stable by itself: in a tile ties are broken
// by the place in it, and in a merge the left run's records come first.
//
// A task takes the part of thread blocks. One thread of an interval finds the ranks of the records one after the
// other, so that the search for each begins where the last one ended: that is the merge with two fingers.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "device/host/local_sort/local_sort.hpp"
#include "device/host/local_sort/sort_segments.hpp"
#include "device/satish_tiles.hpp"

namespace spansort::device::host {
namespace {

using satish::merge_tile_keys;

/// Tiles or intervals that one task takes one after the other.
constexpr std::uint64_t group_tiles = 64;

/// The comparators of the network over a tile, in the order of its steps.
struct comparator {
  std::uint8_t lower = 0;
  std::uint8_t upper = 0;
};
constexpr unsigned num_comparators = 3839;  // (p * p - p + 4) * 2^(p - 2) - 1 of 2^p places (Knuth, 5.2.2)

constexpr std::array<comparator, num_comparators> make_network() {
  std::array<comparator, num_comparators> network{};
  unsigned count = 0;
  for (unsigned half = 1; half < merge_tile_keys; half *= 2) {
    for (unsigned distance = half; distance != 0; distance /= 2) {
      for (unsigned at = 0; at < merge_tile_keys; ++at) {
        if (!satish::begins_comparator(at, half, distance, merge_tile_keys)) continue;
        network[count++] = {static_cast<std::uint8_t>(at), static_cast<std::uint8_t>(at + distance)};
      }
    }
  }
  return network;
}

template <class K, class V, class Order>
class satish_merge_sorter {
 public:
  using split = split_records<K, V>;

  satish_merge_sorter(sort_work& work, const keys::codec_of<K>& codec, local_sort_outcome& outcome)
      : work_(work), codec_(codec), order_(codec), outcome_(outcome) {}

  split sort(const sorted_segment<K, V>& segment) {
    num_keys_ = segment.count;
    shift_ = segment.bits.begin;
    begins_ = static_cast<satish::interval_begin*>(segment.scratch);
    sort_tiles(segment.source, segment.alternate);
    work_.stop_if_asked();
    work_.source_is_overwritten();
    split from = segment.alternate;
    split to = segment.source;
    for (std::uint64_t run_keys = merge_tile_keys; run_keys < num_keys_; run_keys *= 2) {
      place_splitters(from, run_keys);
      merge_intervals(from, to, run_keys);
      std::swap(from, to);
    }
    return from;
  }

 private:
  /// Calls f(number) for every tile, or for every interval of a level, of which there are as many.
  template <class F>
  void for_each_tile(const F& f) {
    const std::uint64_t num_tiles = satish::num_merge_tiles(num_keys_);
    work_.team().for_each(base::ceil_div(num_tiles, group_tiles), [&](std::uint64_t group) {
      const std::uint64_t end = std::min(num_tiles, (group + 1) * group_tiles);
      for (std::uint64_t number = group * group_tiles; number < end; ++number) f(number);
    });
  }

  [[nodiscard]] K encoded(K key) const noexcept { return static_cast<K>(order_.encode(key) >> shift_); }

  void add_pass() {
    ++outcome_.num_passes;
    outcome_.bytes_moved += 2 * num_keys_ * (sizeof(K) + value_bytes_of<V>);
  }

  void sort_tiles(split from, split to) {
    for_each_tile([&](std::uint64_t tile) {
      const std::uint64_t begin = tile * merge_tile_keys;
      const auto count = static_cast<unsigned>(std::min<std::uint64_t>(merge_tile_keys, num_keys_ - begin));
      K keys[merge_tile_keys];
      std::uint8_t places[merge_tile_keys];
      for (unsigned i = 0; i < merge_tile_keys; ++i) {
        // What lies behind the end has the highest key and the highest places, so it stays there.
        keys[i] = i < count ? encoded(from.keys[begin + i]) : static_cast<K>(~K{0});
        places[i] = static_cast<std::uint8_t>(i);
      }
      sort_network(keys, places);
      for (unsigned i = 0; i < count; ++i) to.put(begin + i, from.get(begin + places[i]));
      work_.advance(count);
    });
    add_pass();
  }

  static void sort_network(K* keys, std::uint8_t* places) {
    static constexpr std::array<comparator, num_comparators> network = make_network();
    for (const comparator c : network) {
      const K left = keys[c.lower];
      const K right = keys[c.upper];
      const std::uint8_t left_place = places[c.lower];
      const std::uint8_t right_place = places[c.upper];
      const bool swaps = satish::is_out_of_order(left, left_place, right, right_place);
      keys[c.lower] = swaps ? right : left;
      keys[c.upper] = swaps ? left : right;
      places[c.lower] = swaps ? right_place : left_place;
      places[c.upper] = swaps ? left_place : right_place;
    }
  }

  /// Finds where each interval of this level begins.
  void place_splitters(split from, std::uint64_t run_keys) {
    const satish::encoded_keys<K> array{from.keys, codec_, shift_};
    for_each_tile([&](std::uint64_t tile) {
      const std::uint64_t at = tile * merge_tile_keys;
      const satish::run_pair pair = satish::pair_at(at, run_keys, num_keys_);
      const satish::placed_splitter placed = satish::place_splitter(array, pair, at);
      begins_[pair.begin / merge_tile_keys + placed.number] = placed.begin;
    });
  }

  void merge_intervals(split from, split to, std::uint64_t run_keys) {
    for_each_tile([&](std::uint64_t number) {
      const satish::merge_interval i = satish::interval_at(begins_, number, run_keys, num_keys_);
      merge(from + i.a, i.num_a, from + i.b, i.num_b, to + i.to);
      work_.advance(i.num_a + i.num_b);
    });
    add_pass();
  }

  void merge(split a, unsigned num_a, split b, unsigned num_b, split to) const {
    unsigned from_a = 0;
    unsigned from_b = 0;
    while (from_a < num_a && from_b < num_b) {
      const bool takes_b = encoded(b.keys[from_b]) < encoded(a.keys[from_a]);
      to.put(from_a + from_b, takes_b ? b.get(from_b) : a.get(from_a));
      from_b += takes_b ? 1 : 0;
      from_a += takes_b ? 0 : 1;
    }
    for (; from_a < num_a; ++from_a) to.put(from_a + from_b, a.get(from_a));
    for (; from_b < num_b; ++from_b) to.put(from_a + from_b, b.get(from_b));
  }

  sort_work& work_;
  keys::codec_of<K> codec_;
  Order order_;
  local_sort_outcome& outcome_;
  std::uint64_t num_keys_ = 0;
  unsigned shift_ = 0;
  satish::interval_begin* begins_ = nullptr;  ///< [tile]
};

/// There are as many intervals in a level as there are tiles. Segments take turns with them.
std::uint64_t scratch_bytes(const record_shape&, std::uint64_t num_keys) {
  return satish::num_merge_tiles(num_keys) * sizeof(satish::interval_begin);
}

}  // namespace

extern const local_sort_algorithm satish_merge;
constexpr local_sort_algorithm satish_merge{.name = "satish_merge",
                                            .label = "local sort by satish_merge",
                                            .scratch_bytes = scratch_bytes,
                                            .run = sort_segments<satish_merge_sorter>};

}  // namespace spansort::device::host
