// SPDX-License-Identifier: Apache-2.0
// Data in host memory that is larger than the devices: two trips over the links, and nothing else. First, chunks of the
// input become sorted runs beside the caller's arrays; then ranges of the result, cut from all runs at exact ranks,
// become the result. Ranges are as large as chunks, whatever the keys. Stable, any number of devices.
//
// A device receives, sorts and sends at the same time in either trip. Sorting a range anew, rather than merging what it
// has of each run, costs a device less than the link takes to bring it.

#include "algorithms/out_of_core_sizes.hpp"
#include "algorithms/out_of_core_state.hpp"
#include "algorithms/registry.hpp"

namespace spansort::algorithms {

namespace {

void run_out_of_core(run_context& run, const problem& sort) {
  out_of_core_state state(run, sort);
  state.make_runs();
  state.merge_ranges();
  state.fill_report();
}

}  // namespace

extern constinit const entry out_of_core_algorithm{.name = "out_of_core",
                                                   .description = "in parts, for data larger than the devices",
                                                   .is = {.uses_all_devices = true, .sorts_in_parts = true},
                                                   .run = run_out_of_core,
                                                   .workspace = out_of_core_workspace,
                                                   .other_host_memory = out_of_core_host_memory};

}  // namespace spansort::algorithms
