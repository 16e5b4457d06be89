// SPDX-License-Identifier: Apache-2.0
// Owners of what the CUDA runtime hands out.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <new>

#include "device/cuda/cuda_error.hpp"
#include "spansort/errors.hpp"

namespace spansort::device::cuda {

struct stream_deleter {
  void operator()(cudaStream_t stream) const noexcept { forget_failure(cudaStreamDestroy(stream)); }
};
struct event_deleter {
  void operator()(cudaEvent_t event) const noexcept { forget_failure(cudaEventDestroy(event)); }
};
struct device_memory_deleter {
  void operator()(void* memory) const noexcept { forget_failure(cudaFree(memory)); }
};
struct pinned_memory_deleter {
  void operator()(void* memory) const noexcept { forget_failure(cudaFreeHost(memory)); }
};
using stream_handle = std::unique_ptr<CUstream_st, stream_deleter>;
using event_handle = std::unique_ptr<CUevent_st, event_deleter>;
using device_memory = std::unique_ptr<void, device_memory_deleter>;
using pinned_memory = std::unique_ptr<void, pinned_memory_deleter>;

// All of these work on the current device.

[[nodiscard]] inline stream_handle make_stream() {
  cudaStream_t made = nullptr;
  SPANSORT_CUDA(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  return stream_handle(made);
}
/// Returns a stream whose kernels begin before those of other streams that wait for room.
[[nodiscard]] inline stream_handle make_urgent_stream() {
  int least_urgent = 0;
  int most_urgent = 0;
  SPANSORT_CUDA(cudaDeviceGetStreamPriorityRange(&least_urgent, &most_urgent));
  cudaStream_t made = nullptr;
  SPANSORT_CUDA(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, most_urgent));
  return stream_handle(made);
}
/// `flags`: cudaEventDefault measures time, cudaEventDisableTiming is cheaper.
[[nodiscard]] inline event_handle make_cuda_event(unsigned flags) {
  cudaEvent_t made = nullptr;
  SPANSORT_CUDA(cudaEventCreateWithFlags(&made, flags));
  return event_handle(made);
}
[[nodiscard]] inline device_memory allocate_device_memory(std::uint64_t size_bytes) {
  void* made = nullptr;
  run_checked([&] { return cudaMalloc(&made, size_bytes); }, "cudaMalloc", {size_bytes});
  return device_memory(made);
}
[[nodiscard]] inline pinned_memory allocate_pinned_memory(std::uint64_t size_bytes) {
  void* made = nullptr;
  run_checked([&] { return cudaMallocHost(&made, size_bytes); }, "cudaMallocHost", {size_bytes, true});
  return pinned_memory(made);
}
/// Returns null where no pinned memory can be had, for those that can do without.
[[nodiscard]] inline pinned_memory try_allocate_pinned_memory(std::uint64_t size_bytes) {
  try {
    return allocate_pinned_memory(size_bytes);
  } catch (const out_of_memory&) {
    return nullptr;
  } catch (const std::bad_alloc&) {  // there was no memory to say so
    return nullptr;
  }
}

}  // namespace spansort::device::cuda
