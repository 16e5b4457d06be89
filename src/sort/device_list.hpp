// SPDX-License-Identifier: Apache-2.0
// "cpu:4", "gpu:0,1", "auto": from the text of a device list to open devices.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "algorithms/rank.hpp"
#include "device/device.hpp"
#include "device/host/sort_limits.hpp"
#include "spansort/options.hpp"

namespace spansort::sorting {

struct device_list {
  bool is_auto = false;   ///< whatever is fastest for the input
  unsigned count = 0;     ///< host devices asked for; 0: one, or one a NUMA node
  std::vector<int> gpus;  ///< instead of host devices: ordinals in rank order; a GPU may stand there several times
};

/// Throws invalid_argument for what no machine has, device_error for what this one lacks.
[[nodiscard]] device_list parse_device_list(std::string_view text);

/// Test knobs and defaults of host devices.
[[nodiscard]] device::host::sort_limits host_limits(const tuning_options& tuning);

/// Called before every workspace allocation.
using allocation_hook = std::function<void(std::uint64_t)>;

/// The hook that makes the allocation fail that `tuning` names; `count` counts and outlives it.
[[nodiscard]] allocation_hook failing_allocations(const tuning_options& tuning, std::uint64_t& count);

/// How the devices of a list are opened.
struct open_options {
  bool across_nodes = false;  ///< "auto" and "cpu" are one device even where there are several NUMA nodes
  tuning_options tuning = {};
  allocation_hook hook = {};
  unsigned sharing_processes = 1;  ///< of this machine that open host devices too: each takes its share of processors
  gpu_memory_resource* gpu_memory = nullptr;
};

/// Opens the devices. "auto" and "cpu" are one device with all processors, or one a NUMA node.
[[nodiscard]] std::vector<std::unique_ptr<device::device>> open_devices(const device_list& list,
                                                                        const open_options& options);

/// Opens the devices as ranks. Throws device_error when the system refuses threads.
[[nodiscard]] std::vector<algorithms::rank> open_ranks(const device_list& list, const open_options& options);

/// One thread, the caller's: for inputs too small to wake others.
[[nodiscard]] std::unique_ptr<device::device> open_calling_thread(const tuning_options& tuning,
                                                                  const allocation_hook& hook);

}  // namespace spansort::sorting
