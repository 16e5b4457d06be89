// SPDX-License-Identifier: Apache-2.0
// verify(): ranks, transfers and local sorts. What the passes left behind is checked in verify_passes.cpp.
#include "plan/verify.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace spansort::plan {

void verifier::check_parameters() const {
  require(num_ranks_ >= 1, "it has no ranks");
  require(params_.key_bits >= 1 && params_.key_bits <= 64, "keys have {} bits", params_.key_bits);
  require(params_.radix_bits >= 1, "digits have no bits");
}

std::vector<std::uint64_t> verifier::bounds_of(const std::vector<std::uint64_t>& counts) const {
  require(counts.empty() || counts.size() == num_ranks_, "{} sizes are given for {} ranks", counts.size(), num_ranks_);
  const std::uint64_t quotient = params_.num_keys / num_ranks_;
  const std::uint64_t remainder = params_.num_keys % num_ranks_;
  std::vector<std::uint64_t> bounds = {0};
  std::uint64_t carry = 0;
  for (unsigned rank = 0; rank < num_ranks_; ++rank) {
    carry += remainder;
    const bool one_more = carry >= num_ranks_;
    if (one_more) carry -= num_ranks_;
    const std::uint64_t count = counts.empty() ? quotient + (one_more ? 1 : 0) : counts[rank];
    require(fits(bounds.back(), count, params_.num_keys), "sizes given up to rank {} exceed {} keys", rank,
            params_.num_keys);
    bounds.push_back(bounds.back() + count);
  }
  require(bounds.back() == params_.num_keys, "the sizes given sum to {} of {} keys", bounds.back(), params_.num_keys);
  return bounds;
}

void verifier::derive_bounds() {
  chunks_ = bounds_of(params_.source_counts);
  parts_ = bounds_of(params_.target_counts);
  std::uint64_t largest = 0;
  for (unsigned rank = 0; rank < num_ranks_; ++rank) largest = std::max(largest, part_count(rank));
  const double slack = params_.epsilon * static_cast<double>(largest);
  slack_keys_ = slack < static_cast<double>(params_.num_keys) ? static_cast<std::uint64_t>(slack) : params_.num_keys;
}

void verifier::check_ranks() const {
  const auto& begins = plan_.rank_begins;
  require(begins.size() == num_ranks_ + std::size_t{1}, "{} rank bounds for {} ranks", begins.size(), num_ranks_);
  require(begins.front() == 0, "the first rank begins at {}", begins.front());
  require(begins.back() == params_.num_keys, "ranks end at {} of {} keys", begins.back(), params_.num_keys);
  require(std::is_sorted(begins.begin(), begins.end()), "rank bounds do not ascend");
  for (unsigned rank = 0; rank < num_ranks_; ++rank) {
    const std::uint64_t moved = begins[rank] > parts_[rank] ? begins[rank] - parts_[rank] : parts_[rank] - begins[rank];
    require(moved <= slack_keys_, "rank {} begins at {}, its part at {}; the slack is {} at each end", rank,
            begins[rank], parts_[rank], slack_keys_);
    require(part_count(rank) != 0 || plan_.rank_count(rank) == 0, "rank {} gets {} keys but has no part", rank,
            plan_.rank_count(rank));
  }
}

void verifier::check_owners_hold_their_buckets() const {
  const auto& begins = plan_.rank_begins;
  for (const bucket& b : final_buckets()) {
    require(begins[b.first_rank] <= b.begin && b.begin + b.count <= begins[b.last_rank + 1],
            "the bucket at {} is not inside ranks {} to {}", b.begin, b.first_rank, b.last_rank);
    for (unsigned rank = b.first_rank + 1; rank <= b.last_rank; ++rank) {
      require(begins[rank] == parts_[rank], "equal keys are cut at {}, not at {} where rank {}'s part begins",
              begins[rank], parts_[rank], rank);
    }
  }
}

std::uint64_t verifier::num_copied() const {
  std::uint64_t count = 0;
  for (const bucket& b : final_buckets()) count += goes_to_all_its_ranks(params_, b) ? b.count : 0;
  return count;
}

std::vector<std::vector<slice>> verifier::copied_slices() const {
  std::vector<std::vector<slice>> slices(num_ranks_);
  std::vector<std::uint64_t> offsets(num_ranks_);
  for (const bucket& b : final_buckets()) {
    for (unsigned rank = 0; rank < num_ranks_; ++rank) {
      const std::uint64_t count = b.slice_counts[rank];
      if (count != 0 && goes_to_all_its_ranks(params_, b)) slices[rank].push_back({rank, offsets[rank], count});
      offsets[rank] += count;
    }
  }
  return slices;
}

