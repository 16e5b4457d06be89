// SPDX-License-Identifier: Apache-2.0
// One thread's merge of a few runs that are together no larger than its caches: neighbours are merged with neighbours,
// level after level. Only the first level reads, and only the last one writes, what lies outside.
#pragma once

#include <array>
#include <cstdint>

#include "base/assert.hpp"
#include "device/host/merge_neighbours.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/host/sort_level.hpp"

namespace spansort::device::host {

/// More runs are sorted: a fourth level takes longer than to sort what is in the caches. One thread of an Emerald
/// Rapids took for 2^24 u64(u64) in eight runs 127 ms merged and 158 sorted, in 16 runs 171 and 156, for u32(u32) in
/// eight 103 and 118, when the ends of a merge's three stretches were still searched for twice.
inline constexpr std::uint64_t most_bucket_runs = 8;

/// The runs of one bucket, from the left to the right.
struct bucket_runs {
  std::array<run_span, most_bucket_runs> spans = {};
  std::uint64_t count = 0;

  void append(run_span of) noexcept { spans[count++] = of; }
};

/// Merges neighbouring runs of `from`, and copies one that is alone, to the begin of `to`. Returns the runs of the
/// latter.
template <merge_form Form, class K, class V, class Order>
bucket_runs merge_bucket_level(const Order& order, split_records<K, V> from, const bucket_runs& runs,
                               split_records<K, V> to) {
  bucket_runs merged;
  std::uint64_t end = 0;
  for (std::uint64_t r = 0; r < runs.count; r += 2) {
    const run_span left = runs.spans[r];
    const run_span right = r + 1 < runs.count ? runs.spans[r + 1] : run_span{left.end, left.end};
    const merge_stretch both{left.begin, left.end, right.begin, right.end, end};
    merge_neighbours<Form>(order, from, both, to);
    merged.append({end, end + both.size()});
    end += both.size();
  }
  return merged;
}

template <class K, class V, class Order>
class bucket_merger {
 public:
  using split = split_records<K, V>;

  /// The scratch has room for so many records, which no bucket exceeds.
  bucket_merger(const Order& order, worker_scratch& scratch, std::uint64_t most_records)
      : order_(order),
        spare_{split_at<K, V>(scratch.records[0].get(), most_records),
               split_at<K, V>(scratch.records[1].get(), most_records)} {
    SPANSORT_ASSERT((split_bytes<K, V>(most_records) <= max_local_bytes));
  }

  /// Merges runs of `from` to the begin of `to`, stably. First and Last say what the first level reads, and what the
  /// last one writes: where these differ from records there are three runs or more.
  template <merge_form First = merge_form::records, merge_form Last = merge_form::records>
  void merge(split from, bucket_runs runs, split to) const {
    if constexpr (First == merge_form::records && Last == merge_form::records) {
      if (runs.count <= 2) {
        merge_bucket_level<Last>(order_, from, runs, to);
        return;
      }
    }
    SPANSORT_ASSERT(runs.count > 2);
    unsigned into = 0;
    runs = merge_bucket_level<First>(order_, from, runs, spare_[into]);
    for (; runs.count > 2; into = 1 - into) {
      runs = merge_bucket_level<merge_form::records>(order_, spare_[into], runs, spare_[1 - into]);
    }
    merge_bucket_level<Last>(order_, spare_[into], runs, to);
  }

 private:
  Order order_;
  split spare_[2];
};

}  // namespace spansort::device::host
