// SPDX-License-Identifier: Apache-2.0
// The partitioning phase of the plan (RMG paper, sections 3.1 and 3.2): histograms in, ownership of buckets and the
// next refinements out. Ownership depends on a bucket's position and count alone: a bucket that has an owner keeps it,
// unless it is large and refined for that: its children find theirs.
#include "plan/planner.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/assert.hpp"
#include "base/math.hpp"

namespace spansort::plan {

namespace {

struct rank_range {
  unsigned first = 0;
  unsigned last = 0;
};

using histograms_of_slices = std::vector<std::vector<std::uint64_t>>;  // [slice][digit]

/// Returns where a chunk or part begins. Without counts all of them are equal.
std::uint64_t begin_of(const parameters& p, const std::vector<std::uint64_t>& counts, unsigned rank) noexcept {
  if (!counts.empty()) {
    return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(rank), std::uint64_t{0});
  }
  // floor(rank * num_keys / num_ranks); the product itself may not fit.
  const std::uint64_t quotient = p.num_keys / p.num_ranks;
  const std::uint64_t remainder = p.num_keys % p.num_ranks;
  return rank * quotient + rank * remainder / p.num_ranks;
}

std::uint64_t count_of(const parameters& p, const std::vector<std::uint64_t>& counts, unsigned rank) noexcept {
  return counts.empty() ? begin_of(p, counts, rank + 1) - begin_of(p, counts, rank) : counts[rank];
}

std::uint64_t largest_of(const parameters& p, const std::vector<std::uint64_t>& counts) noexcept {
  if (counts.empty()) return base::ceil_div(p.num_keys, std::uint64_t{p.num_ranks});
  return *std::max_element(counts.begin(), counts.end());
}

/// Returns where each rank's part begins, and the end of all, from one sum over the ranks: one for each rank would grow
/// with their square.
std::vector<std::uint64_t> bounds_of_parts(const parameters& p) {
  std::vector<std::uint64_t> bounds{0};
  for (unsigned rank = 0; rank < p.num_ranks; ++rank) bounds.push_back(bounds.back() + target_count(p, rank));
  return bounds;
}

/// One count a rank, summing to num_keys without a wrap; or none.
bool are_sizes(const std::vector<std::uint64_t>& counts, const parameters& p) {
  if (counts.empty()) return true;
  std::uint64_t left = p.num_keys;
  for (const std::uint64_t count : counts) {
    if (count > left) return false;
    left -= count;
  }
  return left == 0 && counts.size() == p.num_ranks;
}

void check_parameters(const parameters& p) {
  SPANSORT_ASSERT(p.num_ranks >= 1);
  SPANSORT_ASSERT(p.key_bits >= 1 && p.key_bits <= 64);
  SPANSORT_ASSERT(p.radix_bits >= 1 && p.radix_bits <= 24 && p.second_bits <= p.radix_bits);
  SPANSORT_ASSERT(p.epsilon >= 0);
  SPANSORT_ASSERT(p.fuse_threshold >= 0);
  SPANSORT_ASSERT(are_sizes(p.source_counts, p));
  SPANSORT_ASSERT(are_sizes(p.target_counts, p));
}

/// Gives the keys at either end to the neighbour where they are at most `slack_keys`: one rank a side, so that no rank
/// gets more than the slack from either side. `bounds` are those of the parts; neither end touched is an empty part.
rank_range trim(const bucket& b, rank_range touched, const std::vector<std::uint64_t>& bounds,
                std::uint64_t slack_keys) {
  if (touched.first == touched.last) return touched;
  const std::uint64_t head_keys = bounds[touched.first + 1] - b.begin;
  const std::uint64_t tail_keys = b.begin + b.count - bounds[touched.last];
  const bool head_fits = head_keys <= slack_keys;
  const bool tail_fits = tail_keys <= slack_keys;

  // Ranks without a part own nothing: step over them.
  unsigned second = touched.first + 1;
  while (bounds[second + 1] == bounds[second]) ++second;
  if (head_fits && tail_fits && second == touched.last) {
    const unsigned owner = head_keys >= tail_keys ? touched.first : touched.last;
    return {owner, owner};
  }
  unsigned second_last = touched.last - 1;
  while (bounds[second_last + 1] == bounds[second_last]) --second_last;
  return {head_fits ? second : touched.first, tail_fits ? second_last : touched.last};
}

/// Throws internal_error unless the histograms are those of the slices.
void check_histograms(const refinement& parent, const histograms_of_slices& histograms) {
  SPANSORT_ASSERT(histograms.size() == parent.slices.size());
  for (std::size_t i = 0; i < histograms.size(); ++i) {
    SPANSORT_ASSERT(histograms[i].size() == parent.digit.num_buckets());
    const auto sum = std::accumulate(histograms[i].begin(), histograms[i].end(), std::uint64_t{0});
    SPANSORT_ASSERT(sum == parent.slices[i].count);
  }
}

/// The sums of one pending bucket: a count for each digit value.
struct bucket_sums {
  std::span<const std::uint64_t> before;
  std::span<const std::uint64_t> all;
};

/// The non-empty children of a refined bucket, appended in order.
void append_children(const refinement& parent, const histograms_of_slices& histograms, const bucket_sums& sums,
                     rank_group known, unsigned pass, std::vector<bucket>& out) {
  for (std::uint64_t digit = 0; digit < sums.all.size(); ++digit) {
    if (sums.all[digit] == 0) continue;
    bucket& child = out.emplace_back();
    child.prefix = parent.prefix.child(digit, parent.digit.bits);
    child.pass = pass;
    child.count = sums.all[digit];
    child.count_before = sums.before[digit];
    child.slice_counts.resize(known.count);
    for (std::size_t i = 0; i < histograms.size(); ++i) {
      child.slice_counts[parent.slices[i].rank - known.first] = histograms[i][digit];
    }
  }
}

}  // namespace

