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

/// Position in the sorted whole at which each rank's part begins, slack used. `part_bounds` are those without.
std::vector<std::uint64_t> find_rank_begins(const std::vector<bucket>& buckets,
                                            const std::vector<std::uint64_t>& part_bounds) {
  std::vector<std::uint64_t> ends(part_bounds.size());  // ends[rank + 1]; shifted so that it becomes the begins
  for (const bucket& b : buckets) {
    for (unsigned rank = b.first_rank; rank < b.last_rank; ++rank) ends[rank + 1] = part_bounds[rank + 1];
    ends[b.last_rank + 1] = b.begin + b.count;
  }
  // A rank that got nothing ends where its predecessor does.
  for (std::size_t i = 1; i < ends.size(); ++i) ends[i] = std::max(ends[i], ends[i - 1]);
  return ends;
}

/// The transfers of one source rank, to `first_destination` or behind; the positions written to ascend.
class transfer_writer {
 public:
  transfer_writer(const std::vector<std::uint64_t>& rank_begins, unsigned source_rank, unsigned first_destination = 0)
      : rank_begins_(rank_begins), source_rank_(source_rank), destination_(first_destination) {}

  /// The next `count` keys of the source go to `position` of the sorted whole, which may lie in several ranks.
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

  /// The next `count` keys of the source are copied aside.
  void skip(std::uint64_t count) { offset_ += count; }

  [[nodiscard]] std::vector<transfer> take() && { return std::move(transfers_); }

 private:
  void append(const transfer& next) {
    if (!transfers_.empty()) {
      transfer& last = transfers_.back();
      const bool touches = last.source_offset + last.count == next.source_offset &&
                           last.destination_offset + last.count == next.destination_offset;
      if (last.destination_rank == next.destination_rank && touches) {
        last.count += next.count;
        return;
      }
    }
    transfers_.push_back(next);
  }

  const std::vector<std::uint64_t>& rank_begins_;
  unsigned source_rank_;
  unsigned destination_;
  std::vector<transfer> transfers_;
  std::uint64_t offset_ = 0;
};

/// The transfers of each of `sources`, whose slices the buckets have.
std::vector<std::vector<transfer>> list_outgoing(const parameters& params, rank_group sources,
                                                 std::span<const bucket> buckets,
                                                 const std::vector<std::uint64_t>& rank_begins) {
  std::vector<transfer_writer> writers;
  for (unsigned rank = sources.first; rank < sources.end(); ++rank) writers.emplace_back(rank_begins, rank);
  for (const bucket& b : buckets) {
    const bool is_aside = goes_to_all_its_ranks(params, b);
    std::uint64_t position = b.begin + b.count_before;
    for (unsigned i = 0; i < sources.count; ++i) {
      if (is_aside) {
        writers[i].skip(b.slice_counts[i]);
      } else {
        writers[i].write(position, b.slice_counts[i]);
      }
      position += b.slice_counts[i];
    }
  }
  std::vector<std::vector<transfer>> transfers;
  for (transfer_writer& writer : writers) transfers.push_back(std::move(writer).take());
  return transfers;
}

/// Says what comes to `receivers` from each rank. A source's offsets count from the first key that comes from there.
class incoming_lister {
 public:
  /// `buckets` are all that receivers hold keys of.
  incoming_lister(rank_group receivers, std::span<const bucket> buckets, const std::vector<std::uint64_t>& rank_begins)
      : receivers_(receivers), rank_begins_(rank_begins) {
    for (const bucket& b : buckets) positions_.push_back(b.begin);
  }

  /// The transfers of the next source rank, which has so many keys in each bucket.
  [[nodiscard]] std::vector<transfer> list_next(std::span<const std::uint64_t> counts) {
    transfer_writer writer(rank_begins_, source_rank_++, receivers_.first);
    const std::uint64_t first = rank_begins_[receivers_.first];
    const std::uint64_t last = rank_begins_[receivers_.end()];
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::uint64_t begin = std::max(first, positions_[i]);
      positions_[i] += counts[i];
      const std::uint64_t end = std::min(last, positions_[i]);
      if (begin < end) writer.write(begin, end - begin);
    }
    return std::move(writer).take();
  }

 private:
  rank_group receivers_;
  const std::vector<std::uint64_t>& rank_begins_;
  std::vector<std::uint64_t> positions_;  ///< in the sorted whole, of the next source's keys of each bucket
  unsigned source_rank_ = 0;
};

