// SPDX-License-Identifier: Apache-2.0
// This header says what all tests on GPUs share.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "spansort/devices.hpp"

namespace spansort::test {

/// Skipped where there is no GPU; fails when the library leaves an error of the runtime pending on the calling thread.
class gpu_test : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = why_no_gpu();
    if (!why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    if (IsSkipped()) return;  // without a driver every call fails
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
};

/// Returns the free bytes of the current device.
[[nodiscard]] inline std::uint64_t free_gpu_bytes() {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  EXPECT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  return free_bytes;
}

struct gpu_memory_deleter {
  void operator()(void* memory) const noexcept { static_cast<void>(cudaFree(memory)); }
};
using gpu_memory = std::unique_ptr<void, gpu_memory_deleter>;

/// Null, and no error pending, when there is not as much.
[[nodiscard]] inline gpu_memory take_gpu_memory(std::uint64_t size_bytes) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, size_bytes) != cudaSuccess) static_cast<void>(cudaGetLastError());
  return gpu_memory(memory);
}

}  // namespace spansort::test