unsigned bits_examined(const parameters& p, std::uint64_t num_passes) noexcept {
  const std::uint64_t saved = p.second_bits != 0 && num_passes >= 2 ? p.radix_bits - p.second_bits : 0;
  return static_cast<unsigned>(std::min<std::uint64_t>(p.key_bits, num_passes * p.radix_bits - saved));
}

std::uint64_t source_begin(const parameters& p, unsigned rank) noexcept { return begin_of(p, p.source_counts, rank); }
std::uint64_t target_begin(const parameters& p, unsigned rank) noexcept { return begin_of(p, p.target_counts, rank); }

std::uint64_t source_count(const parameters& p, unsigned rank) noexcept { return count_of(p, p.source_counts, rank); }
std::uint64_t target_count(const parameters& p, unsigned rank) noexcept { return count_of(p, p.target_counts, rank); }

std::uint64_t largest_source(const parameters& p) noexcept { return largest_of(p, p.source_counts); }
std::uint64_t largest_target(const parameters& p) noexcept { return largest_of(p, p.target_counts); }

std::uint64_t epsilon_keys(const parameters& p) noexcept {
  if (p.num_keys == 0) return 0;
  const double keys = p.epsilon * static_cast<double>(largest_target(p));
  return keys >= static_cast<double>(p.num_keys) ? p.num_keys : static_cast<std::uint64_t>(keys);
}

double sort_plan::imbalance() const {
  if (params.num_keys == 0) return 1.0;
  std::uint64_t largest = 0;
  for (unsigned rank = 0; rank < params.num_ranks; ++rank) largest = std::max(largest, rank_count(rank));
  return static_cast<double>(largest) * params.num_ranks / static_cast<double>(params.num_keys);
}

planner::planner(const parameters& params) : planner(params, {0, params.num_ranks}) {}

planner::planner(const parameters& params, rank_group own) : params_(params), own_(own) {
  check_parameters(params_);
  SPANSORT_ASSERT(own_.count >= 1 && own_.first < params_.num_ranks && own_.count <= params_.num_ranks - own_.first);
  SPANSORT_ASSERT(params_.copied_keys == 0 || knows_all());
  plan_.params = params_;
  plan_.ranks = own_;
  part_bounds_ = bounds_of_parts(params_);
  if (params_.num_keys == 0) return;

  bucket root;
  root.count = params_.num_keys;
  root.count_before = source_begin(params_, own_.first);
  for (unsigned rank = own_.first; rank < own_.end(); ++rank) root.slice_counts.push_back(source_count(params_, rank));
  root.last_rank = params_.num_ranks - 1;
  buckets_.push_back(std::move(root));
  collect_pending();
}

