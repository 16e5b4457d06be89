// SPDX-License-Identifier: Apache-2.0
// A second opinion on a finished plan. Nothing of the planner is called: where keys belong is derived by walking the
// sorted whole, bits from the ranges of key values that buckets stand for, and equal chunks by handing out the
// remainder one by one. Costs about buckets x ranks, as planning does.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "base/math.hpp"
#include "plan/planner.hpp"
#include "spansort/errors.hpp"

namespace spansort::plan {

/// Throws internal_error unless `holds`. The message is formatted in that case only.
template <class... Args>
void require(bool holds, fmt::format_string<Args...> message, const Args&... args) {
  if (holds) return;
  throw internal_error("internal error: the sort plan is wrong: " +
                       fmt::vformat(fmt::string_view(message), fmt::make_format_args(args...)) +
                       "; please report it with the command that led here");
}

/// Returns whether [begin, begin + count) lies in [0, size), sums that wrap included.
inline bool fits(std::uint64_t begin, std::uint64_t count, std::uint64_t size) {
  return begin <= size && count <= size - begin;
}

/// Smallest and largest key of a bucket.
struct key_range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

class verifier {
 public:
  explicit verifier(const sort_plan& plan) : plan_(plan), params_(plan.params), num_ranks_(plan.params.num_ranks) {}

  void run() {
    check_parameters();
    derive_bounds();
    check_ranks();
    for (std::size_t i = 0; i < plan_.passes.size(); ++i) check_pass(i);
    check_number_of_passes();
    check_owners_hold_their_buckets();
    check_transfers_in_place();
    check_transfers_bring_keys_home();
    check_local_sorts();
    check_copies();
  }

 private:
  void check_parameters() const;
  [[nodiscard]] std::vector<std::uint64_t> bounds_of(const std::vector<std::uint64_t>& counts) const;
  void derive_bounds();
  void check_ranks() const;
  void check_pass(std::size_t index) const;
  void check_bucket(const bucket& b, const pass_view& view) const;
  void check_ownership(const bucket& b) const;
  void check_refinement(const pass_view& before, const pass_view& after) const;
  void check_spanning_bounds(const pass_view& view) const;
  void check_number_of_passes() const;
  void check_owners_hold_their_buckets() const;
  void check_transfers_in_place() const;
  void check_transfers_bring_keys_home() const;
  void check_local_sorts() const;
  void check_copies() const;
  std::size_t check_local_sort(const local_sort& sort, std::uint64_t position, std::size_t first_bucket) const;

  [[nodiscard]] const std::vector<bucket>& final_buckets() const {
    static const std::vector<bucket> none;
    return plan_.passes.empty() ? none : plan_.passes.back().buckets;
  }
  [[nodiscard]] unsigned bits_left(const bucket& b) const { return params_.key_bits - b.prefix.bit_count; }
  [[nodiscard]] key_range keys_of(const bucket& b) const {
    const std::uint64_t low = b.prefix.bits << bits_left(b);  // a bucket has examined one bit at least
    return {low, low | base::low_mask(bits_left(b))};
  }
  [[nodiscard]] bool is_refined(const bucket& b) const {
    const bool is_large = params_.refine_keys != 0 && b.count > params_.refine_keys;
    return ((b.spans() && !goes_to_all_its_ranks(params_, b)) || is_large) && bits_left(b) != 0;
  }
  /// Returns how many keys lie in buckets that are copied.
  [[nodiscard]] std::uint64_t num_copied() const;
  /// Returns, by rank, where in its chunk slices of copied buckets lie, in order.
  [[nodiscard]] std::vector<std::vector<slice>> copied_slices() const;
  [[nodiscard]] std::uint64_t chunk_count(unsigned rank) const { return chunks_[rank + 1] - chunks_[rank]; }
  [[nodiscard]] std::uint64_t part_count(unsigned rank) const { return parts_[rank + 1] - parts_[rank]; }
  /// An empty part meets nothing.
  [[nodiscard]] bool meets_part(const bucket& b, unsigned rank) const {
    return part_count(rank) != 0 && parts_[rank] < b.begin + b.count && b.begin < parts_[rank + 1];
  }
  /// Returns whether the rank can take the whole bucket: its part is met and the slack holds the rest.
  [[nodiscard]] bool can_own(const bucket& b, unsigned rank) const {
    return meets_part(b, rank) && (b.begin >= parts_[rank] || parts_[rank] - b.begin <= slack_keys_) &&
           (b.begin + b.count <= parts_[rank + 1] || b.begin + b.count - parts_[rank + 1] <= slack_keys_);
  }
  /// Returns whether the slack holds a whole part that lies inside the bucket and is at neither end of it.
  [[nodiscard]] bool slack_holds_inner_part(const bucket& b) const;

  const sort_plan& plan_;
  const parameters& params_;
  unsigned num_ranks_;
  std::vector<std::uint64_t> chunks_;  // num_ranks + 1 bounds in the input
  std::vector<std::uint64_t> parts_;   // as many in the sorted whole, before slack
  std::uint64_t slack_keys_ = 0;
};

}  // namespace spansort::plan
