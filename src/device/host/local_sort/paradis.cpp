// SPDX-License-Identifier: Apache-2.0
// PARADIS (Cho, Brand, Bordawekar, Finkler, Kulandaisamy and Puri, VLDB 2015, which RMG sort, section 5, measures as
// its rival): an MSD radix sort in place, on all threads at once. A level splits by 8 bits:
//   1. The digit is counted, which gives each bucket its place.
//   2. Until all records are in their buckets: every thread gets a stripe of each bucket's rest and permutes records
//      among its own stripes, as long as the stripe that a record belongs to has room (the speculative permutation);
//      then the misplaced records of each bucket are gathered at its end, which is its next rest (the repair).
//   3. The buckets are sorted by the digits below: large ones one after the other on all threads, others a thread each.
// The paper leaves the rest's division open where it is shorter than the threads are many: here the first threads get
// it, so the first one always places a record, and the loop ends. A rest of few records is one thread's from the start.
//
// A permutation in place is not stable. Records with values therefore get their position in the input as an index of 8
// bytes, which moves with them and is sorted by, 8 bits a level, once the key's digits are used up: 8 bytes of scratch
// a record. Keys alone take none.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/tasks_or_alone.hpp"
#include "device/host/local_sort/local_sort.hpp"
#include "device/host/local_sort/sort_segments.hpp"

namespace spansort::device::host {
namespace {

constexpr unsigned level_bits = 8;
constexpr unsigned num_buckets = 1U << level_bits;
/// This many records, and fewer, are sorted by insertion.
constexpr std::uint64_t insertion_keys = 32;
/// A rest of so many records is permuted by one thread.
constexpr std::uint64_t rest_of_one_thread = 4096;

struct no_index {};

/// Records that move in place, with their positions in the input where these break ties.
template <class K, class V>
struct indexed_records {
  static constexpr bool has_index = value_bytes_of<V> != 0;
  struct record {
    packed_record<K, V> moved;
    [[no_unique_address]] std::conditional_t<has_index, std::uint64_t, no_index> index;
  };

  split_records<K, V> data;
  std::uint64_t* indices = nullptr;

  [[nodiscard]] record get(std::uint64_t i) const noexcept {
    if constexpr (has_index)
      return {data.get(i), indices[i]};
    else
      return {data.get(i), {}};
  }
  void put(std::uint64_t i, const record& r) const noexcept {
    data.put(i, r.moved);
    if constexpr (has_index) indices[i] = r.index;
  }
  [[nodiscard]] indexed_records operator+(std::uint64_t count) const noexcept {
    return {data + count, has_index ? indices + count : nullptr};
  }
};

/// What is left to sort by: bits of the key from `key_begin` up to `key_end`, then the low `index_bits` of the index.
struct remaining_bits {
  unsigned key_begin = 0;
  unsigned key_end = 0;
  unsigned index_bits = 0;

  [[nodiscard]] bool empty() const noexcept { return key_begin == key_end && index_bits == 0; }
  /// Returns what is left below the highest digit.
  [[nodiscard]] remaining_bits below() const noexcept {
    if (key_end > key_begin) return {key_begin, key_end - std::min(level_bits, key_end - key_begin), index_bits};
    return {key_begin, key_end, index_bits - std::min(level_bits, index_bits)};
  }
};

template <class K, class V, class Order>
class paradis_sorter {
 public:
  using split = split_records<K, V>;
  using records = indexed_records<K, V>;
  using record = typename records::record;

  paradis_sorter(sort_work& work, const keys::codec_of<K>& codec, local_sort_outcome& outcome)
      : work_(work), order_(codec), outcome_(outcome) {}

  split sort(const sorted_segment<K, V>& segment) {
    const records all{segment.source, static_cast<std::uint64_t*>(segment.scratch)};
    const auto index_bits = static_cast<unsigned>(std::bit_width(segment.count - 1));
    if constexpr (records::has_index) number(all, segment.count);
    first_key_bit_ = segment.bits.begin;
    sort_on_all_threads(all, segment.count,
                        {segment.bits.begin, segment.bits.end, records::has_index ? index_bits : 0});
    return segment.source;
  }

 private:
  using counts = std::array<std::uint64_t, num_buckets>;

  /// A stretch of each bucket: from where to where.
  struct stripes {
    counts head;
    counts tail;
  };

  /// The digit of one level: a function of the record.
  struct extended_digit {
    Order order;
    bool is_of_key = true;
    unsigned shift = 0;
    unsigned mask = 0;

    [[nodiscard]] unsigned of(const record& r) const noexcept {
      if constexpr (records::has_index) {
        if (!is_of_key) return static_cast<unsigned>(r.index >> shift) & mask;
      }
      return static_cast<unsigned>(order.encode(r.moved.key) >> shift) & mask;
    }
  };

