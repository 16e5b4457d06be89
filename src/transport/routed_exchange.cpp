// SPDX-License-Identifier: Apache-2.0
#include "transport/routed_exchange.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace spansort::transport {

route choose_route(std::span<exchange* const> transports, unsigned source, unsigned receiver) {
  route chosen;
  for (exchange* const candidate : transports) {
    const std::string why_not = candidate->why_not(source, receiver);
    if (why_not.empty()) {
      chosen.transport = candidate;
      return chosen;
    }
    if (!chosen.why_not_before.empty()) chosen.why_not_before += "; ";
    chosen.why_not_before += why_not;
  }
  return chosen;
}

routed_exchange::routed_exchange(std::vector<exchange*> transports) : transports_(std::move(transports)) {}

route routed_exchange::route_of(unsigned source, unsigned receiver) const {
  return choose_route(transports_, source, receiver);
}

std::string routed_exchange::why_not(unsigned source, unsigned receiver) const {
  const route chosen = route_of(source, receiver);
  return chosen.transport == nullptr ? chosen.why_not_before : std::string();
}

void routed_exchange::connect(unsigned source, unsigned receiver) {
  const route chosen = route_of(source, receiver);
  SPANSORT_ASSERT(chosen.transport != nullptr);
  chosen.transport->connect(source, receiver);
}

exchanged routed_exchange::execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                                   std::span<const endpoint> endpoints) {
  if (endpoints.empty()) return {};
  const auto is_here = [&](unsigned rank) { return rank >= endpoints.front().rank && rank <= endpoints.back().rank; };
  std::vector<std::vector<plan::transfer>> by_transport(transports_.size());
  // Transfers between the same two ranks follow each other in a plan: their route is looked for once.
  const plan::transfer* routed = nullptr;
  std::size_t chosen = 0;
  for (const plan::transfer& t : transfers) {
    if (t.count == 0 || (!is_here(t.source_rank) && !is_here(t.destination_rank))) continue;
    const bool goes_along =
        routed != nullptr && t.source_rank == routed->source_rank && t.destination_rank == routed->destination_rank;
    if (!goes_along) {
      const exchange* const transport = route_of(t.source_rank, t.destination_rank).transport;
      SPANSORT_ASSERT(transport != nullptr);
      chosen = static_cast<std::size_t>(std::ranges::find(transports_, transport) - transports_.begin());
      routed = &t;
    }
    by_transport[chosen].push_back(t);
  }
  exchanged sum;
  for (std::size_t i = 0; i < transports_.size(); ++i) {
    if (!by_transport[i].empty()) sum += transports_[i]->execute(shape, by_transport[i], endpoints);
  }
  return sum;
}

}  // namespace spansort::transport
