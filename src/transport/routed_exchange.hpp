// SPDX-License-Identifier: Apache-2.0
// Several transports as one: every pair of ranks uses the first that can connect it.
#pragma once

#include <string>
#include <vector>

#include "transport/exchange.hpp"

namespace spansort::transport {

/// A route is what a pair of ranks uses, and why not what would have been better.
struct route {
  exchange* transport = nullptr;  ///< null: none can
  std::string why_not_before;     ///< of the transports tried before, joined; "" where the first one can
};

/// The first of `transports` that connects the two ranks.
[[nodiscard]] route choose_route(std::span<exchange* const> transports, unsigned source, unsigned receiver);

class routed_exchange final : public exchange {
 public:
  /// `transports`: in the order in which they are tried; they outlive this. Those that only queue copies stand before
  /// those that block.
  explicit routed_exchange(std::vector<exchange*> transports);

  [[nodiscard]] route route_of(unsigned source, unsigned receiver) const;
  [[nodiscard]] std::string why_not(unsigned source, unsigned receiver) const override;
  void connect(unsigned source, unsigned receiver) override;
  exchanged execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                    std::span<const endpoint> endpoints) override;

 private:
  std::vector<exchange*> transports_;
};

}  // namespace spansort::transport
