// SPDX-License-Identifier: Apache-2.0
// The plan of keys that need not be in memory: whoever has them counts them.
#pragma once

#include <functional>
#include <vector>

#include "plan/planner.hpp"
#include "spansort/options.hpp"
#include "spansort/plan.hpp"
#include "spansort/types.hpp"

namespace spansort::sorting {

/// Counts by slice: `counts[i][j]` are those of pending bucket i's digit in its slice j.
using pass_counts = std::vector<std::vector<std::vector<std::uint64_t>>>;

/// Fills in the counts, which are zero, of what a planner has pending. A slice's keys are those of the bucket's prefix
/// among the keys of its rank's chunk.
using pass_counter = std::function<void(const plan::planner& planner, pass_counts& counts)>;

/// Returns what explain_plan() says of these keys.
[[nodiscard]] plan_explanation explain_counts(key_type type, std::uint64_t num_keys, direction d,
                                              const sort_options& options, const pass_counter& count);

}  // namespace spansort::sorting
