// SPDX-License-Identifier: Apache-2.0
// The other processes of a sort, as the steps of RMG sort meet them: after each count, when the plan is made, and in
// the exchange.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/run_context.hpp"
#include "plan/planner.hpp"
#include "transport/exchange.hpp"

namespace spansort::algorithms {

using slice_histograms = std::vector<std::vector<std::vector<std::uint64_t>>>;  // [bucket][slice][digit]

/// This class itself is for a process that is alone: there is nobody to tell, and nothing to wait for.
class rmg_others {
 public:
  virtual ~rmg_others() = default;

  /// Says what this process is at, should it fail.
  virtual void enter(std::string_view) {}
  /// Makes the planner of this process.
  [[nodiscard]] virtual plan::planner make_planner(const plan::parameters& p) const { return plan::planner(p); }
  /// Ends a pass of the planner with the histograms of what it has pending, in which the slices of this process's ranks
  /// are counted: fills in those of other ranks, where the planner knows them.
  virtual void add_pass(plan::planner& planner, slice_histograms& histograms) { planner.add_pass(histograms); }
  /// Makes the plan.
  [[nodiscard]] virtual plan::sort_plan finish(plan::planner&& planner) { return std::move(planner).finish(); }
  /// Waits until what this process's ranks will send lies there, where the host is to send it.
  virtual void complete_sources() {}
  /// Returns how ranks of different processes exchange; null where there are none.
  [[nodiscard]] virtual transport::exchange* between_processes() { return nullptr; }
  /// Calls `execute`, which exchanges, and notes the time of the host where it takes part in that.
  virtual void time_exchange(const std::function<void()>& execute) { execute(); }
};

/// The plan's number of this process's first rank.
[[nodiscard]] unsigned first_rank_of(const problem& sort);

[[nodiscard]] std::unique_ptr<rmg_others> make_rmg_others(run_context& run, const problem& sort);

}  // namespace spansort::algorithms
