// SPDX-License-Identifier: Apache-2.0
// A plan as text after Figure 1 of the RMG paper: for every pass the memory of the ranks as it is (physical view), and
// the buckets as they would lie over the ranks (logical distribution).
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plan/draw_exchange.hpp"
#include "plan/draw_row.hpp"
#include "plan/notation.hpp"
#include "plan/planner.hpp"

namespace spansort::plan {

namespace {

using rank_rows = std::vector<std::vector<piece>>;  // by rank; those that are not shown stay empty

rank_rows physical_rows(const pass_view& view, const parameters& params) {
  rank_rows rows(params.num_ranks);
  const std::vector<unsigned> ranks = shown_ranks(params.num_ranks);
  for (const bucket& b : view.buckets) {
    const std::string name = bucket_name(b.prefix, params.radix_bits);
    for (const unsigned rank : ranks) {
      if (b.slice_counts[rank] != 0) rows[rank].push_back({name, b.slice_counts[rank], false});
    }
  }
  return rows;
}

/// A spanning bucket is cut where the parts end: where it would lie if it could.
rank_rows logical_rows(const pass_view& view, const parameters& params) {
  rank_rows rows(params.num_ranks);
  for (const bucket& b : view.buckets) {
    const std::string name = bucket_name(b.prefix, params.radix_bits);
    std::uint64_t position = b.begin;
    for (unsigned rank = b.first_rank; rank <= b.last_rank; ++rank) {
      const std::uint64_t end = rank == b.last_rank ? b.begin + b.count : target_begin(params, rank + 1);
      if (end > position) rows[rank].push_back({name, end - position, b.spans()});
      position = std::max(position, end);
    }
  }
  return rows;
}

std::uint64_t count_of(const std::vector<piece>& row) {
  std::uint64_t count = 0;
  for (const piece& p : row) count += p.count;
  return count;
}

class drawer {
 public:
  drawer(const sort_plan& plan, unsigned width) : plan_(plan), params_(plan.params), width_(std::max(width, 40U)) {}

  [[nodiscard]] std::string draw() {
    draw_heading();
    for (const pass_view& view : plan_.passes) draw_pass(view);
    if (params_.num_keys == 0) return out_;
    return fmt::format("{}\n{}\n{}", out_, draw_transfers(plan_, width_), draw_local_sorts(plan_));
  }

 private:
  void draw_heading() {
    out_ += fmt::format("Plan: {} of {} bits over {}, {} bits a pass\n", counted(params_.num_keys, "key"),
                        params_.key_bits, counted(params_.num_ranks, "rank"), params_.radix_bits);
    const bool is_equal = params_.source_counts.empty() && params_.target_counts.empty();
    if (!is_equal) {
      out_ += fmt::format("      {} chunks of the input, {} parts of the output\n",
                          params_.source_counts.empty() ? "equal" : "given",
                          params_.target_counts.empty() ? "equal" : "given");
    }
    out_ += fmt::format("      slack {} at each end of a {}, imbalance {:.4f}, {} refined in {}\n",
                        counted(epsilon_keys(params_), "key"), is_equal ? "chunk" : "part", plan_.imbalance(),
                        counted(plan_.num_spanning_buckets, "bucket"),
                        plan_.passes.size() == 1 ? "1 pass" : fmt::format("{} passes", plan_.passes.size()));
  }

  void draw_pass(const pass_view& view) {
    const auto num_spanning =
        std::count_if(view.buckets.begin(), view.buckets.end(), [](const bucket& b) { return b.spans(); });
    out_ += fmt::format("\nPass {}: physical view after radix partitioning on MSB {}, {}\n", view.pass,
                        bits_name(view.bits), counted(view.buckets.size(), "bucket"));
    draw_rows(physical_rows(view, params_));
    out_ += "Logical distribution of buckets";
    if (num_spanning != 0) {
      const bool is_last = view.pass == plan_.passes.size();
      out_ += fmt::format(", {} ranks (///): {}", num_spanning == 1 ? "1 spans" : fmt::format("{} span", num_spanning),
                          !is_last                     ? "the next pass refines"
                          : plan_.copied_sorts.empty() ? "equal keys, cut"
                                                       : "small ones copied to each of their ranks, equal keys cut");
    }
    out_ += "\n";
    draw_rows(logical_rows(view, params_));
  }

  void draw_rows(const rank_rows& rows) {
    std::uint64_t largest = 1;
    std::size_t number_width = 0;
    for (const auto& row : rows) {
      largest = std::max(largest, count_of(row));
      number_width = std::max(number_width, counted(count_of(row), "key").size());
    }
    const std::size_t frame = std::string("  rank 123 ").size() + number_width + 1;
    const std::size_t bar = width_ > frame + 10 ? width_ - frame : 10;

    const std::vector<unsigned> ranks = shown_ranks(params_.num_ranks);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      out_ += skipped_ranks_line(ranks, i);
      const auto& row = rows[ranks[i]];
      const std::uint64_t count = count_of(row);
      const double share = static_cast<double>(count) / static_cast<double>(largest);
      const auto columns = static_cast<std::size_t>(share * static_cast<double>(bar) + 0.5);
      out_ += fmt::format("  rank {:<3} {:<{}} {:>{}}\n", ranks[i], draw_boxes(row, columns), bar,
                          counted(count, "key"), number_width);
    }
  }

  const sort_plan& plan_;
  const parameters& params_;
  std::size_t width_;
  std::string out_;
};

}  // namespace

std::string draw(const sort_plan& plan, unsigned width) { return drawer(plan, width).draw(); }

}  // namespace spansort::plan
