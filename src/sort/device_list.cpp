// SPDX-License-Identifier: Apache-2.0
#include "sort/device_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "device/host/host_device.hpp"
#include "device/host/topology.hpp"
#include "sort/gpu_devices.hpp"
#include "spansort/devices.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {
namespace {

constexpr unsigned max_host_devices = 256;
constexpr std::size_t max_gpu_ranks = 64;

unsigned parse_host_count(std::string_view list, std::string_view count) {
  unsigned number = 0;
  const std::from_chars_result end = std::from_chars(count.data(), count.data() + count.size(), number);
  const bool is_number = end.ec == std::errc() && end.ptr == count.data() + count.size();
  if (!is_number || number == 0 || number > max_host_devices) {
    throw invalid_argument(
        fmt::format("device list '{}': expected cpu:N with N from 1 to {}, found '{}'", list, max_host_devices, count));
  }
  return number;
}

std::vector<int> parse_gpus(std::string_view list, std::string_view ordinals) {
  const int num_gpus = sorting::num_gpus();
  std::vector<int> gpus;
  while (true) {
    const std::size_t comma = std::min(ordinals.find(','), ordinals.size());
    const std::string_view text = ordinals.substr(0, comma);
    int ordinal = -1;
    const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), ordinal);
    if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size() || ordinal < 0) {
      throw invalid_argument(
          fmt::format("device list '{}': expected gpu:I,J,... with numbers of GPUs, found '{}'", list, text));
    }
    if (num_gpus == 0) throw device_error(fmt::format("device list '{}': {}", list, why_no_gpu()));
    if (ordinal >= num_gpus) {
      throw device_error(
          fmt::format("device list '{}': there is no GPU {}; this machine has {}", list, ordinal, num_gpus));
    }
    gpus.push_back(ordinal);
    if (gpus.size() > max_gpu_ranks) {
      throw invalid_argument(fmt::format("device list '{}': more than {} GPUs", list, max_gpu_ranks));
    }
    if (comma == ordinals.size()) return gpus;
    ordinals.remove_prefix(comma + 1);
  }
}

/// Which of `num_threads` threads device `index` of `count` gets, at least one.
unsigned threads_of(unsigned index, unsigned count, unsigned num_threads) {
  const unsigned share = num_threads / count + (index < num_threads % count ? 1 : 0);
  return std::max(1U, share);
}

}  // namespace

device_list parse_device_list(std::string_view text) {
  device_list list;
  list.is_auto = text == "auto";
  if (list.is_auto || text == "cpu") return list;
  if (text.starts_with("cpu:")) {
    list.count = parse_host_count(text, text.substr(4));
    return list;
  }
  if (text == "gpu") {
    if (num_gpus() == 0) throw device_error(fmt::format("device list '{}': {}", text, why_no_gpu()));
    for (int i = 0; i < num_gpus(); ++i) list.gpus.push_back(i);
  } else if (text.starts_with("gpu:")) {
    list.gpus = parse_gpus(text, text.substr(4));
  }
  if (!list.gpus.empty()) return list;
  throw invalid_argument(fmt::format("unknown device list '{}'; known: auto, cpu, cpu:N, gpu, gpu:I,J,...", text));
}

device::host::sort_limits host_limits(const tuning_options& tuning) {
  device::host::sort_limits limits;
  if (tuning.host_inline_keys != 0) limits.inline_keys = tuning.host_inline_keys;
  if (tuning.host_bucket_bytes != 0) limits.bucket_bytes = tuning.host_bucket_bytes;
  if (tuning.host_radix_bits != 0) limits.radix_bits = tuning.host_radix_bits;
  if (tuning.host_tile_keys != 0) limits.piece_keys = tuning.host_tile_keys;
  return limits;
}

allocation_hook failing_allocations(const tuning_options& tuning, std::uint64_t& count) {
  return [at = tuning.fail_allocation_at, &count](std::uint64_t size_bytes) {
    if (++count == at) {
      throw out_of_memory("an allocation was made to fail (tuning.fail_allocation_at)", size_bytes, 0);
    }
  };
}

std::vector<std::unique_ptr<device::device>> open_devices(const device_list& list, const open_options& options) {
  std::vector<std::unique_ptr<device::device>> devices;
  for (const int ordinal : list.gpus) devices.push_back(open_gpu(ordinal, options));
  if (!devices.empty()) return devices;
  const unsigned num_nodes = options.across_nodes ? 1 : device::host::num_numa_nodes();
  const unsigned count = list.count == 0 ? num_nodes : list.count;
  for (unsigned i = 0; i < count; ++i) {
    device::host::host_device_options host;
    host.name = fmt::format("cpu:{}", i);
    host.num_threads = threads_of(i, count, device::host::num_processors() / options.sharing_processes);
    if (num_nodes > 1) host.numa_node = static_cast<int>(i * num_nodes / count);
    host.shares_memory = !options.tuning.host_separate_memory;
    host.limits = host_limits(options.tuning);
    host.before_allocation = options.hook;
    devices.push_back(device::host::make_host_device(std::move(host)));
  }
  return devices;
}

std::vector<algorithms::rank> open_ranks(const device_list& list, const open_options& options) {
  std::vector<algorithms::rank> ranks;
  try {
    for (auto& device : open_devices(list, options)) ranks.push_back(algorithms::make_rank(std::move(device)));
  } catch (const std::system_error& failure) {
    throw device_error(fmt::format("device {} of the list cannot be opened: no thread for its queue ({})", ranks.size(),
                                   failure.what()));
  }
  return ranks;
}

std::unique_ptr<device::device> open_calling_thread(const tuning_options& tuning, const allocation_hook& hook) {
  device::host::host_device_options options;
  options.on_calling_thread = true;
  options.shares_memory = !tuning.host_separate_memory;
  options.limits = host_limits(tuning);
  options.before_allocation = hook;
  return device::host::make_host_device(std::move(options));
}

}  // namespace spansort::sorting
