// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/nccl_exchange.hpp"

#include <utility>

#include "base/assert.hpp"

namespace spansort::transport {

nccl_exchange::nccl_exchange(const nccl_connection& connection, std::vector<unsigned> first_ranks)
    : connection_(connection), ranks_(std::move(first_ranks)) {}

std::string nccl_exchange::why_not(unsigned, unsigned) const {
  return connection_.link == nullptr ? connection_.why_not : std::string();
}

exchanged nccl_exchange::execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                                 std::span<const endpoint> endpoints) {
  SPANSORT_ASSERT(connection_.link != nullptr);
  if (endpoints.empty()) return {};
  const part_list parts = parts_of(shape, transfers, endpoints, ranks_);
  connection_.link->move_parts(parts.outgoing, parts.incoming);
  return {.bytes = parts.bytes};
}

}  // namespace spansort::transport
