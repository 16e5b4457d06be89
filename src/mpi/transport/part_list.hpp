// SPDX-License-Identifier: Apache-2.0
// A part list leads from a plan's transfers to the bytes that go to and come from each node rank.
#pragma once

#include <vector>

#include "mpi/transport/exchange_bytes.hpp"
#include "transport/exchange.hpp"

namespace spansort::transport {

/// The node rank of each rank.
class rank_map {
 public:
  /// `first_ranks`: of each node rank, and one more: how many ranks there are.
  explicit rank_map(std::vector<unsigned> first_ranks) : first_ranks_(std::move(first_ranks)) {}

  [[nodiscard]] unsigned node_rank_of(unsigned rank) const;

 private:
  std::vector<unsigned> first_ranks_;
};

/// Memory of one endpoint that a part of the exchange lies in.
struct endpoint_range {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  const endpoint* owner = nullptr;
};

/// The parts of an exchange, keys and values apart. Sender and receiver of a pair list the same transfers in the same
/// order, so that their parts are cut alike.
struct part_list {
  std::vector<outgoing_part> outgoing;
  std::vector<incoming_part> incoming;
  std::vector<endpoint_range> ranges;
  std::uint64_t bytes = 0;  ///< that leave a rank of this process for another rank
};

/// `endpoints` outlive the list.
[[nodiscard]] part_list parts_of(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                                 std::span<const endpoint> endpoints, const rank_map& ranks);

}  // namespace spansort::transport
