// SPDX-License-Identifier: Apache-2.0
// The processes of a sort as a group of node ranks over MPI.
#pragma once

#include <utility>
#include <vector>

#include "algorithms/cluster.hpp"
#include "algorithms/rank.hpp"
#include "mpi/transport/exchange_over_mpi.hpp"
#include "mpi/transport/nccl_link.hpp"
#include "mpi/transport/node_group.hpp"

namespace spansort::algorithms {

class group_cluster : public cluster {
 public:
  /// `ranks`: this process's. `first_ranks` as in cluster_sort. Group and ranks outlive this.
  /// `link`: between the GPUs of all processes, where there is one.
  group_cluster(transport::node_group& group, transport::exchange_limits limits, std::vector<rank>& ranks,
                std::vector<unsigned> first_ranks, transport::nccl_link* link);

  void enter_phase(std::string_view phase) override { group_.set_phase(phase); }
  [[nodiscard]] std::vector<std::uint64_t> gather(std::span<const std::uint64_t> mine) override;
  [[nodiscard]] std::vector<std::uint64_t> sum_before(std::span<const std::uint64_t> mine) override {
    return group_.exclusive_scan_sum(mine);
  }
  void broadcast(std::span<std::uint64_t> values, unsigned from) override { group_.broadcast(values, from); }
  [[nodiscard]] std::vector<std::uint64_t> all_to_all(std::span<const std::uint64_t> mine) override {
    return group_.all_to_all(mine);
  }
  algorithms::exchanged push(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                             std::span<const algorithms::endpoint> endpoints, unsigned first_rank) override;

  /// Takes the pinned memory that messages pass through where devices do not share the host's. Throws out_of_memory.
  void reserve_slots();

 private:
  [[nodiscard]] unsigned process_of(unsigned rank) const;
  [[nodiscard]] bool has_own_memory() const;
  /// After a failure in the midst of an exchange: MPI cannot be made to forget memory that it is given.
  void abandon_memory();

  transport::node_group& group_;
  transport::exchange_limits limits_;
  std::vector<rank>& ranks_;
  std::vector<unsigned> first_ranks_;
  transport::nccl_link* link_;
  device::buffer slots_;
};

}  // namespace spansort::algorithms