void verifier::check_transfers_in_place() const {
  const std::vector<std::vector<slice>> copied = copied_slices();
  std::vector<std::size_t> next_copied(num_ranks_);
  unsigned rank = 0;
  std::uint64_t offset = 0;
  const auto skip_copied = [&] {
    for (std::size_t& next = next_copied[rank]; next < copied[rank].size(); ++next) {
      if (copied[rank][next].offset != offset) return;
      offset += copied[rank][next].count;
    }
  };
  for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
    const transfer& t = plan_.transfers[i];
    require(t.count != 0, "transfer {} is empty", i);
    require(t.source_rank < num_ranks_ && t.destination_rank < num_ranks_, "transfer {} goes from rank {} to rank {}",
            i, t.source_rank, t.destination_rank);
    skip_copied();
    while (rank < t.source_rank && offset == chunk_count(rank)) {
      ++rank;
      offset = 0;
      skip_copied();
    }
    require(t.source_rank == rank && t.source_offset == offset,
            "transfer {} takes keys from offset {} of rank {}; offset {} of rank {} comes next", i, t.source_offset,
            t.source_rank, offset, rank);
    require(fits(t.source_offset, t.count, chunk_count(rank)), "transfer {} reads past rank {}'s chunk", i, rank);
    require(fits(t.destination_offset, t.count, plan_.rank_count(t.destination_rank)),
            "transfer {} writes past the end of rank {}", i, t.destination_rank);
    offset += t.count;
  }
  const auto total = std::accumulate(plan_.transfers.begin(), plan_.transfers.end(), std::uint64_t{0},
                                     [](std::uint64_t sum, const transfer& t) { return sum + t.count; });
  const std::uint64_t moved = params_.num_keys - num_copied();
  require(total == moved, "transfers move {} of {} keys", total, moved);
}

/// Walks the sorted whole: bucket by bucket, in each rank by rank. Each step is the next part of that rank's transfers,
/// which are in source order, and must land on the position reached. So every position is written once.
void verifier::check_transfers_bring_keys_home() const {
  struct cursor {
    std::size_t index = 0;   // of a transfer
    std::uint64_t used = 0;  // of its keys
  };
  std::vector<cursor> cursors(num_ranks_);
  for (std::size_t i = plan_.transfers.size(); i != 0; --i) cursors[plan_.transfers[i - 1].source_rank].index = i - 1;

  std::uint64_t position = 0;
  for (const bucket& b : final_buckets()) {
    if (goes_to_all_its_ranks(params_, b)) {
      position += b.count;
      continue;
    }
    for (unsigned rank = 0; rank < num_ranks_; ++rank) {
      cursor& next = cursors[rank];
      for (std::uint64_t left = b.slice_counts[rank]; left != 0;) {
        const transfer& t = plan_.transfers[next.index];  // a rank sends as many keys as its slices hold
        const std::uint64_t target = plan_.rank_begins[t.destination_rank] + t.destination_offset + next.used;
        require(target == position, "transfer {} brings a key of the bucket at {} to {} of the whole instead of {}",
                next.index, b.begin, target, position);
        const std::uint64_t part = std::min(left, t.count - next.used);
        left -= part;
        position += part;
        next.used += part;
        if (next.used == t.count) next = {next.index + 1, 0};
      }
    }
  }
}

void verifier::check_local_sorts() const {
  std::uint64_t position = 0;
  std::size_t next_bucket = 0;
  const auto skip_copied = [&] {
    const auto& buckets = final_buckets();
    while (next_bucket < buckets.size() && goes_to_all_its_ranks(params_, buckets[next_bucket])) {
      position += buckets[next_bucket++].count;
    }
  };
  for (std::size_t i = 0; i < plan_.local_sorts.size(); ++i) {
    skip_copied();
    const local_sort& sort = plan_.local_sorts[i];
    require(sort.rank < num_ranks_, "local sort {} is on rank {}", i, sort.rank);
    require(sort.count != 0, "local sort {} is empty", i);
    require(fits(sort.offset, sort.count, plan_.rank_count(sort.rank)), "local sort {} leaves rank {}", i, sort.rank);
    require(plan_.rank_begins[sort.rank] + sort.offset == position,
            "local sort {} begins at offset {} of rank {}; keys before it are not covered, or twice", i, sort.offset,
            sort.rank);
    next_bucket = check_local_sort(sort, position, next_bucket);
    position += sort.count;
  }
  skip_copied();
  require(position == params_.num_keys, "local sorts cover {} of {} keys", position, params_.num_keys);
}

