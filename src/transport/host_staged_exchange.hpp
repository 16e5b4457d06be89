// SPDX-License-Identifier: Apache-2.0
// The exchange between devices of one process by way of host memory, for those that do not reach each other's.
#pragma once

#include <vector>

#include "transport/exchange.hpp"

namespace spansort::transport {

/// A rank that receives through host memory.
struct staged_rank {
  device::device* device = nullptr;
  std::uint64_t slot_bytes = 0;  ///< of each of its staging slots; at least 1
};

class host_staged_exchange final : public exchange {
 public:
  /// `ranks`: this process's, of which the first has the number `first_rank`; their devices outlive this.
  host_staged_exchange(std::vector<staged_rank> ranks, unsigned first_rank);

  [[nodiscard]] std::string why_not(unsigned source, unsigned receiver) const override;
  /// Takes num_slots slots for the receiver.
  void connect(unsigned source, unsigned receiver) override;
  exchanged execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                    std::span<const endpoint> endpoints) override;

  static constexpr unsigned num_slots = 4;

 private:
  std::vector<staged_rank> ranks_;
  unsigned first_rank_;
  std::vector<device::buffer> staging_;  ///< by rank of this process; empty where nothing is received
};

}  // namespace spansort::transport
