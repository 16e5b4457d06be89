// SPDX-License-Identifier: Apache-2.0
// The exchange between any processes: over MPI, from host memory to host memory.
#pragma once

#include <functional>

#include "mpi/transport/exchange_bytes.hpp"
#include "mpi/transport/node_group.hpp"
#include "mpi/transport/part_list.hpp"
#include "transport/exchange.hpp"

namespace spansort::transport {

struct mpi_exchange_options {
  exchange_limits limits;
  std::vector<unsigned> first_ranks;  ///< of each node rank, and one more: how many ranks there are
  /// This gives the memory that messages pass through where MPI cannot reach that of this node rank's devices. Null: it
  /// can. Outlives the exchange.
  device::device* staging_device = nullptr;
  /// Called when an exchange has failed halfway: MPI may write to its destinations until the process ends, so that
  /// their memory must never be freed. The exchange's own stays by itself.
  std::function<void()> keep_memory = {};
};

class mpi_exchange final : public exchange {
 public:
  /// The group outlives this.
  mpi_exchange(node_group& group, mpi_exchange_options options);

  [[nodiscard]] std::string why_not(unsigned, unsigned) const override { return {}; }
  /// The first call takes the pinned memory that messages pass through, if they must.
  void connect(unsigned source, unsigned receiver) override;
  exchanged execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                    std::span<const endpoint> endpoints) override;

 private:
  node_group& group_;
  mpi_exchange_options options_;
  rank_map ranks_;
  device::buffer slots_;
};

}  // namespace spansort::transport
