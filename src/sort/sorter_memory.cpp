// SPDX-License-Identifier: Apache-2.0
#include "sort/sorter_memory.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/registry.hpp"
#include "base/math.hpp"
#include "base/threads.hpp"
#include "device/host/scratch.hpp"
#include "sort/open_devices.hpp"

namespace spansort::sorting {
namespace {

constexpr double default_epsilon = 0.005;
constexpr std::uint64_t page_bytes = 4096;

/// Host devices that the list, or the CPU in its place, may be; the calling thread is one more.
std::uint64_t num_host_devices(const device_set& list, unsigned threads) {
  return std::max(list.count, num_nodes_of(threads));
}

/// Returns what an algorithm keeps beside copies of the data, up to the limit of the devices where there is one.
base::memory_formula other_memory(const algorithms::entry& algorithm, std::uint64_t device_memory_bytes,
                                  std::uint64_t num_devices, std::uint64_t bytes) {
  if (device_memory_bytes != 0) return {.fixed_bytes = num_devices * device_memory_bytes};
  return algorithm.other_host_memory == nullptr ? base::memory_formula{}
                                                : algorithm.other_host_memory(num_devices, bytes);
}

}  // namespace

base::memory_formula sorter_memory(const sort_options& options, std::uint64_t key_bytes, std::uint64_t value_bytes) {
  const tuning_options& tuning = options.tuning;
  const base::test_hooks& hooks = base::current_test_hooks();
  const std::uint64_t num_devices = num_host_devices(resolve_devices(options.devices), options.threads);
  const std::uint64_t num_threads = std::max<std::uint64_t>(base::resolve_threads(options.threads), num_devices) + 1;
  const algorithms::entry& algorithm = algorithms::find_algorithm(name(options.algorithm));
  const std::uint64_t num_slots = algorithm.is.num_copies + (hooks.host_separate_memory ? 1 : 0);
  const std::uint64_t bytes = key_bytes + value_bytes;

  base::memory_formula memory;
  // A chunk is rounded up to a key and its slack to another at each end; keys and values begin on pages of their own.
  const std::uint64_t rounding_bytes = num_slots * (4 * bytes + 2 * page_bytes);
  const device::host::sort_limits limits = host_limits(hooks);
  const bool has_classes = value_bytes == 0 && key_bytes >= 4;
  const bool has_classes_always = has_classes && limits.class_memory_parts == 0;
  const std::uint64_t block_bytes = has_classes_always ? device::host::spare_block_bytes : 0;
  memory.fixed_bytes = num_threads * (device::host::worker_scratch::size_bytes + block_bytes) +
                       (num_devices + 1) * rounding_bytes +
                       num_slots * device::host::inline_keys(limits, key_bytes, value_bytes) * bytes;
  // One device has no slack.
  const double epsilon = tuning.epsilon >= 0 ? tuning.epsilon : default_epsilon;
  const double slack = num_devices == 1 ? 0 : 2 * epsilon;
  memory.element_bytes = static_cast<std::uint64_t>(std::ceil(static_cast<double>(num_slots * bytes) * (1 + slack)));
  if (has_classes && !has_classes_always) {
    memory.element_bytes += base::ceil_div(key_bytes, limits.class_memory_parts);
    memory.fixed_bytes += num_threads * device::host::lost_block_bytes;
  }
  const base::memory_formula other = other_memory(algorithm, options.device_memory_bytes, num_devices, bytes);
  memory.fixed_bytes += other.fixed_bytes;
  memory.element_bytes += other.element_bytes;
  return memory;
}

unsigned threads_below(std::uint64_t ceiling_bytes, unsigned threads) {
  const std::uint64_t most = ceiling_bytes / 2 / device::host::worker_scratch::size_bytes;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(threads, 1, std::max<std::uint64_t>(most, 1)));
}

sort_options for_counted_sorts(const sort_options& options) {
  sort_options counted = options;
  counted.memory_limit_bytes = 0;
  counted.on_progress = {};
  counted.report = nullptr;
  return counted;
}

}  // namespace spansort::sorting