std::vector<transfer> joined(const std::vector<std::vector<transfer>>& lists) {
  std::size_t num_transfers = 0;
  for (const std::vector<transfer>& list : lists) num_transfers += list.size();
  std::vector<transfer> all;
  all.reserve(num_transfers);
  for (const std::vector<transfer>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace

std::span<const bucket> planner::buckets_of(rank_group receivers) const {
  SPANSORT_ASSERT(pending_.empty());
  // Ranks that hold buckets ascend.
  const auto ends_before = [&](const bucket& b) { return b.last_rank < receivers.first; };
  const auto begins_before = [&](const bucket& b) { return b.first_rank < receivers.end(); };
  const auto first = std::ranges::partition_point(buckets_, ends_before);
  return {first, std::partition_point(first, buckets_.end(), begins_before)};
}

std::vector<std::uint64_t> planner::counts_for(rank_group receivers) const {
  const std::span<const bucket> buckets = buckets_of(receivers);
  std::vector<std::uint64_t> counts;
  counts.reserve(own_.count * buckets.size());
  for (unsigned i = 0; i < own_.count; ++i) {
    for (const bucket& b : buckets) counts.push_back(b.slice_counts[i]);
  }
  return counts;
}

/// Lists them by source rank. A planner that knows all ranks needs no incoming counts.
std::vector<transfer> planner::list_transfers(std::span<const std::uint64_t> incoming_counts) const {
  std::vector<std::vector<transfer>> outgoing = list_outgoing(params_, own_, buckets_, plan_.rank_begins);
  if (knows_all()) return joined(outgoing);
  const std::span<const bucket> buckets = buckets_of(own_);
  SPANSORT_ASSERT(incoming_counts.size() == params_.num_ranks * buckets.size());
  incoming_lister incoming(own_, buckets, plan_.rank_begins);
  std::vector<std::vector<transfer>> lists;
  for (unsigned rank = 0; rank < params_.num_ranks; ++rank) {
    std::vector<transfer> from_rank =
        incoming.list_next(incoming_counts.subspan(rank * buckets.size(), buckets.size()));
    lists.push_back(own_.contains(rank) ? std::move(outgoing[rank - own_.first]) : std::move(from_rank));
  }
  return joined(lists);
}

/// Lists what ranks do with buckets that are copied. A rank's copies lie one behind the other.
void planner::list_copies() {
  if (params_.copied_keys == 0) return;
  std::vector<std::uint64_t> offsets(params_.num_ranks);  // of the bucket's slices in the chunks
  std::vector<std::uint64_t> aside(params_.num_ranks);
  for (const bucket& b : buckets_) {
    for (unsigned rank = b.first_rank; goes_to_all_its_ranks(params_, b) && rank <= b.last_rank; ++rank) {
      const std::uint64_t begin = std::max(b.begin, plan_.rank_begins[rank]);
      const std::uint64_t end = std::min(b.begin + b.count, plan_.rank_begins[rank + 1]);
      if (begin >= end) continue;
      plan_.copied_sorts.push_back({rank,
                                    aside[rank],
                                    b.count,
                                    {0, params_.key_bits - b.prefix.bit_count},
                                    begin - b.begin,
                                    begin - plan_.rank_begins[rank],
                                    end - begin});
      for (unsigned source = 0; source < params_.num_ranks; ++source) {
        const std::uint64_t count = b.slice_counts[source];
        if (count != 0) plan_.copied_transfers.push_back({source, offsets[source], rank, aside[rank], count});
        aside[rank] += count;
      }
    }
    for (unsigned rank = 0; rank < params_.num_ranks; ++rank) offsets[rank] += b.slice_counts[rank];
  }
}

sort_plan planner::finish() && {
  SPANSORT_ASSERT(knows_all());
  return std::move(*this).finish({});
}

sort_plan planner::finish(std::span<const std::uint64_t> incoming_counts) && {
  SPANSORT_ASSERT(pending_.empty());
  plan_.rank_begins = find_rank_begins(buckets_, part_bounds_);
  plan_.transfers = list_transfers(incoming_counts);
  plan_.local_sorts = fuse_buckets(params_, buckets_of(own_), plan_.rank_begins, own_);
  list_copies();
  return std::move(plan_);
}

}  // namespace spansort::plan