/// Goes through the copied buckets: each rank that has a part of one gets it whole, slice by slice, and keeps its part.
void verifier::check_copies() const {
  std::vector<std::uint64_t> offsets(num_ranks_);  // of slices in the chunks
  std::vector<std::uint64_t> aside(num_ranks_);
  std::size_t next_sort = 0;
  std::size_t next_transfer = 0;
  for (const bucket& b : final_buckets()) {
    for (unsigned rank = b.first_rank; goes_to_all_its_ranks(params_, b) && rank <= b.last_rank; ++rank) {
      const std::uint64_t begin = std::max(b.begin, plan_.rank_begins[rank]);
      const std::uint64_t end = std::min(b.begin + b.count, plan_.rank_begins[rank + 1]);
      if (begin >= end) continue;
      require(next_sort < plan_.copied_sorts.size(), "rank {} does not get the bucket at {}", rank, b.begin);
      const copied_sort& sort = plan_.copied_sorts[next_sort++];
      require(sort.rank == rank && sort.aside == aside[rank] && sort.count == b.count,
              "rank {} does not sort the bucket at {} aside", rank, b.begin);
      require(sort.first_kept == begin - b.begin && sort.offset == begin - plan_.rank_begins[rank] &&
                  sort.num_kept == end - begin,
              "rank {} does not keep its part of the bucket at {}", rank, b.begin);
      require(sort.bits.begin == 0 && sort.bits.end == bits_left(b),
              "the copied bucket at {} is sorted on bits [{}..{})", b.begin, sort.bits.end, sort.bits.begin);
      for (unsigned source = 0; source < num_ranks_; ++source) {
        const std::uint64_t count = b.slice_counts[source];
        if (count == 0) continue;
        const transfer expected{source, offsets[source], rank, aside[rank], count};
        require(next_transfer < plan_.copied_transfers.size() && plan_.copied_transfers[next_transfer] == expected,
                "rank {} does not get the slice of rank {} of the bucket at {}", rank, source, b.begin);
        ++next_transfer;
        aside[rank] += count;
      }
      require(aside[rank] <= most_copied_keys(params_), "rank {} gets {} keys of copied buckets", rank, aside[rank]);
    }
    for (unsigned rank = 0; rank < num_ranks_; ++rank) offsets[rank] += b.slice_counts[rank];
  }
  require(next_sort == plan_.copied_sorts.size() && next_transfer == plan_.copied_transfers.size(),
          "{} sorts and {} transfers of copied buckets are too many", plan_.copied_sorts.size() - next_sort,
          plan_.copied_transfers.size() - next_transfer);
}

/// Returns the bucket that holds the first key after the sort.
std::size_t verifier::check_local_sort(const local_sort& sort, std::uint64_t position, std::size_t first_bucket) const {
  const auto& buckets = final_buckets();
  const std::uint64_t end = position + sort.count;
  const bucket& first = buckets[first_bucket];
  std::size_t last_bucket = first_bucket;
  bool in_order = bits_left(first) == 0;
  while (buckets[last_bucket].begin + buckets[last_bucket].count < end) {
    ++last_bucket;
    in_order = in_order && bits_left(buckets[last_bucket]) == 0;
  }
  const bucket& last = buckets[last_bucket];
  const std::uint64_t last_end = last.begin + last.count;

  require(position == first.begin || position == plan_.rank_begins[sort.rank],
          "the local sort at offset {} of rank {} begins inside a bucket", sort.offset, sort.rank);
  require(end == last_end || end == plan_.rank_begins[sort.rank + 1],
          "the local sort at offset {} of rank {} ends inside a bucket", sort.offset, sort.rank);
  require(sort.num_buckets == last_bucket - first_bucket + 1,
          "the local sort at offset {} of rank {} counts {} buckets", sort.offset, sort.rank, sort.num_buckets);
  const auto needed_bits = static_cast<unsigned>(std::bit_width(keys_of(first).low ^ keys_of(last).high));
  require(sort.bits.begin == 0 && sort.bits.end <= params_.key_bits &&
              (in_order ? sort.bits.empty() : needed_bits <= sort.bits.end),
          "the local sort at offset {} of rank {} looks at bits [{}..{}); {} are needed", sort.offset, sort.rank,
          sort.bits.end, sort.bits.begin, in_order ? 0 : needed_bits);
  return last_end == end ? last_bucket + 1 : last_bucket;
}

void verify(const sort_plan& plan) { verifier(plan).run(); }

}  // namespace spansort::plan
