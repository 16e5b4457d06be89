// SPDX-License-Identifier: Apache-2.0
// The end of planning (RMG paper, section 3.2): final buckets become bounds between ranks, transfers and local sorts.
// Stability lies in one rule: the slices of a bucket arrive in rank order.
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "plan/fuse.hpp"
#include "plan/planner.hpp"

namespace spansort::plan {

namespace {

/// Position in the sorted whole at which each rank's part begins.
std::vector<std::uint64_t> find_rank_begins(const parameters& params, const std::vector<bucket>& buckets) {
  std::vector<std::uint64_t> ends(params.num_ranks + 1);  // ends[rank + 1]; shifted so that it becomes the begins
  for (const bucket& b : buckets) {
    for (unsigned rank = b.first_rank; rank < b.last_rank; ++rank) ends[rank + 1] = target_begin(params, rank + 1);
    ends[b.last_rank + 1] = b.begin + b.count;
  }
  // A rank that got nothing ends where its predecessor does.
  for (unsigned rank = 0; rank < params.num_ranks; ++rank) ends[rank + 1] = std::max(ends[rank + 1], ends[rank]);
  return ends;
}

/// The transfers of one source rank; the positions written to ascend.
class transfer_writer {
 public:
  transfer_writer(const std::vector<std::uint64_t>& rank_begins, unsigned source_rank)
      : rank_begins_(rank_begins), source_rank_(source_rank) {}

  /// The next `count` keys of the chunk go to `position` of the sorted whole, which may lie in several ranks.
  void write(std::uint64_t position, std::uint64_t count) {
    while (count != 0) {
      while (rank_begins_[destination_ + 1] <= position) ++destination_;
      const std::uint64_t part = std::min(count, rank_begins_[destination_ + 1] - position);
      append({source_rank_, offset_, destination_, position - rank_begins_[destination_], part});
      offset_ += part;
      position += part;
      count -= part;
    }
  }

  [[nodiscard]] const std::vector<transfer>& transfers() const { return transfers_; }

 private:
  void append(const transfer& next) {
    if (!transfers_.empty()) {
      transfer& last = transfers_.back();  // touches the next one at the source
      const bool touches = last.destination_offset + last.count == next.destination_offset;
      if (last.destination_rank == next.destination_rank && touches) {
        last.count += next.count;
        return;
      }
    }
    transfers_.push_back(next);
  }

  const std::vector<std::uint64_t>& rank_begins_;
  unsigned source_rank_;
  std::vector<transfer> transfers_;
  unsigned destination_ = 0;
  std::uint64_t offset_ = 0;
};

std::vector<transfer> list_transfers(const parameters& params, const std::vector<bucket>& buckets,
                                     const std::vector<std::uint64_t>& rank_begins) {
  std::vector<transfer_writer> writers;
  for (unsigned rank = 0; rank < params.num_ranks; ++rank) writers.emplace_back(rank_begins, rank);
  for (const bucket& b : buckets) {
    std::uint64_t position = b.begin;
    for (unsigned rank = 0; rank < params.num_ranks; ++rank) {
      writers[rank].write(position, b.slice_counts[rank]);
      position += b.slice_counts[rank];
    }
  }

  std::vector<transfer> transfers;
  std::size_t num_transfers = 0;
  for (const transfer_writer& writer : writers) num_transfers += writer.transfers().size();
  transfers.reserve(num_transfers);
  for (const transfer_writer& writer : writers) {
    transfers.insert(transfers.end(), writer.transfers().begin(), writer.transfers().end());
  }
  return transfers;
}

}  // namespace

sort_plan planner::finish() && {
  SPANSORT_ASSERT(pending_.empty());
  plan_.rank_begins = find_rank_begins(params_, buckets_);
  plan_.transfers = list_transfers(params_, buckets_, plan_.rank_begins);
  plan_.local_sorts = fuse_buckets(params_, buckets_, plan_.rank_begins);
  return std::move(plan_);
}

}  // namespace spansort::plan