  [[nodiscard]] extended_digit digit_at(const remaining_bits& bits) const noexcept {
    const remaining_bits rest = bits.below();
    if (bits.key_end > bits.key_begin) {
      return {order_, true, rest.key_end, static_cast<unsigned>(base::low_mask(bits.key_end - rest.key_end))};
    }
    return {order_, false, rest.index_bits, static_cast<unsigned>(base::low_mask(bits.index_bits - rest.index_bits))};
  }

  void number(const records& all, std::uint64_t num_keys) {
    const piece_list pieces = work_.cut(num_keys);
    work_.team().for_each(pieces.size(), [&](std::uint64_t p) {
      for (std::uint64_t i = pieces[p].begin; i < pieces[p].begin + pieces[p].count; ++i) all.indices[i] = i;
    });
  }

  /// Sorts also where memory ends: that may happen between steps, when all records are in the array, and one thread,
  /// which needs no memory, then starts anew.
  void sort_on_all_threads(const records& all, std::uint64_t num_keys, remaining_bits bits) {
    if (num_keys < 2 || bits.empty()) return;
    base::in_tasks_or_alone([&] { split_on_all_threads(all, num_keys, bits); },
                            [&] { sort_on_one_thread(all, num_keys, bits); });
  }

  void split_on_all_threads(const records& all, std::uint64_t num_keys, remaining_bits bits) {
    const extended_digit digit = digit_at(bits);
    stripes rest = buckets_of(count_on_all_threads(all, num_keys, digit));
    const stripes buckets = rest;
    work_.stop_if_asked();
    work_.source_is_overwritten();
    while (const std::uint64_t num_left = size_of(rest)) {
      if (num_left == num_keys && is_one_bucket(buckets, num_keys)) break;
      const unsigned num_threads = num_left <= rest_of_one_thread ? 1 : work_.num_threads();
      std::vector<stripes> of_threads = divide(rest, num_threads);
      work_.team().for_each(num_threads, [&](std::uint64_t t) { permute(all, digit, of_threads[t]); });
      repair(all, digit, of_threads, rest);
    }
    work_.advance(num_keys);
    outcome_.num_passes = std::max(outcome_.num_passes, ++depth_);
    outcome_.bytes_moved += num_keys * (sizeof(K) + 2 * sizeof(record));
    sort_buckets(all, num_keys, buckets, bits.below());
    --depth_;
  }

  /// Large buckets one after the other on all threads, the others a thread each.
  void sort_buckets(const records& all, std::uint64_t num_keys, const stripes& buckets, remaining_bits bits) {
    if (bits.empty()) return;
    const std::uint64_t large_keys = std::max(rest_of_one_thread, num_keys / (4 * work_.num_threads()));
    for (unsigned b = 0; b < num_buckets; ++b) {
      const std::uint64_t count = buckets.tail[b] - buckets.head[b];
      if (count > large_keys) sort_on_all_threads(all + buckets.head[b], count, bits);
    }
    work_.team().for_each(num_buckets, [&](std::uint64_t b) {
      const std::uint64_t count = buckets.tail[b] - buckets.head[b];
      if (count <= large_keys) sort_on_one_thread(all + buckets.head[b], count, bits);
    });
  }

  void sort_on_one_thread(const records& all, std::uint64_t num_keys, remaining_bits bits) const {
    if (bits.empty()) return;
    if (num_keys <= insertion_keys) return insertion_sort(all, num_keys);
    const extended_digit digit = digit_at(bits);
    counts found{};
    add_counts(all, num_keys, digit, found);
    const stripes buckets = buckets_of(found);
    if (!is_one_bucket(buckets, num_keys)) {
      // One thread's stripes are the buckets, so that every record finds room in one permutation.
      stripes rest = buckets;
      permute(all, digit, rest);
    }
    const remaining_bits rest_bits = bits.below();
    for (unsigned b = 0; b < num_buckets; ++b) {
      const std::uint64_t count = buckets.tail[b] - buckets.head[b];
      if (count > 1) sort_on_one_thread(all + buckets.head[b], count, rest_bits);
    }
  }

  /// Compares whole records, for all above the remaining bits agree.
  void insertion_sort(const records& all, std::uint64_t num_keys) const {
    const auto is_less = [this](const record& left, const record& right) {
      const K left_key = static_cast<K>(order_.encode(left.moved.key) >> first_key_bit_);
      const K right_key = static_cast<K>(order_.encode(right.moved.key) >> first_key_bit_);
      if constexpr (records::has_index) {
        if (left_key == right_key) return left.index < right.index;
      }
      return left_key < right_key;
    };
    for (std::uint64_t i = 1; i < num_keys; ++i) {
      const record r = all.get(i);
      std::uint64_t j = i;
      for (; j > 0 && is_less(r, all.get(j - 1)); --j) all.put(j, all.get(j - 1));
      all.put(j, r);
    }
  }

