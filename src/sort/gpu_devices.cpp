// SPDX-License-Identifier: Apache-2.0
#include "sort/gpu_devices.hpp"

#include <fmt/format.h>

#include <atomic>

#include "sort/gpu_driver.hpp"
#include "spansort/devices.hpp"
#include "spansort/errors.hpp"
#ifdef SPANSORT_HAS_CUDA
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/injected_faults.hpp"
#include "device/cuda/peer_access.hpp"
#endif

namespace spansort {

std::string why_no_gpu() {
#ifdef SPANSORT_HAS_CUDA
  if (device::cuda::num_gpus() > 0) return "";
  const sorting::gpu_driver driver = sorting::find_gpu_driver();
  return "no GPU can be used: " + (driver.is_installed ? device::cuda::why_none() : driver.text);
#else
  return fmt::format("no GPU can be used: {}; this build of spansort has no GPU backend",
                     sorting::find_gpu_driver().text);
#endif
}

std::vector<link_description> list_links() {
  std::vector<link_description> links;
#ifdef SPANSORT_HAS_CUDA
  for (int from = 0; from < device::cuda::num_gpus(); ++from) {
    for (int to = 0; to < device::cuda::num_gpus(); ++to) {
      if (from == to) continue;
      const device::cuda::peer_link& link = device::cuda::probe_peer(from, to);
      links.push_back({.from = fmt::format("gpu:{}", from),
                       .to = fmt::format("gpu:{}", to),
                       .works = link.works,
                       .why_not = link.why_not,
                       .gigabytes_per_s = link.gigabytes_per_s});
    }
  }
#endif
  return links;
}

namespace sorting {

int num_gpus() noexcept {
#ifdef SPANSORT_HAS_CUDA
  // Asking a machine without a driver takes longer than a small sort, and the answer stays.
  static std::atomic<bool> has_none = false;
  if (has_none.load(std::memory_order_relaxed)) return 0;
  const int count = device::cuda::num_gpus();
  if (count == 0) has_none.store(true, std::memory_order_relaxed);
  return count;
#else
  return 0;
#endif
}

bool gpus_are_started() noexcept {
#ifdef SPANSORT_HAS_CUDA
  return device::cuda::is_started();
#else
  return false;
#endif
}

std::uint64_t free_gpu_bytes([[maybe_unused]] int ordinal) {
#ifdef SPANSORT_HAS_CUDA
  return open_gpu(ordinal, {})->available_bytes();
#else
  return 0;
#endif
}

std::string_view local_sort_of(const base::test_hooks& hooks) {
  if (hooks.cub_local_sort) return "cub";
  switch (hooks.small_sort) {
    case base::gpu_small_sort::block: return "block_sort";
    case base::gpu_small_sort::grid: return "grid_sort";
    case base::gpu_small_sort::count: return "counting_sort";
    case base::gpu_small_sort::none: return "onesweep";
    case base::gpu_small_sort::by_size: break;
  }
  switch (hooks.buckets) {
    case base::gpu_buckets::always: return "msd_hybrid";
    case base::gpu_buckets::never: return "onesweep";
    case base::gpu_buckets::where_even: return "msd_hybrid where even";
    case base::gpu_buckets::by_spread: return "msd_hybrid by spread";
    case base::gpu_buckets::by_wide_spread: return "msd_hybrid by wide spread";
    case base::gpu_buckets::by_size: break;
  }
  return "";
}

std::unique_ptr<device::device> open_gpu([[maybe_unused]] int ordinal, [[maybe_unused]] const open_options& options) {
#ifdef SPANSORT_HAS_CUDA
  return device::cuda::make_cuda_device({.name = fmt::format("gpu:{}", ordinal),
                                         .ordinal = ordinal,
                                         .local_sort = std::string(local_sort_of(options.hooks)),
                                         .before_allocation = options.hook,
                                         .memory = options.gpu_memory});
#else
  throw device_error(why_no_gpu());
#endif
}

#ifdef SPANSORT_HAS_CUDA
struct gpu_call::fault_holder {
  explicit fault_holder(std::shared_ptr<device::cuda::injected_faults> faults) : scope(std::move(faults)) {}
  device::cuda::fault_scope scope;
};
#else
struct gpu_call::fault_holder {};
#endif

gpu_call::gpu_call(const device_set& devices, const base::test_hooks& hooks) {
  if (!devices.gpus.empty()) begin(hooks);
}

gpu_call::gpu_call(const base::test_hooks& hooks) { begin(hooks); }

void gpu_call::begin([[maybe_unused]] const base::test_hooks& hooks) {
#ifdef SPANSORT_HAS_CUDA
  device::cuda::require_sound_runtime();
  if (hooks.fail_device_call_at == 0 && !hooks.corrupt_peer_probes && !hooks.blocks_cannot_meet) return;
  const int status = hooks.fail_device_call_with == 0 ? cudaErrorUnknown : hooks.fail_device_call_with;
  const device::cuda::injected_faults::settings wanted{.fail_call_at = hooks.fail_device_call_at,
                                                       .fail_with = static_cast<cudaError_t>(status),
                                                       .corrupt_peer_probes = hooks.corrupt_peer_probes,
                                                       .blocks_cannot_meet = hooks.blocks_cannot_meet};
  faults_ = std::make_unique<fault_holder>(std::make_shared<device::cuda::injected_faults>(wanted));
#endif
}

gpu_call::~gpu_call() = default;

}  // namespace sorting
}  // namespace spansort
