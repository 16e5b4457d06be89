// SPDX-License-Identifier: Apache-2.0
// The plan of the multi-device sort, without sorting: who owns which bucket, who sends what to whom.
#pragma once

#include <string>

#include "spansort/options.hpp"
#include "spansort/types.hpp"

namespace spansort {

struct plan_explanation {
  std::string text;  ///< the two views of Figure 1 of the RMG paper, pass by pass, then transfers and fused buckets
  std::string json;
};

/// Runs the partitioning phase of `rmg` on a copy of the keys and explains its plan. Needs the memory of a sort.
/// `options.devices` says over what; "auto" and "cpu" give a plan of one rank.
[[nodiscard]] plan_explanation explain_plan(const_key_span keys, direction d, const sort_options& options = {});
[[nodiscard]] inline plan_explanation explain_plan(const_key_span keys, const sort_options& options = {}) {
  return explain_plan(keys, direction::ascending, options);
}

}  // namespace spansort
