// SPDX-License-Identifier: Apache-2.0
// Questions to the runtime about a kernel on the current device, which are asked once: how many of its blocks run at
// once, so that they can meet, and whether it may have the shared memory that it takes.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/injected_faults.hpp"
#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {

/// Something that the runtime is asked once for each device. Two threads may both ask; they get the same answer.
class known_per_device {
 public:
  /// Returns what `ask()` has returned on the current device, which is not negative.
  template <class F>
  [[nodiscard]] int of_current_device(const F& ask) {
    int ordinal = 0;
    SPANSORT_CUDA(cudaGetDevice(&ordinal));
    if (static_cast<std::size_t>(ordinal) >= known_.size()) return ask();
    std::atomic<int>& known = known_[static_cast<std::size_t>(ordinal)];
    int answer = known.load(std::memory_order_relaxed) - 1;
    if (answer < 0) known.store((answer = ask()) + 1, std::memory_order_relaxed);
    return answer;
  }

 private:
  std::array<std::atomic<int>, 64> known_{};  ///< answers plus one
};

/// Lets launches of a kernel have up to so many bytes of dynamic shared memory. All calls for one kernel ask for as
/// many.
template <auto Kernel>
void grant_shared_memory(unsigned bytes) {
  if (bytes <= default_shared_bytes) return;
  static known_per_device is_granted;
  static_cast<void>(is_granted.of_current_device([&] {
    SPANSORT_CUDA(cudaFuncSetAttribute(Kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    return 1;
  }));
}

template <auto Kernel>
[[nodiscard]] int ask_blocks_at_once(unsigned threads, unsigned shared_bytes) {
  int ordinal = 0;
  int is_possible = 0;
  int num_multiprocessors = 0;
  int blocks_each = 0;
  SPANSORT_CUDA(cudaGetDevice(&ordinal));
  SPANSORT_CUDA(cudaDeviceGetAttribute(&is_possible, cudaDevAttrCooperativeLaunch, ordinal));
  SPANSORT_CUDA(cudaDeviceGetAttribute(&num_multiprocessors, cudaDevAttrMultiProcessorCount, ordinal));
  if (is_possible == 0) return 0;
  grant_shared_memory<Kernel>(shared_bytes);
  SPANSORT_CUDA(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, Kernel, static_cast<int>(threads), shared_bytes));
  return num_multiprocessors * blocks_each;
}

/// Returns how many blocks of a kernel the current device runs at once, or 0 where blocks cannot meet.
template <auto Kernel>
[[nodiscard]] unsigned blocks_at_once(unsigned threads, unsigned shared_bytes) {
  static known_per_device known;
  if (const auto faults = current_faults(); faults != nullptr && faults->blocks_cannot_meet()) return 0;
  return static_cast<unsigned>(
      known.of_current_device([&] { return ask_blocks_at_once<Kernel>(threads, shared_bytes); }));
}

}  // namespace spansort::device::cuda
