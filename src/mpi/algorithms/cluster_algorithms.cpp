// SPDX-License-Identifier: Apache-2.0
#include "mpi/algorithms/cluster_algorithms.hpp"

#include <array>

#include "algorithms/rmg.hpp"
#include "base/names.hpp"
#include "mpi/algorithms/distributed_lsd.hpp"
#include "mpi/algorithms/distributed_sample_sort.hpp"

namespace spansort::algorithms {
namespace {

/// The driver of one machine: its plan numbers the ranks of all processes.
void run_distributed_rmg(run_context& run, const problem& sort) {
  run_rmg(run, sort);
  run.report().algorithm = "distributed_rmg";
}

constexpr traits over_devices{.uses_all_devices = true, .takes_other_processes = true};
constexpr traits over_copies{.takes_other_processes = true, .num_copies = 2};

constexpr std::array<cluster_entry, 4> entries{
    {{.driver = {"auto", "distributed_rmg", over_devices, run_distributed_rmg, rmg_workspace},
      .sorts_alone_as_auto = true},
     {.driver = {"distributed_rmg", "most significant digits first, one exchange", over_devices, run_distributed_rmg,
                 rmg_workspace},
      .sorts_alone_as_auto = true},
     {.driver = {"distributed_lsd", "least significant digits first, an exchange a digit", over_copies,
                 run_distributed_lsd, distributed_lsd_workspace},
      .needs_target_counts = true,
      .most_radix_bits = 16},
     {.driver = {"distributed_sample_sort", "sorted parts, splitters from samples, one exchange, merges", over_copies,
                 run_distributed_sample_sort, distributed_sample_sort_workspace},
      .needs_target_counts = true}}};

}  // namespace

std::span<const cluster_entry> all_cluster_algorithms() { return entries; }

const cluster_entry& find_cluster_algorithm(std::string_view name) {
  const auto name_of = [](const cluster_entry& e) { return e.driver.name; };
  return entries[base::find_name(entries, name, "algorithm over MPI", name_of)];
}

}  // namespace spansort::algorithms
