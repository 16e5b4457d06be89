// SPDX-License-Identifier: Apache-2.0
#include "mpi/algorithms/cluster_algorithms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mpi/algorithms/distributed_lsd.hpp"
#include "spansort/errors.hpp"

namespace spansort::algorithms {
namespace {

/// The driver of one machine: its plan numbers the ranks of all processes.
void run_distributed_rmg(run_context& run, const problem& sort) {
  run_rmg(run, sort);
  run.report().algorithm = "distributed_rmg";
}

constexpr std::array<entry, 3> entries{{{"auto", run_distributed_rmg, rmg_workspace},
                                        {"distributed_rmg", run_distributed_rmg, rmg_workspace},
                                        {"distributed_lsd", run_distributed_lsd, distributed_lsd_workspace}}};

}  // namespace

const entry& find_cluster_algorithm(std::string_view name) {
  const auto found = std::ranges::find(entries, name, &entry::name);
  if (found != entries.end()) return *found;
  throw invalid_argument(
      fmt::format("unknown algorithm '{}'; known over MPI: auto, distributed_rmg, distributed_lsd", name));
}

}  // namespace spansort::algorithms
