// SPDX-License-Identifier: Apache-2.0
// The driver of sorts on one device, by that device's own local sort or by one that is asked for by name.
#pragma once

#include <string_view>
#include <vector>

#include "algorithms/run_context.hpp"

namespace spansort::algorithms {

/// Sorts on the first rank's device by the local sort called `local_sort`; "" leaves the choice to the device.
void sort_on_one(run_context& run, const problem& sort, std::string_view local_sort);

/// Returns what that needs. Throws invalid_argument where the device does not have such a local sort.
[[nodiscard]] std::vector<slot_request> workspace_on_one(const std::vector<rank>& ranks, const sort_settings& options,
                                                         const problem& sort, std::string_view local_sort);

}  // namespace spansort::algorithms
