// SPDX-License-Identifier: Apache-2.0
// The part of verify() that looks at the partitioning phase: buckets, owners, refinements and the bounds of the paper.
#include <algorithm>

#include "plan/verify.hpp"

namespace spansort::plan {

void verifier::check_pass(std::size_t index) const {
  const pass_view& view = plan_.passes[index];
  require(view.pass == index + 1, "pass {} is numbered {}", index + 1, view.pass);
  const unsigned examined_before = bits_examined(params_, index);
  require(examined_before < params_.key_bits, "pass {} has no bits left to examine", view.pass);
  const keys::bit_range bits{params_.key_bits - bits_examined(params_, index + 1), params_.key_bits - examined_before};
  require(view.bits == bits, "pass {} examines [{}..{}), not [{}..{})", view.pass, view.bits.end, view.bits.begin,
          bits.end, bits.begin);

  std::uint64_t position = 0;
  std::vector<std::uint64_t> chunk_counts(num_ranks_);
  const bucket* previous = nullptr;
  for (const bucket& b : view.buckets) {
    require(b.begin == position, "a bucket of pass {} begins at {}, not {}", view.pass, b.begin, position);
    check_bucket(b, view);
    require(previous == nullptr || keys_of(*previous).high < keys_of(b).low,
            "buckets of pass {} overlap or are out of order at {}", view.pass, b.begin);
    for (unsigned rank = 0; rank < num_ranks_; ++rank) chunk_counts[rank] += b.slice_counts[rank];
    position += b.count;
    previous = &b;
  }
  require(position == params_.num_keys, "buckets of pass {} hold {} of {} keys", view.pass, position, params_.num_keys);
  for (unsigned rank = 0; rank < num_ranks_; ++rank) {
    require(chunk_counts[rank] == chunk_count(rank), "slices of rank {} hold {} keys in pass {}", rank,
            chunk_counts[rank], view.pass);
  }
  check_spanning_bounds(view);
  if (index != 0) check_refinement(plan_.passes[index - 1], view);
}

void verifier::check_bucket(const bucket& b, const pass_view& view) const {
  require(b.count != 0, "an empty bucket at {} in pass {}", b.begin, view.pass);
  require(fits(b.begin, b.count, params_.num_keys), "the bucket at {} holds {} keys", b.begin, b.count);
  require(b.pass >= 1 && b.pass <= view.pass, "a bucket of pass {} was made by pass {}", view.pass, b.pass);
  const unsigned examined = bits_examined(params_, b.pass);
  require(b.prefix.bit_count == examined, "the bucket at {} has a prefix of {} bits after {} passes", b.begin,
          b.prefix.bit_count, b.pass);
  require((b.prefix.bits & ~base::low_mask(b.prefix.bit_count)) == 0,
          "the prefix of the bucket at {} has more bits than {}", b.begin, b.prefix.bit_count);
  require(b.slice_counts.size() == num_ranks_, "the bucket at {} has {} slices", b.begin, b.slice_counts.size());
  std::uint64_t left = b.count;
  for (const std::uint64_t slice : b.slice_counts) {
    require(slice <= left, "the slices of the bucket at {} hold more than its {} keys", b.begin, b.count);
    left -= slice;
  }
  require(left == 0, "the slices of the bucket at {} hold {} keys less than it", b.begin, left);
  check_ownership(b);
}

void verifier::check_ownership(const bucket& b) const {
  require(b.first_rank <= b.last_rank && b.last_rank < num_ranks_, "the bucket at {} lies in ranks {} to {}", b.begin,
          b.first_rank, b.last_rank);
  if (!b.spans()) {
    require(can_own(b, b.first_rank), "the bucket at {} with {} keys does not fit its owner, rank {}", b.begin, b.count,
            b.first_rank);
    return;
  }
  require(meets_part(b, b.first_rank) && meets_part(b, b.last_rank), "the bucket at {} misses one of ranks {} and {}",
          b.begin, b.first_rank, b.last_rank);
  const std::uint64_t head = parts_[b.first_rank] - std::min(b.begin, parts_[b.first_rank]);
  const std::uint64_t bucket_end = b.begin + b.count;
  const std::uint64_t tail = bucket_end - std::min(bucket_end, parts_[b.last_rank + 1]);
  require(head <= slack_keys_ && tail <= slack_keys_, "the bucket at {} with {} keys overflows ranks {} to {}", b.begin,
          b.count, b.first_rank, b.last_rank);
  // Slack moves keys to the next rank only; where it holds whole parts a rank farther away could own the bucket.
  if (slack_holds_inner_part(b)) return;
  for (unsigned rank = b.first_rank; rank <= b.last_rank; ++rank) {
    require(!can_own(b, rank), "the bucket at {} spans ranks {} to {} but rank {} can own it", b.begin, b.first_rank,
            b.last_rank, rank);
  }
}

bool verifier::slack_holds_inner_part(const bucket& b) const {
  for (unsigned rank = b.first_rank; rank <= b.last_rank; ++rank) {
    const bool is_inner = b.begin < parts_[rank] && parts_[rank + 1] < b.begin + b.count;
    if (is_inner && part_count(rank) != 0 && part_count(rank) <= slack_keys_) return true;
  }
  return false;
}

void verifier::check_refinement(const pass_view& before, const pass_view& after) const {
  std::size_t next = 0;
  for (const bucket& old : before.buckets) {
    if (!is_refined(old)) {
      const bool kept = next < after.buckets.size() && after.buckets[next].prefix == old.prefix &&
                        after.buckets[next].pass == old.pass && after.buckets[next].count == old.count &&
                        after.buckets[next].slice_counts == old.slice_counts &&
                        after.buckets[next].first_rank == old.first_rank &&
                        after.buckets[next].last_rank == old.last_rank;
      require(kept, "pass {} changed the bucket at {} that was not to be refined", after.pass, old.begin);
      ++next;
      continue;
    }
    const key_range parent = keys_of(old);
    std::vector<std::uint64_t> left = old.slice_counts;
    for (; next < after.buckets.size() && after.buckets[next].begin < old.begin + old.count; ++next) {
      const bucket& child = after.buckets[next];
      const key_range range = keys_of(child);
      require(child.pass == after.pass && parent.low <= range.low && range.high <= parent.high,
              "pass {} made a bucket at {} that is none of the children of its parent", after.pass, child.begin);
      for (unsigned rank = 0; rank < num_ranks_; ++rank) left[rank] -= child.slice_counts[rank];
    }
    require(std::all_of(left.begin(), left.end(), [](std::uint64_t count) { return count == 0; }),
            "the children of the bucket at {} do not hold its keys rank by rank", old.begin);
  }
}

void verifier::check_spanning_bounds(const pass_view& view) const {
  std::vector<unsigned> parts(num_ranks_);
  std::uint64_t num_spanning = 0;
  for (const bucket& b : view.buckets) {
    if (!b.spans()) continue;
    ++num_spanning;
    for (unsigned rank = b.first_rank; rank <= b.last_rank; ++rank) parts[rank] += 1;
  }
  require(num_spanning <= num_ranks_ - 1, "{} buckets span ranks after pass {}", num_spanning, view.pass);
  for (unsigned rank = 0; rank < num_ranks_; ++rank) {
    require(parts[rank] <= 2, "rank {} takes part in {} spanning buckets after pass {}", rank, parts[rank], view.pass);
  }
}

void verifier::check_number_of_passes() const {
  require(plan_.passes.empty() == (params_.num_keys == 0), "{} passes over {} keys", plan_.passes.size(),
          params_.num_keys);
  std::uint64_t num_refined = params_.num_keys == 0 ? 0 : 1;  // the root
  for (std::size_t i = 0; i < plan_.passes.size(); ++i) {
    const auto& buckets = plan_.passes[i].buckets;
    const auto refined =
        std::count_if(buckets.begin(), buckets.end(), [this](const bucket& b) { return is_refined(b); });
    const bool is_last = i + 1 == plan_.passes.size();
    require((refined == 0) == is_last, "{} buckets are left to refine after pass {} of {}", refined, i + 1,
            plan_.passes.size());
    num_refined += static_cast<std::uint64_t>(refined);
  }
  require(num_refined == plan_.num_spanning_buckets, "{} buckets were refined, {} are stated", num_refined,
          plan_.num_spanning_buckets);
}

}  // namespace spansort::plan