  static void add_counts(const records& outer_all, std::uint64_t num_keys, const extended_digit& outer_digit,
                         counts& found) {
    const records all = outer_all;
    const extended_digit digit = outer_digit;
    for (std::uint64_t i = 0; i < num_keys; ++i) ++found[digit.of(all.get(i))];
  }

  [[nodiscard]] counts count_on_all_threads(const records& all, std::uint64_t num_keys, const extended_digit& digit) {
    const piece_list pieces = work_.cut(num_keys);
    std::vector<counts> of_pieces(pieces.size());
    work_.team().for_each(pieces.size(), [&](std::uint64_t p) {
      add_counts(all + pieces[p].begin, pieces[p].count, digit, of_pieces[p]);
    });
    counts sum{};
    for (const counts& c : of_pieces) {
      for (unsigned b = 0; b < num_buckets; ++b) sum[b] += c[b];
    }
    return sum;
  }

  [[nodiscard]] static stripes buckets_of(const counts& found) {
    stripes buckets;
    std::uint64_t position = 0;
    for (unsigned b = 0; b < num_buckets; ++b) {
      buckets.head[b] = position;
      buckets.tail[b] = position += found[b];
    }
    return buckets;
  }

  [[nodiscard]] static std::uint64_t size_of(const stripes& rest) {
    std::uint64_t size = 0;
    for (unsigned b = 0; b < num_buckets; ++b) size += rest.tail[b] - rest.head[b];
    return size;
  }

  [[nodiscard]] static bool is_one_bucket(const stripes& buckets, std::uint64_t num_keys) {
    for (unsigned b = 0; b < num_buckets; ++b) {
      if (buckets.tail[b] - buckets.head[b] == num_keys) return true;
    }
    return false;
  }

  /// Gives every thread a stripe of each bucket's rest; the first threads get one record more where it does not divide.
  [[nodiscard]] static std::vector<stripes> divide(const stripes& rest, unsigned num_threads) {
    std::vector<stripes> of_threads(num_threads);
    for (unsigned b = 0; b < num_buckets; ++b) {
      const std::uint64_t size = rest.tail[b] - rest.head[b];
      std::uint64_t begin = rest.head[b];
      for (unsigned t = 0; t < num_threads; ++t) {
        of_threads[t].head[b] = begin;
        of_threads[t].tail[b] = begin += size / num_threads + (t < size % num_threads ? 1 : 0);
      }
    }
    return of_threads;
  }

  /// The speculative permutation of one thread (PARADIS_Permute). Afterwards each stripe holds records of its bucket up
  /// to its head, and misplaced ones from there on.
  static void permute(const records& outer_all, const extended_digit& outer_digit, stripes& own) {
    // Copies of its own stay in registers: the compiler need not fear that a store has changed them.
    const records all = outer_all;
    const extended_digit digit = outer_digit;
    for (unsigned b = 0; b < num_buckets; ++b) {
      for (std::uint64_t at = own.head[b]; at < own.tail[b]; ++at) {
        record r = all.get(at);
        unsigned target = digit.of(r);
        while (target != b && own.head[target] < own.tail[target]) {
          const std::uint64_t to = own.head[target]++;
          const record displaced = all.get(to);
          all.put(to, r);
          r = displaced;
          target = digit.of(r);
        }
        if (target == b) {
          // A misplaced record that waits at the head makes room.
          all.put(at, all.get(own.head[b]));
          all.put(own.head[b]++, r);
        } else {
          all.put(at, r);
        }
      }
    }
  }

  /// Gathers each bucket's misplaced records at its end (PARADIS_Repair), and makes them its rest.
  void repair(const records& all, const extended_digit& digit, const std::vector<stripes>& of_threads, stripes& rest) {
    work_.team().for_each(num_buckets, [&](std::uint64_t b) {
      std::uint64_t tail = rest.tail[b];
      for (const stripes& s : of_threads) {
        for (std::uint64_t at = s.head[b]; at < std::min(s.tail[b], tail); ++at) {
          do {
            --tail;
          } while (tail > at && digit.of(all.get(tail)) != b);
          if (tail == at) break;
          const record misplaced = all.get(at);
          all.put(at, all.get(tail));
          all.put(tail, misplaced);
        }
      }
      rest.head[b] = tail;
    });
  }

  sort_work& work_;
  Order order_;
  local_sort_outcome& outcome_;
  unsigned first_key_bit_ = 0;
  unsigned depth_ = 0;
};

std::uint64_t scratch_bytes(const record_shape& shape, std::uint64_t num_keys) {
  return shape.value_bytes == 0 ? 0 : num_keys * sizeof(std::uint64_t);
}

}  // namespace

extern const local_sort_algorithm paradis;
constexpr local_sort_algorithm paradis{.name = "paradis",
                                       .label = "local sort by paradis",
                                       .needs_alternate = false,
                                       .scratch_bytes = scratch_bytes,
                                       .run = sort_segments<paradis_sorter>};

}  // namespace spansort::device::host
