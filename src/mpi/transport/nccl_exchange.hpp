// SPDX-License-Identifier: Apache-2.0
// The exchange between processes with a GPU each: by NCCL, from GPU to GPU.
#pragma once

#include "mpi/transport/nccl_link.hpp"
#include "mpi/transport/part_list.hpp"
#include "transport/exchange.hpp"

namespace spansort::transport {

class nccl_exchange final : public exchange {
 public:
  /// `connection` outlives this; without a link it says why nothing can go this way. `first_ranks`: of each node rank,
  /// and one more: how many ranks there are.
  nccl_exchange(const nccl_connection& connection, std::vector<unsigned> first_ranks);

  [[nodiscard]] std::string why_not(unsigned source, unsigned receiver) const override;
  void connect(unsigned, unsigned) override {}
  exchanged execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                    std::span<const endpoint> endpoints) override;

 private:
  const nccl_connection& connection_;
  rank_map ranks_;
};

}  // namespace spansort::transport
