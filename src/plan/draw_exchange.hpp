// SPDX-License-Identifier: Apache-2.0
// The second half of a drawn plan: what moves (Figure 2 of the RMG paper) and what is sorted afterwards.
#pragma once

#include <string>
#include <vector>

#include "plan/planner.hpp"

namespace spansort::plan {

/// Ranks that get a line of their own; where two neighbours are not consecutive the drawing says how many are left out.
[[nodiscard]] std::vector<unsigned> shown_ranks(unsigned num_ranks);

/// "   .. 48 more ranks .." between two shown ranks that are not neighbours; empty otherwise.
[[nodiscard]] std::string skipped_ranks_line(const std::vector<unsigned>& ranks, std::size_t index);

[[nodiscard]] std::string draw_transfers(const sort_plan& plan, std::size_t width);

[[nodiscard]] std::string draw_local_sorts(const sort_plan& plan);

}  // namespace spansort::plan
