// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/pinned_ring.hpp"

#include <algorithm>

#include "base/math.hpp"
#include "device/copy_parallel.hpp"

namespace spansort::device::cuda {

void pinned_ring::prepare() {
  for (slot& s : slots_) {
    if (s.memory != nullptr) continue;
    s.done = make_cuda_event(cudaEventDisableTiming);
    s.memory = allocate_pinned_memory(buffer_bytes);
  }
}

void pinned_ring::copy_in(cudaStream_t stream, void* to_device, const void* from_host, std::uint64_t size_bytes) {
  prepare();
  const std::uint64_t num_parts = base::ceil_div(size_bytes, buffer_bytes);
  for (std::uint64_t i = 0; i < num_parts; ++i) {
    slot& s = slots_[i % num_buffers];
    const std::uint64_t begin = i * buffer_bytes;
    const std::uint64_t bytes = std::min(buffer_bytes, size_bytes - begin);
    SPANSORT_CUDA(cudaEventSynchronize(s.done.get()));
    copy_parallel(s.memory.get(), static_cast<const char*>(from_host) + begin, bytes);
    SPANSORT_CUDA(
        cudaMemcpyAsync(static_cast<char*>(to_device) + begin, s.memory.get(), bytes, cudaMemcpyHostToDevice, stream));
    SPANSORT_CUDA(cudaEventRecord(s.done.get(), stream));
  }
}

void pinned_ring::copy_out(cudaStream_t stream, void* to_host, const void* from_device, std::uint64_t size_bytes) {
  prepare();
  const std::uint64_t num_parts = base::ceil_div(size_bytes, buffer_bytes);
  const auto bytes_of = [&](std::uint64_t i) { return std::min(buffer_bytes, size_bytes - i * buffer_bytes); };
  const auto fetch = [&](std::uint64_t i) {
    slot& s = slots_[i % num_buffers];
    SPANSORT_CUDA(cudaMemcpyAsync(s.memory.get(), static_cast<const char*>(from_device) + i * buffer_bytes, bytes_of(i),
                                  cudaMemcpyDeviceToHost, stream));
    SPANSORT_CUDA(cudaEventRecord(s.done.get(), stream));
  };
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(num_buffers, num_parts); ++i) fetch(i);
  for (std::uint64_t i = 0; i < num_parts; ++i) {
    slot& s = slots_[i % num_buffers];
    SPANSORT_CUDA(cudaEventSynchronize(s.done.get()));
    copy_parallel(static_cast<char*>(to_host) + i * buffer_bytes, s.memory.get(), bytes_of(i));
    if (i + num_buffers < num_parts) fetch(i + num_buffers);
  }
}

bool is_pageable(const void* memory) {
  cudaPointerAttributes attributes{};
  SPANSORT_CUDA(cudaPointerGetAttributes(&attributes, memory));
  return attributes.type == cudaMemoryTypeUnregistered;
}

}  // namespace spansort::device::cuda
