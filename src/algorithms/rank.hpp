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
  std::unique_ptr<device::event> done;  ///< what other ranks wait for
  std::unique_ptr<device::event>
      idle;  ///< what the host polls; apart, for an event is not recorded again while awaited
  std::unique_ptr<device::queue> queue;
};

}  // namespace spansort::algorithms
