// SPDX-License-Identifier: Apache-2.0
// The way of counts: a digit of all keys is counted, records are partitioned by it, and each bucket is sorted in a
// thread's cache, or by another level where it is too large for that. Traffic per record: one read of the key (count),
// one read and write (partition), one read and write (buckets).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "device/host/count_values.hpp"
#include "device/host/merge_alone.hpp"
#include "device/host/partition_records.hpp"
#include "device/host/sort_call.hpp"

namespace spansort::device::host {

template <class K, class V, class Order>
class level_sorter {
 public:
  using call = sort_call<K, V, Order>;
  using split = typename call::split;

  explicit level_sorter(call& of) : call_(of) {}

  /// Sorts what has been counted. On the first level nothing of the source has been overwritten yet: it can stop.
  /// Throws std::bad_alloc only as long as the source is whole: all that takes memory comes before the partition.
  void sort_level(split source, split alternate, split result, std::uint64_t num_keys, unsigned begin_bit,
                  level_counts<K>& level, unsigned depth) {
    const bool can_stop = call_.can_stop && depth == 1;
    if (level.digit.num_buckets() == 1) return call_.copy(source, result, num_keys);
    if (keys_alone && begin_bit == 0 && fill_instead(source, result, num_keys, level, can_stop)) return;
    const std::vector<std::uint64_t> positions = positions_of(level);
    const bool is_last = !level.digit.is_chosen_by_rank() && level.digit.shift() == begin_bit;
    const level_buckets buckets = is_last ? level_buckets() : list_buckets(num_keys, begin_bit, level, positions);
    partition(source, alternate, num_keys, level, positions, can_stop);
    if (can_stop) call_.watch.stop_if_asked();
    call_.outcome.num_passes = std::max(call_.outcome.num_passes, depth + 1);
    if (is_last) return call_.copy(alternate, result, num_keys);
    sort_buckets(source, alternate, result, buckets, depth);
  }

  /// Counts a digit of `source`, and sorts by it and those below.
  void sort_counted(split source, split alternate, split result, std::uint64_t num_keys, keys::bit_range bits,
                    unsigned depth) {
    sort_in_any_case(call_.order, source, alternate, result, num_keys, bits.begin, [&] {
      level_counts<K> level = call_.counter().count(source.keys, num_keys, bits, depth);
      call_.outcome.bytes_moved += num_keys * sizeof(K);
      sort_level(source, alternate, result, num_keys, bits.begin, level, depth);
    });
  }

  /// Sorts segments of `from`, a thread each. Those that do not fit a thread's caches overwrite `other`.
  void sort_each(split from, split other, split result, std::span<const sort_segment> segments,
                 std::uint64_t num_keys) {
    const bool stream = num_keys * record_bytes >= call_.limits.stream_bytes;
    std::atomic<std::uint64_t> next{0};
    call_.team.for_each(segments.size(), [&](std::uint64_t i, worker_scratch& scratch) {
      // Whoever takes results away wants them from the begin on, not from where each thread has its share.
      const sort_segment s = segments[!call_.watch.has_flow() ? i : next.fetch_add(1, std::memory_order_relaxed)];
      in_cache bucket(call_.order, call_.codec, scratch, stream);
      if (s.count > in_cache::max_keys) {
        bucket.sort_large(from + s.begin, other + s.begin, result + s.begin, s.count);
      } else {
        bucket.sort(from + s.begin, result + s.begin, s.count, s.bits);
      }
      call_.watch.advance(s.count);
      call_.hand_over(result + s.begin, s.count);
    });
    call_.add_moves(num_keys, 2);
  }

  /// Writes keys alone of few distinct values by their counts instead of moving them.
  bool fill_instead(split source, split result, std::uint64_t num_keys, level_counts<K>& level, bool can_stop) {
    if constexpr (!keys_alone) return false;
    const unsigned end = level.differing_end;
    if (!can_fill(num_keys, end)) return false;
    const std::vector<std::uint64_t> ends = count_ends(source.keys, num_keys, level, end);
    if (can_stop) call_.watch.stop_if_asked();
    const K above = static_cast<K>(call_.order.encode(source.keys[0]) & ~static_cast<K>(base::low_mask(end)));
    call_.repeated().write_values(result.keys, num_keys, ends, [&](std::uint64_t value) {
      return call_.order.store(static_cast<K>(above | static_cast<K>(value)));
    });
    call_.watch.advance(num_keys);
    call_.outcome.bytes_moved += num_keys * sizeof(K);
    return true;
  }

