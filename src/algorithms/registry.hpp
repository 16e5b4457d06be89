// SPDX-License-Identifier: Apache-2.0
// The algorithms by name. A new one is a driver file and a line in registry.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "algorithms/run_context.hpp"

namespace spansort::algorithms {

struct entry {
  std::string_view name;
  driver run;
  workspace_rule workspace;
};

/// Throws invalid_argument listing what is known.
[[nodiscard]] const entry& find_algorithm(std::string_view name);

// The drivers, and what they need.
void run_auto(run_context& run, const problem& sort);
void run_single(run_context& run, const problem& sort);
void run_rmg(run_context& run, const problem& sort);
void run_out_of_core(run_context& run, const problem& sort);
std::vector<slot_request> auto_workspace(const std::vector<rank>& ranks, const sort_options& options,
                                         const problem& sort);
std::vector<slot_request> single_workspace(const std::vector<rank>& ranks, const sort_options& options,
                                           const problem& sort);
std::vector<slot_request> rmg_workspace(const std::vector<rank>& ranks, const sort_options& options,
                                        const problem& sort);
std::vector<slot_request> out_of_core_workspace(const std::vector<rank>& ranks, const sort_options& options,
                                                const problem& sort);

}  // namespace spansort::algorithms