std::vector<std::uint64_t> planner::sum(pass_histograms histograms) const {
  SPANSORT_ASSERT(histograms.size() == pending_.size());
  if (pending_.empty()) return {};
  const std::uint64_t num_children = pending_.front().digit.num_buckets();
  std::vector<std::uint64_t> sums(pending_.size() * num_children);
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    check_histograms(pending_[i], histograms[i]);
    const std::span of_bucket = std::span(sums).subspan(i * num_children, num_children);
    for (const auto& histogram : histograms[i]) {
      std::ranges::transform(of_bucket, histogram, of_bucket.begin(), std::plus<>());
    }
  }
  return sums;
}

void planner::add_pass(pass_histograms histograms) {
  SPANSORT_ASSERT(knows_all());
  pass_sums sums;
  sums.all = sum(histograms);
  sums.before.resize(sums.all.size());
  add_pass(histograms, sums);
}

void planner::add_pass(pass_histograms histograms, const pass_sums& sums) {
  SPANSORT_ASSERT(!pending_.empty());
  SPANSORT_ASSERT(histograms.size() == pending_.size());
  const keys::digit_position digit = pending_.front().digit;
  const std::uint64_t num_children = digit.num_buckets();
  SPANSORT_ASSERT(sums.all.size() == pending_.size() * num_children && sums.before.size() == sums.all.size());
  const auto pass = base::checked_cast<unsigned>(plan_.passes.size() + 1);

  std::vector<bucket> refined;
  std::size_t next = 0;  // pending_ is in bucket order
  for (bucket& b : buckets_) {
    if (next == pending_.size() || b.prefix != pending_[next].prefix) {
      refined.push_back(std::move(b));
      continue;
    }
    const bucket_sums of_bucket{std::span(sums.before).subspan(next * num_children, num_children),
                                std::span(sums.all).subspan(next * num_children, num_children)};
    append_children(pending_[next], histograms[next], of_bucket, own_, pass, refined);
    ++next;
  }
  SPANSORT_ASSERT(next == pending_.size());
  buckets_ = std::move(refined);

  assign_ranks();
  plan_.passes.push_back({pass, {digit.shift, digit.shift + digit.bits}, {}});
  if (knows_all()) plan_.passes.back().buckets = buckets_;
  collect_pending();
}

void planner::assign_ranks() {
  const std::uint64_t slack_keys = epsilon_keys(params_);
  std::uint64_t begin = 0;
  unsigned rank = 0;  // whose part holds the position `begin`
  for (bucket& b : buckets_) {
    b.begin = begin;
    begin += b.count;
    while (part_bounds_[rank + 1] <= b.begin) ++rank;
    rank_range touched{rank, rank};
    while (part_bounds_[touched.last + 1] < begin) ++touched.last;
    rank_range range = trim(b, touched, part_bounds_, slack_keys);
    // Equal keys that do not fit one rank may be cut anywhere: cut where the parts end, without slack.
    if (range.first != range.last && b.prefix.bit_count == params_.key_bits) range = touched;
    b.first_rank = range.first;
    b.last_rank = range.last;
  }
  SPANSORT_ASSERT(begin == params_.num_keys);
}

void planner::collect_pending() {
  pending_.clear();
  const bool is_root = plan_.passes.empty();
  std::vector<std::uint64_t> offsets(own_.count);  // chunks are kept in bucket order
  for (const bucket& b : buckets_) {
    const unsigned bits_left = params_.key_bits - b.prefix.bit_count;
    const bool is_large = params_.refine_keys != 0 && b.count > params_.refine_keys;
    const bool is_divided = b.spans() && !goes_to_all_its_ranks(params_, b);
    const bool refine = bits_left != 0 && (is_root || is_divided || is_large);
    if (refine) {
      const unsigned digit_bits = bits_examined(params_, plan_.passes.size() + 1) - b.prefix.bit_count;
      pending_.push_back({b.prefix, {bits_left - digit_bits, digit_bits}, {}});
    }
    for (unsigned i = 0; i < own_.count; ++i) {
      const std::uint64_t count = b.slice_counts[i];
      if (refine && count != 0) pending_.back().slices.push_back({own_.first + i, offsets[i], count});
      offsets[i] += count;
    }
  }
  plan_.num_spanning_buckets += pending_.size();
}

}  // namespace spansort::plan
