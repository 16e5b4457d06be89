// SPDX-License-Identifier: Apache-2.0
// A driver's run with all that is around it: progress, cancelling, the report.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"
#include "algorithms/sort_settings.hpp"
#include "spansort/report.hpp"

namespace spansort::sorting {

/// What a run is for, as the report says it.
struct operation {
  std::string_view name;            ///< "sort", "sort_pairs" ...
  std::uint64_t scratch_bytes = 0;  ///< taken beside the driver's workspace
  std::string devices_picked = {};  ///< why these devices, where nobody named them
  /// Queues what makes the records that the algorithm sorts, before its own work. Empty: they are there.
  std::function<void()> make_records = {};
};

/// Runs `work`. What it throws of devices and memory says then what it means for the caller's arrays.
void run_telling_state(const std::function<void()>& work, const std::function<bool()>& output_has_begun,
                       std::string_view operation_name = "sort");

/// Sorts by the algorithm chosen, whose workspace has been reserved. `place_values`, where given, moves what did not
/// travel with the keys, and asks by the rule given whether it goes on; the sort is complete only then.
void run_reported(const algorithms::choice& chosen, std::vector<algorithms::rank>& ranks,
                  const algorithms::sort_settings& options, const algorithms::problem& problem, const operation& what,
                  const std::function<void(base::stop_rule)>& place_values, sort_report& report);

}  // namespace spansort::sorting
