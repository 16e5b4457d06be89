// SPDX-License-Identifier: Apache-2.0
// A key extent says where a process's keys stand among those of all processes that an order statistic is over.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/communicator.hpp"

namespace spansort::statistics {

struct key_extent {
  std::uint64_t first = 0;
  std::uint64_t num_total = 0;
};

/// Collective.
[[nodiscard]] inline key_extent extent_of(std::uint64_t num_keys, transport::communicator& group) {
  const std::vector<std::uint64_t> all = group.all_gather({&num_keys, 1});
  key_extent extent;
  for (std::size_t p = 0; p < all.size(); ++p) {
    if (p < group.node_rank()) extent.first += all[p];
    extent.num_total += all[p];
  }
  return extent;
}

}  // namespace spansort::statistics
