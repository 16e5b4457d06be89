// SPDX-License-Identifier: Apache-2.0
#include "transport/transfer_order.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace spansort::transport {

std::vector<plan::transfer> in_turns(std::span<const plan::transfer> transfers, const endpoint& source,
                                     std::span<const endpoint> endpoints) {
  const unsigned first_rank = endpoints.front().rank;
  const auto num_ranks = static_cast<unsigned>(endpoints.size());
  std::vector<std::vector<plan::transfer>> to_rank(num_ranks);
  std::size_t most = 0;
  for (const plan::transfer& t : transfers) {
    if (t.source_rank != source.rank || t.count == 0) continue;
    SPANSORT_ASSERT(t.destination_rank >= first_rank && t.destination_rank - first_rank < num_ranks);
    std::vector<plan::transfer>& of_one = to_rank[t.destination_rank - first_rank];
    of_one.push_back(t);
    most = std::max(most, of_one.size());
  }
  std::vector<plan::transfer> ordered;
  for (std::size_t i = 0; i < most; ++i) {
    const std::size_t nearest = num_ranks % 2 == 0 ? i : 0;
    for (unsigned distance = 0; distance < num_ranks; ++distance) {
      const std::vector<plan::transfer>& of_one = to_rank[(source.rank - first_rank + nearest + distance) % num_ranks];
      if (i < of_one.size()) ordered.push_back(of_one[i]);
    }
  }
  return ordered;
}

}  // namespace spansort::transport
