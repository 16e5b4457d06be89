// SPDX-License-Identifier: Apache-2.0
// LSD radix sort in the way that Onesweep replaced (Adinets and Merrill, 2022, section 2 and figure 3). A pass over one
// digit is three steps: the upsweep counts the digit in each part of the input, a scan of the counts says where each
// part's records of each bucket go, and the downsweep moves them there. That is 3n of memory traffic a pass: two reads
// and a write. A thread block's part is here a task's, four for each thread. Digits are 8 bits wide unless asked for
// otherwise; the downsweep collects lines of each bucket before it writes them, as a GPU does in shared memory.
#include <cstdint>
#include <utility>
#include <vector>

#include "base/tasks_or_alone.hpp"
#include "device/host/local_sort/local_sort.hpp"
#include "device/host/local_sort/sort_segments.hpp"
#include "device/host/merge_alone.hpp"
#include "device/host/partition_records.hpp"
#include "device/lsd_digits.hpp"

namespace spansort::device::host {
namespace {

constexpr unsigned published_digit_bits = 8;

template <class K, class V, class Order>
class reduce_then_scan_sorter {
 public:
  using split = split_records<K, V>;

  reduce_then_scan_sorter(sort_work& work, const keys::codec_of<K>& codec, local_sort_outcome& outcome)
      : work_(work), order_(codec), outcome_(outcome) {}

  split sort(const sorted_segment<K, V>& segment) {
    split from = segment.source;
    split to = segment.alternate;
    // The passes so far are stable, so what is left to do is the whole sort again.
    base::in_tasks_or_alone([&] { pass_by_pass(segment, from, to); },
                            [&] {
                              work_.source_is_overwritten();
                              merge_sort_alone(order_, from, to, from, segment.count, segment.bits.begin);
                            });
    return from;
  }

 private:
  /// `from` holds all records whenever memory may end.
  void pass_by_pass(const sorted_segment<K, V>& segment, split& from, split& to) {
    parts_ = work_.cut(segment.count);
    for (const keys::digit_position position : lsd_digits(segment.bits, work_.digit_bits(published_digit_bits))) {
      const bit_digit<K> digit(position);
      counts_.assign(parts_.size() * digit.num_buckets(), 0);
      upsweep(from, digit);
      scan(digit.num_buckets());
      work_.stop_if_asked();
      downsweep(from, to, segment.count, digit);
      work_.stop_if_asked();
      work_.source_is_overwritten();
      std::swap(from, to);
      ++outcome_.num_passes;
      outcome_.bytes_moved += segment.count * (sizeof(K) + 2 * (sizeof(K) + value_bytes_of<V>));
    }
  }
  void upsweep(split from, const bit_digit<K>& digit) {
    work_.team().for_each(parts_.size(), [&](std::uint64_t p) {
      count_digits(order_, from.keys + parts_[p].begin, parts_[p].count, digit,
                   counts_.data() + p * digit.num_buckets());
    });
  }

  /// Turns counts into first positions: bucket by bucket, and within a bucket part by part.
  void scan(std::uint64_t num_buckets) {
    std::uint64_t position = 0;
    for (std::uint64_t b = 0; b < num_buckets; ++b) {
      for (std::uint64_t p = 0; p < parts_.size(); ++p) {
        position += std::exchange(counts_[p * num_buckets + b], position);
      }
    }
  }

  void downsweep(split from, split to, std::uint64_t num_keys, const bit_digit<K>& digit) {
    const bool stream = work_.streams(num_keys * (sizeof(K) + value_bytes_of<V>));
    work_.team().for_each(parts_.size(), [&](std::uint64_t p, worker_scratch& scratch) {
      split* const destinations = destinations_in<split>(scratch);
      for (std::uint64_t b = 0; b < digit.num_buckets(); ++b) {
        destinations[b] = to + counts_[p * digit.num_buckets() + b];
      }
      partition_records(order_, scratch, stream, from + parts_[p].begin, parts_[p].count, digit, destinations);
      work_.advance(parts_[p].count);
    });
  }

  sort_work& work_;
  Order order_;
  local_sort_outcome& outcome_;
  piece_list parts_;
  std::vector<std::uint64_t> counts_;  ///< [part][bucket], then where each part's records of a bucket begin
};

}  // namespace

extern const local_sort_algorithm lsd_reduce_then_scan;
constexpr local_sort_algorithm lsd_reduce_then_scan{.name = "lsd_reduce_then_scan",
                                                    .label = "local sort by lsd_reduce_then_scan",
                                                    .most_digit_bits = max_digit_bits,
                                                    .run = sort_segments<reduce_then_scan_sorter>};

}  // namespace spansort::device::host
