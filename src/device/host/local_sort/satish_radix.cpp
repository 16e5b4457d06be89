// SPDX-License-Identifier: Apache-2.0
// The radix sort of Satish, Harris and Garland (2009, section III), digits of 4 bits from the lowest up. A pass:
//   1. Each tile of 1,024 records is sorted by its digit through four stable 1-bit splits on chip.
//   2. The sorted tile and the counts of its 16 buckets go to memory, the counts into a table in column-major order.
//   3. A scan of the table says where each tile's records of each bucket go.
//   4. Each tile's runs are copied there.
// That is two reads and two writes of each record a pass. The tiles go to the alternate and the runs come back, so a
// pass ends where it began. What the splits move is the digit with the record's place in the tile; the record follows
// once. A task takes the part of thread blocks: it sorts a group of tiles, each in arrays that stay in the first cache.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "device/host/local_sort/local_sort.hpp"
#include "device/host/local_sort/sort_segments.hpp"
#include "device/lsd_digits.hpp"
#include "device/satish_tiles.hpp"

namespace spansort::device::host {
namespace {

using satish::radix_buckets;
using satish::radix_tile_keys;

/// Tiles that one task takes one after the other.
constexpr std::uint64_t group_tiles = 64;

template <class K, class V, class Order>
class satish_radix_sorter {
 public:
  using split = split_records<K, V>;

  satish_radix_sorter(sort_work& work, const keys::codec_of<K>& codec, local_sort_outcome& outcome)
      : work_(work), order_(codec), outcome_(outcome) {}

  split sort(const sorted_segment<K, V>& segment) {
    num_keys_ = segment.count;
    num_tiles_ = satish::num_radix_tiles(num_keys_);
    table_ = static_cast<std::uint64_t*>(segment.scratch);
    for (const keys::digit_position position : lsd_digits(segment.bits, satish::radix_digit_bits)) {
      const bit_digit<K> digit(position);
      sort_tiles(segment.source, segment.alternate, digit);
      scan_table();
      work_.stop_if_asked();
      work_.source_is_overwritten();
      scatter_tiles(segment.alternate, segment.source, digit);
      ++outcome_.num_passes;
      outcome_.bytes_moved += 4 * num_keys_ * (sizeof(K) + value_bytes_of<V>);
    }
    return segment.source;
  }

 private:
  /// Calls f(tile, first record, number of records) for all tiles.
  template <class F>
  void for_each_tile(const F& f) {
    work_.team().for_each(base::ceil_div(num_tiles_, group_tiles), [&](std::uint64_t group) {
      const std::uint64_t end = std::min(num_tiles_, (group + 1) * group_tiles);
      for (std::uint64_t tile = group * group_tiles; tile < end; ++tile) {
        const std::uint64_t begin = tile * radix_tile_keys;
        f(tile, begin, static_cast<unsigned>(std::min<std::uint64_t>(radix_tile_keys, num_keys_ - begin)));
      }
    });
  }

  void sort_tiles(split from, split to, const bit_digit<K>& digit) {
    for_each_tile([&](std::uint64_t tile, std::uint64_t begin, unsigned count) {
      std::uint16_t words[2][radix_tile_keys];
      std::uint64_t counts[radix_buckets] = {};
      const Order order = order_;
      for (unsigned i = 0; i < count; ++i) {
        const auto d = static_cast<unsigned>(digit.of(order.encode(from.keys[begin + i])));
        words[0][i] = satish::split_word(d, i);
        ++counts[d];
      }
      for (unsigned s = 0; s < digit.bits; ++s) split_by_bit(words[s % 2], words[(s + 1) % 2], count, s);
      const std::uint16_t* const sorted = words[digit.bits % 2];
      for (unsigned i = 0; i < count; ++i) to.put(begin + i, from.get(begin + satish::place_of(sorted[i])));
      for (unsigned b = 0; b < radix_buckets; ++b) table_[b * num_tiles_ + tile] = counts[b];
      work_.advance(count / 2);
    });
  }

  /// One split: words whose bit is clear come first, and both kinds keep their order.
  static void split_by_bit(const std::uint16_t* from, std::uint16_t* to, unsigned count, unsigned number) {
    unsigned next[2] = {0, 0};
    for (unsigned i = 0; i < count; ++i) next[1] += 1 - satish::split_bit(from[i], number);
    for (unsigned i = 0; i < count; ++i) to[next[satish::split_bit(from[i], number)]++] = from[i];
  }

  void scan_table() {
    std::uint64_t position = 0;
    for (std::uint64_t i = 0; i < radix_buckets * num_tiles_; ++i) position += std::exchange(table_[i], position);
  }

  void scatter_tiles(split from, split to, const bit_digit<K>& digit) {
    for_each_tile([&](std::uint64_t tile, std::uint64_t begin, unsigned count) {
      std::uint64_t next[radix_buckets];
      for (unsigned b = 0; b < radix_buckets; ++b) next[b] = table_[b * num_tiles_ + tile];
      const Order order = order_;
      for (unsigned i = 0; i < count; ++i) {
        const packed_record<K, V> r = from.get(begin + i);
        to.put(next[digit.of(order.encode(r.key))]++, r);
      }
      work_.advance(count - count / 2);
    });
  }

  sort_work& work_;
  Order order_;
  local_sort_outcome& outcome_;
  std::uint64_t num_keys_ = 0;
  std::uint64_t num_tiles_ = 0;
  std::uint64_t* table_ = nullptr;  ///< [bucket][tile]: counts, then where the tile's records of the bucket go
};

/// The table has an entry for each bucket of each tile. Segments take turns with it.
std::uint64_t scratch_bytes(const record_shape&, std::uint64_t num_keys) {
  return satish::num_radix_tiles(num_keys) * radix_buckets * sizeof(std::uint64_t);
}

}  // namespace

extern const local_sort_algorithm satish_radix;
constexpr local_sort_algorithm satish_radix{.name = "satish_radix",
                                            .label = "local sort by satish_radix",
                                            .scratch_bytes = scratch_bytes,
                                            .run = sort_segments<satish_radix_sorter>};

}  // namespace spansort::device::host
