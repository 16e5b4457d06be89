// SPDX-License-Identifier: Apache-2.0
// Values that did not travel with their keys over MPI follow by index.
#pragma once

#include <cstdint>
#include <span>

#include "mpi/transport/exchange_bytes.hpp"
#include "mpi/transport/node_group.hpp"

namespace spansort::mpi {

/// The values that this node rank has: `num_values` of `value_bytes` bytes.
struct held_values {
  const void* values = nullptr;
  std::uint64_t value_bytes = 0;
  std::uint64_t num_values = 0;
};

/// destination[i] = the value at indices[i], where indices count through the values that all node ranks hold, in their
/// order. Collective, blocks. Memory: 16 bytes and a value for every index, and as much for what others ask for.
void fetch_values(transport::node_group& group, const transport::exchange_limits& limits, const held_values& held,
                  std::span<const std::uint64_t> indices, void* destination);

}  // namespace spansort::mpi
