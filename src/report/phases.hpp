// SPDX-License-Identifier: Apache-2.0
// This header leads from the timeline to phases.
#pragma once

#include <cstddef>

#include "spansort/report.hpp"

namespace spansort::report {

/// Sorts the timeline from activity `first` on by time, sums it up into phases, in order of their first start, and adds
/// these to the report's. What stands before `first` is of sorts that have been summed up already.
void summarize_timeline(sort_report& report, std::size_t first);

}  // namespace spansort::report
