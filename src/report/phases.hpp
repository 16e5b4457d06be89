// SPDX-License-Identifier: Apache-2.0
// From the timeline to phases.
#pragma once

#include "spansort/report.hpp"

namespace spansort::report {

/// Sorts the timeline by time and sums it up into phases, in order of their first start.
void summarize_timeline(sort_report& report);

}  // namespace spansort::report
