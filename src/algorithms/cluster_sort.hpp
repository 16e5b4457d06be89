// SPDX-License-Identifier: Apache-2.0
// A cluster_sort is what a driver knows of the other processes of its sort: where its own ranks stand among all, what
// the others hold, and how to reach them.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.hpp"
#include "transport/communicator.hpp"
#include "transport/exchange.hpp"

namespace spansort::algorithms {

/// A sort over several processes. Their ranks are numbered through, process by process. What does not name this process
/// is the same in all of them: so are the plans that follow from it.
struct cluster_sort {
  transport::communicator* group = nullptr;
  transport::exchange* between_processes = nullptr;  ///< connected for all pairs that it is asked for
  unsigned process = 0;                              ///< this one
  std::vector<unsigned> first_ranks;                 ///< of each process, and one more: how many there are
  std::vector<std::uint64_t> source_counts;          ///< records that each rank of all processes begins with
  std::vector<std::uint64_t> target_counts;  ///< that each ends with, exactly; empty: balanced, within the plan's slack
  device::partition_advice advice;           ///< suits every device
  bool wants_whole_plan = false;             ///< some process's report does: all of them make the plan of all ranks
  device::records result = {};               ///< host memory of this process where the sorted records go

  [[nodiscard]] unsigned first_rank() const noexcept { return first_ranks[process]; }
};

}  // namespace spansort::algorithms
