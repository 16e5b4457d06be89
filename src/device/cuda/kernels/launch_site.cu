// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/request.hpp"
#include "spansort/errors.hpp"

namespace spansort::device::cuda {
namespace {

/// compiled_for() asks this kernel, for all kernels are compiled for the same architectures.
__global__ void asked_kernel() {}

std::atomic<bool> is_any_made{false};

/// Refuses a GPU that has less shared memory than the code that it runs was compiled for: intermediate code for 9.0,
/// say, on a GPU of 12.0.
void require_shared_memory(int ordinal, compute_capability code) {
  int available = 0;
  SPANSORT_CUDA(cudaDeviceGetAttribute(&available, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal));
  if (static_cast<unsigned>(available) >= most_shared_bytes(family_of(code))) return;
  throw device_error(
      "GPU " + std::to_string(ordinal) + " has " + std::to_string(available) +
          " bytes of shared memory a block, and the code that it runs was compiled for compute capability " +
          std::to_string(code.major) + "." + std::to_string(code.minor) +
          ", which has more; build Spansort with the GPU's own in CMAKE_CUDA_ARCHITECTURES",
      "gpu:" + std::to_string(ordinal));
}

}  // namespace

compute_capability compiled_for() {
  cudaFuncAttributes code{};
  SPANSORT_CUDA(cudaFuncGetAttributes(&code, asked_kernel));
  const auto version = static_cast<unsigned>(code.ptxVersion);
  return {version / 10, version % 10};
}

launch_site make_launch_site(cudaStream_t stream) {
  // The runtime is asked once for each GPU: its answers take microseconds, and small sorts take few of them.
  static std::mutex mutex;
  static std::map<int, launch_site> known;
  int ordinal = 0;
  SPANSORT_CUDA(cudaGetDevice(&ordinal));
  const std::lock_guard lock(mutex);
  auto found = known.find(ordinal);
  if (found == known.end()) {
    int num_multiprocessors = 0;
    SPANSORT_CUDA(cudaDeviceGetAttribute(&num_multiprocessors, cudaDevAttrMultiProcessorCount, ordinal));
    const compute_capability code = compiled_for();
    require_shared_memory(ordinal, code);
    const launch_site site{.num_multiprocessors = static_cast<unsigned>(num_multiprocessors), .code = code};
    found = known.emplace(ordinal, site).first;
    is_any_made.store(true, std::memory_order_relaxed);
  }
  launch_site made = found->second;
  made.stream = stream;
  return made;
}

bool has_launch_sites() noexcept { return is_any_made.load(std::memory_order_relaxed); }

}  // namespace spansort::device::cuda
