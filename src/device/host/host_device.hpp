// SPDX-License-Identifier: Apache-2.0
// The device interface on CPU threads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/device.hpp"
#include "device/host/sort_limits.hpp"

namespace spansort::device::host {

struct host_device_options {
  std::string name = "host:0";
  unsigned num_threads = 1;
  int numa_node = -1;              ///< -1: not bound
  bool on_calling_thread = false;  ///< queues run their work at once on the thread that queues it
  bool shares_memory = true;       ///< false: a device with memory of its own, as a GPU; for tests of copies in and out
  sort_limits limits = {};
  /// Called before every allocation with its bytes; may throw out_of_memory. For limits and tests.
  std::function<void(std::uint64_t)> before_allocation = {};
};

[[nodiscard]] std::unique_ptr<device> make_host_device(host_device_options options);

}  // namespace spansort::device::host
