// SPDX-License-Identifier: Apache-2.0
// The distributed radix sort of Spafford's paper, as published.
#pragma once

#include <vector>

#include "algorithms/run_context.hpp"

namespace spansort::algorithms {

/// Digits are `options.tuning.radix_bits` wide, 1 to 16; 16, as in the paper's last measurements, where it is 0.
void run_distributed_lsd(run_context& run, const problem& sort);
[[nodiscard]] std::vector<slot_request> distributed_lsd_workspace(const std::vector<rank>& ranks,
                                                                  const sort_settings& options, const problem& sort);

}  // namespace spansort::algorithms
