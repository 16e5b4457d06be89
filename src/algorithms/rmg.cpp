// SPDX-License-Identifier: Apache-2.0
// RMG sort (Ilic, Tolovski, Rabl: "RMG Sort: Radix-Partitioning-Based Multi-GPU Sorting", BTW 2023, section 3): most
// significant digit partitioning until every bucket has one owner, one all-to-all exchange, bucket sorts. Stable, any
// number of devices.
//
// Devices with memory of their own exchange large inputs in rounds, beside the bucket sorts: a rank sorts what it got
// in a round while the next one is on its way.
//
// Each rank has two buffers: `chunk`, where its share of the input lies, and `spare`. On a device that shares the
// caller's memory the chunk is the caller's array itself, and the sorted buckets are left where they belong in it.

#include "algorithms/rmg.hpp"

#include "algorithms/registry.hpp"
#include "algorithms/rmg_state.hpp"

namespace spansort::algorithms {

void run_rmg(run_context& run, const problem& sort) { run_rmg(run, sort, {}); }

void run_rmg(run_context& run, const problem& sort, const rmg_extras& extras) {
  rmg_state state(run, sort, extras);
  state.scatter_input();
  while (state.has_spanning_buckets()) {
    state.count_pending();
    if (state.finish_if_ordered()) return;
    state.plan_pass();
    state.partition_pending();
  }
  state.exchange_and_sort();
  state.finish();
}

extern constinit const entry rmg_algorithm{
    .name = "rmg",
    .description = "radix partitioning over all devices, and one exchange between them",
    .is = {.uses_all_devices = true, .takes_resident = true, .takes_other_processes = true, .awaits_records = true},
    .run = run_rmg,
    .workspace = rmg_workspace};

}  // namespace spansort::algorithms
