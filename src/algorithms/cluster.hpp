// SPDX-License-Identifier: Apache-2.0
// What a driver knows of the other processes of its sort: where its own ranks stand among all, what the others hold, and
// how to reach them. How messages travel is the business of whoever implements it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/exchange.hpp"
#include "device/device.hpp"
#include "plan/transfer.hpp"

namespace spansort::algorithms {

/// The processes of a sort. Each calls the same functions in the same order; all block until the others have come as far
/// as the call needs. They throw cluster_failure when another process is known to have failed.
class cluster {
 public:
  virtual ~cluster() = default;

  /// What this process is at, should it fail; does not block.
  virtual void enter_phase(std::string_view phase) = 0;
  /// The counts of all processes, those of the first one first. Each may give any number of them.
  [[nodiscard]] virtual std::vector<std::uint64_t> gather(std::span<const std::uint64_t> mine) = 0;
  /// Number by number, the sum over the processes before this one; zeros in the first.
  [[nodiscard]] virtual std::vector<std::uint64_t> sum_before(std::span<const std::uint64_t> mine) = 0;
  /// Overwrites `values` with those of process `from`.
  virtual void broadcast(std::span<std::uint64_t> values, unsigned from) = 0;
  /// `mine[i]` goes to process i; the result is what each process had for this one.
  [[nodiscard]] virtual std::vector<std::uint64_t> all_to_all(std::span<const std::uint64_t> mine) = 0;
  /// Executes those of the plan's transfers that leave this process or come to it. Ranks are those of all processes, the
  /// first of `endpoints` is `first_rank`. What the sources
  /// hold is complete; other copies may be queued.
  virtual exchanged push(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                         std::span<const endpoint> endpoints, unsigned first_rank) = 0;
};

/// A sort over several processes. Their ranks are numbered through, process by process. What does not name this process
/// is the same in all of them: so are the plans that follow from it.
struct cluster_sort {
  cluster* group = nullptr;
  unsigned process = 0;                      ///< this one
  std::vector<unsigned> first_ranks;         ///< of each process, and one more: how many there are
  std::vector<std::uint64_t> source_counts;  ///< records that each rank of all processes begins with
  std::vector<std::uint64_t> target_counts;  ///< that each ends with, exactly; empty: balanced, within the plan's slack
  device::partition_advice advice;           ///< suits every device
  device::records result = {};               ///< host memory of this process where the sorted records go

  [[nodiscard]] unsigned first_rank() const noexcept { return first_ranks[process]; }
};

}  // namespace spansort::algorithms
