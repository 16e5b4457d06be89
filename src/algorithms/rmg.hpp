// SPDX-License-Identifier: Apache-2.0
// RMG sort as a part of other algorithms: `auto` and the sort over several processes run it too.
#pragma once

#include <vector>

#include "algorithms/run_context.hpp"

namespace spansort::algorithms {

// The caller's progress bar: how far a sort is when a phase ends.
inline constexpr double fraction_after_partitioning = 0.45;
inline constexpr double fraction_after_exchange = 0.6;

/// These extras are beyond the paper. Both are for data in the caller's host memory, of one process.
struct rmg_extras {
  bool looks_for_order = false;        ///< an input in order, as the first count finds it, is done or reversed
  bool refines_large_buckets = false;  ///< those that would keep a link waiting; for devices that copy
};

void run_rmg(run_context& run, const problem& sort);
void run_rmg(run_context& run, const problem& sort, const rmg_extras& extras);
[[nodiscard]] std::vector<slot_request> rmg_workspace(const std::vector<rank>& ranks, const sort_settings& options,
                                                      const problem& sort);

}  // namespace spansort::algorithms
