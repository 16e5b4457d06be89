// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/pinned_ring.hpp"

#include <algorithm>
#include <utility>

#include "base/math.hpp"
#include "device/copy_parallel.hpp"

namespace spansort::device::cuda {

bool pinned_ring::prepare() {
  if (memory_ != nullptr) return true;
  if (is_refused_) return false;
  pinned_memory memory = try_allocate_pinned_memory(num_buffers * buffer_bytes);
  is_refused_ = memory == nullptr;
  if (is_refused_) return false;
  for (unsigned i = 0; i < num_buffers; ++i) {
    slots_[i] = {static_cast<char*>(memory.get()) + i * buffer_bytes, make_cuda_event(cudaEventDisableTiming)};
  }
  memory_ = std::move(memory);
  return true;
}

void pinned_ring::copy_in(cudaStream_t stream, void* to_device, const void* from_host, std::uint64_t size_bytes) {
  if (!prepare()) {
    SPANSORT_CUDA(cudaMemcpyAsync(to_device, from_host, size_bytes, cudaMemcpyHostToDevice, stream));
    return;
  }
  const std::uint64_t num_parts = base::ceil_div(size_bytes, buffer_bytes);
  for (std::uint64_t i = 0; i < num_parts; ++i) {
    slot& s = slots_[i % num_buffers];
    const std::uint64_t begin = i * buffer_bytes;
    const std::uint64_t bytes = std::min(buffer_bytes, size_bytes - begin);
    SPANSORT_CUDA(cudaEventSynchronize(s.done.get()));
    copy_parallel(s.memory, static_cast<const char*>(from_host) + begin, bytes);
    SPANSORT_CUDA(
        cudaMemcpyAsync(static_cast<char*>(to_device) + begin, s.memory, bytes, cudaMemcpyHostToDevice, stream));
    SPANSORT_CUDA(cudaEventRecord(s.done.get(), stream));
  }
}

void pinned_ring::copy_out(cudaStream_t stream, void* to_host, const void* from_device, std::uint64_t size_bytes) {
  if (!prepare()) {
    SPANSORT_CUDA(cudaMemcpyAsync(to_host, from_device, size_bytes, cudaMemcpyDeviceToHost, stream));
    // The driver waits where it stages; where the GPU writes ordinary memory by itself, nobody has yet.
    check_done(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return;
  }
  const std::uint64_t num_parts = base::ceil_div(size_bytes, buffer_bytes);
  const auto bytes_of = [&](std::uint64_t i) { return std::min(buffer_bytes, size_bytes - i * buffer_bytes); };
  const auto fetch = [&](std::uint64_t i) {
    slot& s = slots_[i % num_buffers];
    SPANSORT_CUDA(cudaMemcpyAsync(s.memory, static_cast<const char*>(from_device) + i * buffer_bytes, bytes_of(i),
                                  cudaMemcpyDeviceToHost, stream));
    SPANSORT_CUDA(cudaEventRecord(s.done.get(), stream));
  };
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(num_buffers, num_parts); ++i) fetch(i);
  for (std::uint64_t i = 0; i < num_parts; ++i) {
    slot& s = slots_[i % num_buffers];
    SPANSORT_CUDA(cudaEventSynchronize(s.done.get()));
    copy_parallel(static_cast<char*>(to_host) + i * buffer_bytes, s.memory, bytes_of(i));
    if (i + num_buffers < num_parts) fetch(i + num_buffers);
  }
}

bool is_pageable(const void* memory) {
  cudaPointerAttributes attributes{};
  SPANSORT_CUDA(cudaPointerGetAttributes(&attributes, memory));
  return attributes.type == cudaMemoryTypeUnregistered;
}

}  // namespace spansort::device::cuda
