// SPDX-License-Identifier: Apache-2.0
// The exchange between devices of one process that reach each other's memory: every source pushes.
#pragma once

#include <string>
#include <vector>

#include "transport/exchange.hpp"

namespace spansort::transport {

class direct_exchange final : public exchange {
 public:
  /// `devices`: of this process's ranks, of which the first has the number `first_rank`; they outlive this. `refused`,
  /// if not empty, is why different ranks shall not use this transport although they could.
  direct_exchange(std::vector<const device::device*> devices, unsigned first_rank, std::string refused = {});

  [[nodiscard]] std::string why_not(unsigned source, unsigned receiver) const override;
  void connect(unsigned, unsigned) override {}
  /// All transfers of a source are one request to its queue.
  exchanged execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                    std::span<const endpoint> endpoints) override;

 private:
  std::vector<const device::device*> devices_;
  unsigned first_rank_;
  std::string refused_;
};

}  // namespace spansort::transport
