// SPDX-License-Identifier: Apache-2.0
// A sort of small arrays by the plan alone: chunks are vectors, partitioning is std::stable_sort on a digit. Records
// carry their original index, so a lost pair and an unstable step both show.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/planner.hpp"

namespace spansort::plan::test {

struct record {
  std::uint64_t key = 0;
  std::uint64_t index = 0;
  friend bool operator==(const record&, const record&) = default;
};

/// Counts by slice and digit: what planner::add_pass takes.
using pass_histograms = std::vector<std::vector<std::vector<std::uint64_t>>>;

class simulation {
 public:
  simulation(const parameters& params, const std::vector<std::uint64_t>& keys);

  /// Plans and partitions until nothing is pending.
  [[nodiscard]] sort_plan make_plan();

  /// Transfers, then local sorts on the planned bits only, copied buckets aside; all ranks in a row.
  [[nodiscard]] std::vector<record> execute(const sort_plan& plan) const;

  [[nodiscard]] const std::vector<std::vector<record>>& chunks() const { return chunks_; }

 private:
  void sort_copies(const sort_plan& plan, std::vector<record>& whole) const;
  std::vector<std::uint64_t> partition(const keys::digit_position& digit, keys::prefix prefix, const slice& part);

  parameters params_;
  std::vector<std::vector<record>> chunks_;
};

/// std::stable_sort of the keys.
[[nodiscard]] std::vector<record> sorted_oracle(const std::vector<std::uint64_t>& keys);

}  // namespace spansort::plan::test
