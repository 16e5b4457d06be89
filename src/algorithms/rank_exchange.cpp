// SPDX-License-Identifier: Apache-2.0
#include "algorithms/rank_exchange.hpp"

#include <algorithm>

#include "base/math.hpp"

namespace spansort::algorithms {
namespace {

/// Sizes of the slots of host memory that staged transfers pass through.
constexpr std::uint64_t most_staging_slot_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t least_staging_slot_bytes = 4096;

std::uint64_t staging_slot_bytes(const device::record_shape& shape, std::uint64_t capacity) {
  const std::uint64_t widest = std::max<std::uint64_t>(shape.codec.width_bytes(), shape.value_bytes);
  // All of a small part pins little memory: pinning takes longer than sorting it.
  return std::clamp(base::round_up(capacity * widest, least_staging_slot_bytes), least_staging_slot_bytes,
                    most_staging_slot_bytes);
}

std::vector<const device::device*> devices_of(const run_context& run) {
  std::vector<const device::device*> devices;
  for (const rank& r : run.ranks()) devices.push_back(r.device.get());
  return devices;
}

std::vector<transport::staged_rank> receivers_of(const run_context& run, const device::record_shape& shape,
                                                 const std::vector<std::uint64_t>& capacities) {
  std::vector<transport::staged_rank> receivers;
  for (unsigned r = 0; r < run.num_ranks(); ++r) {
    receivers.push_back({run.ranks()[r].device.get(), staging_slot_bytes(shape, capacities[r])});
  }
  return receivers;
}

std::vector<transport::exchange*> in_order(transport::exchange& direct, transport::exchange& staged,
                                           transport::exchange* beyond) {
  std::vector<transport::exchange*> transports{&direct, &staged};
  if (beyond != nullptr) transports.push_back(beyond);
  return transports;
}

}  // namespace

rank_exchange::rank_exchange(run_context& run, const device::record_shape& shape,
                             const std::vector<std::uint64_t>& capacities, unsigned first_rank,
                             transport::exchange* beyond)
    : direct_(devices_of(run), first_rank,
              run.options().hooks.exchange_through_host ? "asked for (test_hooks::exchange_through_host)" : ""),
      staged_(receivers_of(run, shape, capacities), first_rank),
      all_(in_order(direct_, staged_, beyond)) {
  for (unsigned receiver = first_rank; receiver - first_rank < run.num_ranks(); ++receiver) {
    for (unsigned source = first_rank; source - first_rank < run.num_ranks(); ++source) {
      const transport::route route = all_.route_of(source, receiver);
      route.transport->connect(source, receiver);
      if (run.report().staged_because.empty()) run.report().staged_because = route.why_not_before;
    }
  }
}

}  // namespace spansort::algorithms
