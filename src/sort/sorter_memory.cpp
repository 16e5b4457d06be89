// SPDX-License-Identifier: Apache-2.0
#include "sort/sorter_memory.hpp"

#include <algorithm>
#include <cmath>

#include "base/math.hpp"
#include "device/host/scratch.hpp"
#include "device/host/topology.hpp"
#include "sort/device_list.hpp"

namespace spansort::sorting {
namespace {

constexpr double default_epsilon = 0.005;
constexpr std::uint64_t page_bytes = 4096;

/// Host devices that the list, or the CPU in its place, may be; the calling thread is one more.
std::uint64_t num_host_devices(const device_list& list) {
  return std::max<std::uint64_t>(list.count, device::host::num_numa_nodes());
}

/// Sorts in parts keep a copy of the data, as others do, and four parts on each device: of 1/32 of the data, of 64 MiB
/// where that is more, of less where the device has room for less only.
base::memory_formula parts_on_host_devices(const sort_options& options, std::uint64_t num_devices,
                                           std::uint64_t bytes) {
  if (options.device_memory_bytes != 0) return {.fixed_bytes = num_devices * options.device_memory_bytes};
  if (options.algorithm != "out_of_core") return {};
  return {.fixed_bytes = num_devices * (std::uint64_t{256} << 20),
          .element_bytes = base::ceil_div(num_devices * bytes, std::uint64_t{8})};
}

}  // namespace

base::memory_formula sorter_memory(const sort_options& options, std::uint64_t key_bytes, std::uint64_t value_bytes) {
  const tuning_options& tuning = options.tuning;
  const std::uint64_t num_devices = num_host_devices(parse_device_list(options.devices));
  const std::uint64_t num_threads = std::max<std::uint64_t>(device::host::num_processors(), num_devices) + 1;
  const std::uint64_t num_slots = tuning.host_separate_memory ? 2 : 1;
  const std::uint64_t bytes = key_bytes + value_bytes;

  base::memory_formula memory;
  // A chunk is rounded up to a key and its slack to another at each end; keys and values begin on pages of their own.
  const std::uint64_t rounding_bytes = num_slots * (4 * bytes + 2 * page_bytes);
  memory.fixed_bytes = num_threads * device::host::worker_scratch::size_bytes + (num_devices + 1) * rounding_bytes +
                       num_slots * host_limits(tuning).inline_keys * bytes;
  // One device has no slack.
  const double epsilon = tuning.epsilon >= 0 ? tuning.epsilon : default_epsilon;
  const double slack = num_devices == 1 ? 0 : 2 * epsilon;
  memory.element_bytes = static_cast<std::uint64_t>(std::ceil(static_cast<double>(num_slots * bytes) * (1 + slack)));
  const base::memory_formula parts = parts_on_host_devices(options, num_devices, bytes);
  memory.fixed_bytes += parts.fixed_bytes;
  memory.element_bytes += parts.element_bytes;
  return memory;
}

sort_options for_counted_sorts(const sort_options& options) {
  sort_options counted = options;
  counted.memory_limit_bytes = 0;
  counted.on_progress = {};
  counted.report = nullptr;
  return counted;
}

}  // namespace spansort::sorting
