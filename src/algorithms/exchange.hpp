// SPDX-License-Identifier: Apache-2.0
// Executes a transfer list between devices of one machine: directly where a device reaches the other's memory, through
// host memory where it does not. Decides nothing about keys and never looks at them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "device/device.hpp"
#include "plan/transfer.hpp"

namespace spansort::algorithms {

/// One rank's side of an exchange.
struct endpoint {
  device::queue* queue = nullptr;  ///< its copies run here
  device::records source;          ///< what transfers' source offsets count from
  device::records destination;     ///< what transfers' destination offsets count from
  /// Events of the rank's device that are free until its queue is empty.
  std::function<device::event&()> take_event;
};

/// Whether `source` can store into the memory of `receiver`, by rank.
using reach_rule = std::function<bool(unsigned source, unsigned receiver)>;

/// Host memory that staged transfers pass through, as device::allocate_staging() gives it.
struct staging_area {
  std::byte* memory = nullptr;
  std::uint64_t slot_bytes = 0;
  unsigned num_slots = 0;
};

struct exchanged {
  std::uint64_t bytes = 0;         ///< that change ranks
  std::uint64_t staged_bytes = 0;  ///< of them, those through host memory
};

/// Queues every transfer. Where a source reaches its receiver it pushes, all its transfers at once, those to different
/// receivers taking turns, so that all links are busy all the time; else both copy, by way of host memory. The caller has
/// made the queues wait until all sources are complete, and waits for all queues before it uses any destination. Sources
/// and destinations of one rank do not overlap those of another. `staging` holds an area of every receiver that some
/// source does not reach, by rank.
exchanged push_in_memory(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                         std::span<const endpoint> endpoints, const reach_rule& reaches,
                         std::span<const staging_area> staging);

}  // namespace spansort::algorithms
