// SPDX-License-Identifier: Apache-2.0
// Executes a transfer list between devices that reach each other's memory. Decides nothing and never looks at keys.
#pragma once

#include <cstdint>
#include <span>

#include "device/device.hpp"
#include "plan/transfer.hpp"

namespace spansort::exchange {

/// One rank's side of an exchange.
struct endpoint {
  device::queue* queue = nullptr;  ///< its copies run here
  device::records source;          ///< what transfers' source offsets count from
  device::records destination;     ///< what transfers' destination offsets count from
};

/// Queues every transfer on its destination's queue, which pulls; returns the bytes that change ranks. The caller has
/// made the queues wait until all sources are complete. Sources and destinations of one rank do not overlap those of
/// another.
std::uint64_t pull_in_memory(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                             std::span<const endpoint> endpoints);

}  // namespace spansort::exchange