  /// Returns whether keys that differ in so many low bits are written by their counts.
  [[nodiscard]] static bool can_fill(std::uint64_t num_keys, unsigned differing_end) {
    return differing_end <= most_value_bits && num_keys >= (std::uint64_t{4} << differing_end);
  }

 private:
  using in_cache = typename call::in_cache;
  static constexpr std::uint64_t record_bytes = call::record_bytes;
  static constexpr bool keys_alone = call::keys_alone;

  /// Returns where the keys of each value of the low `bits` bits end, from the level's counts where those are values'.
  [[nodiscard]] std::vector<std::uint64_t> count_ends(const K* keys, std::uint64_t num_keys,
                                                      const level_counts<K>& level, unsigned bits) {
    if (!level.digit.is_chosen_by_rank() && level.digit.shift() == 0) {
      std::vector<std::uint64_t> ends = counts_of_buckets(level);
      std::partial_sum(ends.begin(), ends.end(), ends.begin());
      return ends;
    }
    const bool are_few = num_keys >> 32 == 0;
    const auto count = are_few ? count_value_ends<std::uint32_t, K, Order> : count_value_ends<std::uint64_t, K, Order>;
    return count(call_.team, call_.order, keys, call_.cut(num_keys), bits);
  }

  void partition(split source, split alternate, std::uint64_t num_keys, const level_counts<K>& level,
                 const std::vector<std::uint64_t>& positions, bool can_stop) {
    const std::uint64_t num_buckets = level.digit.num_buckets();
    const std::uint64_t least_bytes = keys_alone ? call_.limits.stream_bytes : call_.limits.stream_pairs_bytes;
    const bool stream = num_keys * record_bytes >= least_bytes;
    level.digit.template visit<!keys_alone>([&](const auto& digit) {
      call_.team.for_each(level.pieces.size(), [&](std::uint64_t i, worker_scratch& scratch) {
        if (can_stop && call_.watch.stopping()) return;
        split* const destinations = destinations_in<split>(scratch);
        for (std::uint64_t b = 0; b < num_buckets; ++b) destinations[b] = alternate + positions[i * num_buckets + b];
        const piece part = level.pieces[i];
        partition_records(call_.order, scratch, stream, source + part.begin, part.count, digit, destinations);
        call_.watch.advance(part.count);
      });
    });
    call_.add_moves(num_keys, 2);
  }

  /// The buckets of a level that hold any records.
  struct level_buckets {
    std::vector<sort_segment> large;  ///< get another level
    std::vector<sort_segment> small;  ///< a thread each
    std::uint64_t num_small_keys = 0;
  };

  [[nodiscard]] level_buckets list_buckets(std::uint64_t num_keys, unsigned begin_bit, const level_counts<K>& level,
                                           const std::vector<std::uint64_t>& positions) const {
    level_buckets found_buckets;
    const unsigned shift = level.digit.shift();
    const std::uint64_t num_buckets = level.digit.num_buckets();
    for (std::uint64_t b = 0; b < num_buckets; ++b) {
      const std::uint64_t end = b + 1 == num_buckets ? num_keys : positions[b + 1];
      const unsigned end_bit = level.digit.is_exact(b) ? shift : level.differing_end;
      const sort_segment found{positions[b], end - positions[b], {begin_bit, end_bit}};
      if (found.count == 0) continue;
      if (found.count > call_.local_keys() && !fits_one_thread(found, num_keys)) {
        found_buckets.large.push_back(found);
      } else {
        found_buckets.small.push_back(found);
        found_buckets.num_small_keys += found.count;
      }
    }
    if (!call_.watch.has_flow()) {  // the longest tasks first, so that nobody waits for one that began last
      std::stable_partition(found_buckets.small.begin(), found_buckets.small.end(),
                            [&](const sort_segment& b) { return b.count > call_.local_keys(); });
    }
    return found_buckets;
  }

  /// Buckets lie partitioned in `alternate`.
  void sort_buckets(split source, split alternate, split result, const level_buckets& buckets, unsigned depth) {
    for (const sort_segment& b : buckets.large) {
      sort_counted(alternate + b.begin, source + b.begin, result + b.begin, b.count, b.bits, depth + 1);
      call_.hand_over(result + b.begin, b.count);
    }
    sort_each(alternate, source, result, buckets.small, buckets.num_small_keys);
  }

  /// Returns whether one thread may take a large bucket while the others have as much to do: quicksort finds bounds in
  /// crowds that another digit would not split.
  [[nodiscard]] bool fits_one_thread(const sort_segment& bucket, std::uint64_t num_keys) const {
    return in_cache::sorts_in_vectors(bucket.count, bucket.bits) && bucket.count <= num_keys / call_.team.num_threads();
  }

  call& call_;
};

}  // namespace spansort::device::host
