// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/bare_copies.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/gpu/timing.hpp"
#include "device/cuda/handles.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;

/// A GPU's part of the bytes.
struct chunk {
  int ordinal = 0;
  char* host = nullptr;
  std::uint64_t size_bytes = 0;
  cuda::device_memory device;
  cuda::stream_handle stream;
};

std::vector<chunk> make_chunks(const std::vector<int>& devices, void* host, std::uint64_t size_bytes) {
  std::vector<chunk> chunks;
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const cuda::device_guard guard(devices[i]);
    const std::uint64_t end =
        size_bytes / devices.size() * (i + 1) + size_bytes % devices.size() * (i + 1) / devices.size();
    chunks.push_back({devices[i], static_cast<char*>(host) + begin, end - begin,
                      cuda::allocate_device_memory(std::max<std::uint64_t>(end - begin, 1)), cuda::make_stream()});
    begin = end;
  }
  return chunks;
}

void copy_pinned(const std::vector<chunk>& chunks, bool in) {
  for (const chunk& c : chunks) {
    const cuda::device_guard guard(c.ordinal);
    cuda::check(in ? cudaMemcpyAsync(c.device.get(), c.host, c.size_bytes, cudaMemcpyHostToDevice, c.stream.get())
                   : cudaMemcpyAsync(c.host, c.device.get(), c.size_bytes, cudaMemcpyDeviceToHost, c.stream.get()),
                "cudaMemcpyAsync");
  }
  for (const chunk& c : chunks) cuda::check(cudaStreamSynchronize(c.stream.get()), "cudaStreamSynchronize");
}

void copy_pageable_chunk(const chunk& c, bool in) {
  const cuda::device_guard guard(c.ordinal);
  cuda::check(in ? cudaMemcpy(c.device.get(), c.host, c.size_bytes, cudaMemcpyHostToDevice)
                 : cudaMemcpy(c.host, c.device.get(), c.size_bytes, cudaMemcpyDeviceToHost),
              "cudaMemcpy");
  // A copy from pageable memory may return with its last bytes still on their way to the GPU.
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void copy_pageable(const std::vector<chunk>& chunks, bool in) {
  std::vector<std::exception_ptr> failures(chunks.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          copy_pageable_chunk(chunks[i], in);
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
}

template <class Copy>
copy_times time_copies(const std::vector<chunk>& chunks, unsigned repeats, const Copy& copy) {
  copy_times times;
  for (unsigned i = 0; i < repeats + 1; ++i) {
    const double in_ms = wall_ms([&] { copy(chunks, true); });
    const double out_ms = wall_ms([&] { copy(chunks, false); });
    if (i == 0) continue;  // the first one warms up
    times.in_runs_ms.push_back(in_ms);
    times.out_runs_ms.push_back(out_ms);
  }
  return times;
}

}  // namespace

double copy_times::median_ms() const {
  std::vector<double> sums;
  for (std::size_t i = 0; i < in_runs_ms.size(); ++i) sums.push_back(in_runs_ms[i] + out_runs_ms[i]);
  return median(std::move(sums));
}

nlohmann::ordered_json copy_times::to_json() const {
  return {{"median_ms", median_ms()}, {"in_runs_ms", in_runs_ms}, {"out_runs_ms", out_runs_ms}};
}

copy_times time_pinned_copies(const std::vector<int>& devices, void* host, std::uint64_t size_bytes, unsigned repeats) {
  return time_copies(make_chunks(devices, host, size_bytes), repeats, copy_pinned);
}

copy_times time_pageable_copies(const std::vector<int>& devices, void* host, std::uint64_t size_bytes,
                                unsigned repeats) {
  return time_copies(make_chunks(devices, host, size_bytes), repeats, copy_pageable);
}

}  // namespace bench
