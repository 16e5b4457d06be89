// SPDX-License-Identifier: Apache-2.0
// The place of a node rank's part in a whole whose parts lie one after the other, in the order of node ranks.
#pragma once

#include <cstdint>

#include "transport/communicator.hpp"

namespace spansort::mpi {

struct part_place {
  std::uint64_t num_before = 0;  ///< elements of the node ranks before this one
  std::uint64_t num_all = 0;     ///< elements of all
};

/// Collective. Returns the place of a part of `num_elements`, of which the node ranks may have different numbers.
[[nodiscard]] part_place place_part(transport::communicator& group, std::uint64_t num_elements);

}  // namespace spansort::mpi
