// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "device/device.hpp"

namespace spansort::algorithms {

/// A position in the sort's device list, with what it keeps from call to call. Members are destroyed last to first:
/// the queue's thread ends before the memory goes, and both before the device.
struct rank {
  std::unique_ptr<device::device> device;
  std::vector<device::buffer> slots;
  std::uint64_t scratch_bytes = 0;      ///< what the device holds for its queues
  std::unique_ptr<device::event> done;  ///< what other ranks wait for
  std::unique_ptr<device::event> idle;  ///< what the host polls; apart, for an awaited event is not recorded again
  std::unique_ptr<device::queue> queue;
};

/// A rank on `device`, with nothing held yet.
[[nodiscard]] inline rank make_rank(std::unique_ptr<device::device> device) {
  rank r;
  r.device = std::move(device);
  r.done = r.device->make_event();
  r.idle = r.device->make_event();
  r.queue = r.device->make_queue();
  return r;
}

}  // namespace spansort::algorithms
