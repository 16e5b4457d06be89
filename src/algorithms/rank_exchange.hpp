// SPDX-License-Identifier: Apache-2.0
// The ranks of a run exchange records: directly where their devices reach each other, else through host memory;
// with other processes' ranks by what the caller gives.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/run_context.hpp"
#include "transport/direct_exchange.hpp"
#include "transport/host_staged_exchange.hpp"
#include "transport/routed_exchange.hpp"

namespace spansort::algorithms {

class rank_exchange {
 public:
  /// Connects every pair of the run's ranks and takes the memory for it; the report says why where records go through
  /// host memory. `capacities`: records that each rank receives at most. The ranks are numbered from `first_rank`.
  /// `beyond` connects them with those of other processes; null: there are none.
  rank_exchange(run_context& run, const device::record_shape& shape, const std::vector<std::uint64_t>& capacities,
                unsigned first_rank = 0, transport::exchange* beyond = nullptr);

  /// Executes a transfer list as transport::exchange::execute() does.
  transport::exchanged execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                               std::span<const transport::endpoint> endpoints) {
    return all_.execute(shape, transfers, endpoints);
  }

 private:
  // They stand in the order in which they are tried.
  transport::direct_exchange direct_;
  transport::host_staged_exchange staged_;
  transport::routed_exchange all_;
};

}  // namespace spansort::algorithms
