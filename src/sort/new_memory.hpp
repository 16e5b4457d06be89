// SPDX-License-Identifier: Apache-2.0
// Host memory that a sort has just taken is cleared by the system where it is first written, which may take seconds.
#pragma once

#include <vector>

#include "algorithms/rank.hpp"
#include "algorithms/run_context.hpp"
#include "spansort/options.hpp"

namespace spansort::sorting {

/// Writes to all of a large workspace in host memory, on all threads, and asks meanwhile whether the sort goes on. The
/// system clears pages: huge ones it would clear nearly all for the first piece of a partition, which writes everywhere
/// and which no cancelling ends. Workspace that the sort leaves alone stays as it is: that of records
/// whose keys a sample finds in order, of few values or of few bits. Throws what base::call_watch::ask() throws.
void touch_new_memory(const std::vector<algorithms::rank>& ranks, const algorithms::problem& problem,
                      const progress_callback& on_progress);

}  // namespace spansort::sorting
