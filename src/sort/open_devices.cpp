// SPDX-License-Identifier: Apache-2.0
#include "sort/open_devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/math.hpp"
#include "base/shares.hpp"
#include "base/threads.hpp"
#include "device/host/host_device.hpp"
#include "device/host/topology.hpp"
#include "sort/gpu_devices.hpp"
#include "spansort/devices.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {
namespace {

/// Returns which of `num_threads` threads device `index` of `count` gets, at least one.
unsigned threads_of(unsigned index, unsigned count, unsigned num_threads) {
  return std::max(1U, base::checked_cast<unsigned>(base::share_size(num_threads, count, index)));
}

}  // namespace

device_set resolve_devices(const device_list& devices) {
  device_set set;
  set.is_auto = devices.what() == device_list::kind::automatic;
  set.count = devices.count();
  if (devices.what() != device_list::kind::gpu) return set;
  const int num = num_gpus();
  if (num == 0) throw device_error(fmt::format("device list '{}': {}", to_string(devices), why_no_gpu()));
  set.gpus = devices.ordinals();
  for (const int ordinal : set.gpus) {
    if (ordinal < num) continue;
    throw device_error(
        fmt::format("device list '{}': there is no GPU {}; this machine has {}", to_string(devices), ordinal, num));
  }
  if (set.gpus.empty()) {
    for (int i = 0; i < num; ++i) set.gpus.push_back(i);
  }
  return set;
}

device::host::sort_limits host_limits(const base::test_hooks& hooks) {
  device::host::sort_limits limits;
  if (hooks.host_inline_keys != 0) {
    limits.inline_keys = hooks.host_inline_keys;
    limits.vector_inline_bytes = 0;
    limits.word_inline_keys = 0;
    limits.vector_alone_keys = 0;
    limits.class_memory_parts = 0;
  }
  if (hooks.host_bucket_bytes != 0) limits.bucket_bytes = limits.class_bytes = hooks.host_bucket_bytes;
  if (hooks.host_radix_bits != 0) limits.radix_bits = hooks.host_radix_bits;
  if (hooks.host_tile_keys != 0) limits.piece_keys = hooks.host_tile_keys;
  return limits;
}

allocation_hook failing_allocations(const base::test_hooks& hooks, std::uint64_t& count) {
  return [at = hooks.fail_allocation_at, &count](std::uint64_t size_bytes) {
    if (++count == at) {
      throw out_of_memory("an allocation was made to fail (test_hooks::fail_allocation_at)", size_bytes, 0);
    }
  };
}

unsigned num_nodes_of(unsigned threads) {
  return base::resolve_threads(threads) == 1 ? 1 : device::host::num_numa_nodes();
}

std::vector<std::unique_ptr<device::device>> open_devices(const device_set& list, const open_options& options) {
  std::vector<std::unique_ptr<device::device>> devices;
  for (const int ordinal : list.gpus) devices.push_back(open_gpu(ordinal, options));
  if (!devices.empty()) return devices;
  const unsigned num_threads =
      base::resolve_threads(options.threads) / (options.threads == 0 ? options.sharing_processes : 1);
  const unsigned num_nodes = options.across_nodes ? 1 : num_nodes_of(options.threads);
  const unsigned count = list.count == 0 ? num_nodes : list.count;
  for (unsigned i = 0; i < count; ++i) {
    device::host::host_device_options host;
    host.name = fmt::format("host:{}", i);
    host.num_threads = threads_of(i, count, num_threads);
    if (num_nodes > 1) host.numa_node = static_cast<int>(i * num_nodes / count);
    host.shares_memory = !options.hooks.host_separate_memory;
    host.limits = host_limits(options.hooks);
    host.before_allocation = options.hook;
    devices.push_back(device::host::make_host_device(std::move(host)));
  }
  return devices;
}

std::vector<algorithms::rank> open_ranks(const device_set& list, const open_options& options) {
  std::vector<algorithms::rank> ranks;
  for (auto& device : open_devices(list, options)) ranks.push_back(algorithms::make_rank(std::move(device)));
  return ranks;
}

std::unique_ptr<device::device> open_calling_thread(const base::test_hooks& hooks, const allocation_hook& hook) {
  device::host::host_device_options options;
  // Where tests have it copy, its queues must be able to hold copies back.
  options.on_calling_thread = !hooks.host_separate_memory;
  options.shares_memory = !hooks.host_separate_memory;
  options.limits = host_limits(hooks);
  options.before_allocation = hook;
  return device::host::make_host_device(std::move(options));
}

}  // namespace spansort::sorting
