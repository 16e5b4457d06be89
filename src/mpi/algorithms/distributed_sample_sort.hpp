// SPDX-License-Identifier: Apache-2.0
// The sample sort over processes, as cuPyNumeric and cudax have it over NCCL.
#pragma once

#include <vector>

#include "algorithms/run_context.hpp"

namespace spansort::algorithms {

/// One device in each process, of any kind.
void run_distributed_sample_sort(run_context& run, const problem& sort);
/// Throws invalid_argument where a process has several devices.
[[nodiscard]] std::vector<slot_request> distributed_sample_sort_workspace(const std::vector<rank>& ranks,
                                                                          const sort_settings& options,
                                                                          const problem& sort);

}  // namespace spansort::algorithms
