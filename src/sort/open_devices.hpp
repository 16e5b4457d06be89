// SPDX-License-Identifier: Apache-2.0
// This header leads from a device list to open devices.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "algorithms/rank.hpp"
#include "base/test_hooks.hpp"
#include "device/device.hpp"
#include "device/host/sort_limits.hpp"
#include "spansort/options.hpp"

namespace spansort::sorting {

/// This is what a device_list means on this machine.
struct device_set {
  bool is_auto = false;   ///< whatever is fastest for the input
  unsigned count = 0;     ///< host devices asked for; 0: one, or one a NUMA node
  std::vector<int> gpus;  ///< instead of host devices: ordinals in rank order; a GPU may stand there several times
};

/// Throws device_error for devices that this machine lacks.
[[nodiscard]] device_set resolve_devices(const device_list& devices);

/// Test knobs and defaults of host devices.
[[nodiscard]] device::host::sort_limits host_limits(const base::test_hooks& hooks);

/// Called before every workspace allocation.
using allocation_hook = std::function<void(std::uint64_t)>;

/// The hook that makes the allocation fail that `hooks` names; `count` counts and outlives it.
[[nodiscard]] allocation_hook failing_allocations(const base::test_hooks& hooks, std::uint64_t& count);

/// How the devices of a list are opened.
struct open_options {
  bool across_nodes = false;  ///< "auto" and "cpu" are one device even where there are several NUMA nodes
  base::test_hooks hooks = {};
  allocation_hook hook = {};
  unsigned sharing_processes = 1;  ///< of this machine that open host devices too: each takes its share of processors
  gpu_memory_resource* gpu_memory = nullptr;
  unsigned threads = 0;  ///< of all host devices together; 0: the processors, or this process's share of them
};

/// Returns how many NUMA nodes so many threads of the host work on: for one thread the machine is not looked at, which
/// takes milliseconds, and takes memory that must not be refused.
[[nodiscard]] unsigned num_nodes_of(unsigned threads);

/// Opens the devices. "auto" and "cpu" are one device with all processors, or one a NUMA node; one for one thread.
[[nodiscard]] std::vector<std::unique_ptr<device::device>> open_devices(const device_set& list,
                                                                        const open_options& options);

/// Opens the devices as ranks. Throws device_error when the system refuses threads.
[[nodiscard]] std::vector<algorithms::rank> open_ranks(const device_set& list, const open_options& options);

/// One thread, the caller's: for inputs too small to wake others.
[[nodiscard]] std::unique_ptr<device::device> open_calling_thread(const base::test_hooks& hooks,
                                                                  const allocation_hook& hook);

}  // namespace spansort::sorting
