// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/pinned_ring.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/math.hpp"
#include "device/copy_parallel.hpp"

namespace spansort::device::cuda {

bool pinned_ring::prepare(std::uint64_t size_bytes) {
  const std::uint64_t wanted_bytes = std::clamp(std::bit_ceil(size_bytes), least_buffer_bytes, most_buffer_bytes);
  if (wanted_bytes <= buffer_bytes_ || is_refused_) return memory_ != nullptr;
  pinned_memory memory = try_allocate_pinned_memory(num_buffers * wanted_bytes);
  is_refused_ = memory == nullptr;
  if (is_refused_) return memory_ != nullptr;
  for (unsigned i = 0; i < num_buffers; ++i) {
    slot& s = slots_[i];
    if (s.done == nullptr) s.done = make_cuda_event(cudaEventDisableTiming);
    SPANSORT_CUDA(cudaEventSynchronize(s.done.get()));
    s.memory = static_cast<char*>(memory.get()) + i * wanted_bytes;
  }
  memory_ = std::move(memory);
  buffer_bytes_ = wanted_bytes;
  return true;
}

void pinned_ring::copy_in(cudaStream_t stream, void* to_device, const void* from_host, std::uint64_t size_bytes) {
  if (!prepare(size_bytes)) {
    SPANSORT_CUDA(cudaMemcpyAsync(to_device, from_host, size_bytes, cudaMemcpyHostToDevice, stream));
    return;
  }
  const std::uint64_t num_parts = base::ceil_div(size_bytes, buffer_bytes_);
  for (std::uint64_t i = 0; i < num_parts; ++i) {
    slot& s = slots_[i % num_buffers];
    const std::uint64_t begin = i * buffer_bytes_;
    const std::uint64_t bytes = std::min(buffer_bytes_, size_bytes - begin);
    SPANSORT_CUDA(cudaEventSynchronize(s.done.get()));
    copy_parallel(s.memory, static_cast<const char*>(from_host) + begin, bytes);
    SPANSORT_CUDA(
        cudaMemcpyAsync(static_cast<char*>(to_device) + begin, s.memory, bytes, cudaMemcpyHostToDevice, stream));
    SPANSORT_CUDA(cudaEventRecord(s.done.get(), stream));
  }
}

void pinned_ring::copy_out(cudaStream_t stream, void* to_host, const void* from_device, std::uint64_t size_bytes) {
  if (!prepare(size_bytes)) {
    SPANSORT_CUDA(cudaMemcpyAsync(to_host, from_device, size_bytes, cudaMemcpyDeviceToHost, stream));
    // The driver waits where it stages; where the GPU writes ordinary memory by itself, nobody has yet.
    check_done(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return;
  }
  const std::uint64_t num_parts = base::ceil_div(size_bytes, buffer_bytes_);
  const auto bytes_of = [&](std::uint64_t i) { return std::min(buffer_bytes_, size_bytes - i * buffer_bytes_); };
  const auto fetch = [&](std::uint64_t i) {
    slot& s = slots_[i % num_buffers];
    SPANSORT_CUDA(cudaMemcpyAsync(s.memory, static_cast<const char*>(from_device) + i * buffer_bytes_, bytes_of(i),
                                  cudaMemcpyDeviceToHost, stream));
    SPANSORT_CUDA(cudaEventRecord(s.done.get(), stream));
  };
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(num_buffers, num_parts); ++i) fetch(i);
  for (std::uint64_t i = 0; i < num_parts; ++i) {
    slot& s = slots_[i % num_buffers];
    SPANSORT_CUDA(cudaEventSynchronize(s.done.get()));
    copy_parallel(static_cast<char*>(to_host) + i * buffer_bytes_, s.memory, bytes_of(i));
    if (i + num_buffers < num_parts) fetch(i + num_buffers);
  }
}

bool is_pageable(const void* memory) {
  cudaPointerAttributes attributes{};
  SPANSORT_CUDA(cudaPointerGetAttributes(&attributes, memory));
  return attributes.type == cudaMemoryTypeUnregistered;
}

}  // namespace spansort::device::cuda
