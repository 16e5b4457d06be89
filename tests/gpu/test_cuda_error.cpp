// SPDX-License-Identifier: Apache-2.0
// The point that every call to the CUDA runtime passes, with calls that need no GPU.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/injected_faults.hpp"
#include "spansort/errors.hpp"

namespace spansort::device::cuda {
namespace {

class cuda_error_test : public testing::Test {
 protected:
  static std::shared_ptr<injected_faults> fault_at(std::uint64_t call, cudaError_t status) {
    return std::make_shared<injected_faults>(injected_faults::settings{.fail_call_at = call, .fail_with = status});
  }

  cudaError_t count_and_succeed() {
    ++num_calls;
    return cudaSuccess;
  }
  /// Returns the message of the error that a call throws which fails with `status`.
  template <class Error>
  std::string message(cudaError_t status) {
    const fault_scope faults(fault_at(1, status));
    try {
      SPANSORT_CUDA(count_and_succeed());
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  std::atomic<int> num_calls = 0;
};

TEST_F(cuda_error_test, TheCallThatIsToFailIsNotMade) {
  const fault_scope faults(fault_at(3, cudaErrorUnknown));
  SPANSORT_CUDA(count_and_succeed());
  SPANSORT_CUDA(count_and_succeed());
  EXPECT_THROW(SPANSORT_CUDA(count_and_succeed()), device_error);
  EXPECT_EQ(num_calls, 2);
  SPANSORT_CUDA(count_and_succeed());
  EXPECT_EQ(num_calls, 3);
}

TEST_F(cuda_error_test, WhatHasHappenedIsCountedToo) {
  const fault_scope faults(fault_at(2, cudaErrorUnknown));
  check_done(cudaSuccess, "first_kernel");
  try {
    check_done(cudaSuccess, "second_kernel");
    FAIL() << "no fault";
  } catch (const device_error& e) {
    EXPECT_TRUE(contains(e.what(), "second_kernel failed: ")) << e.what();
  }
  check_done(cudaSuccess, "third_kernel");
}

TEST_F(cuda_error_test, OneCallFailsHoweverManyThreadsCall) {
  constexpr int num_threads = 4;
  constexpr int calls_each = 1000;
  const auto shared = fault_at(num_threads * calls_each / 2, cudaErrorUnknown);
  std::atomic<int> num_faults = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < num_threads; ++t) {
    threads.emplace_back([&] {
      const fault_scope faults(shared);
      for (int i = 0; i < calls_each; ++i) {
        try {
          SPANSORT_CUDA(count_and_succeed());
        } catch (const device_error&) {
          ++num_faults;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(num_faults, 1);
  EXPECT_EQ(num_calls, num_threads * calls_each - 1);
}

TEST_F(cuda_error_test, OtherThreadsAndLaterCallsMeetNoFault) {
  {
    const fault_scope faults(fault_at(1, cudaErrorUnknown));
    std::thread([&] { EXPECT_NO_THROW(SPANSORT_CUDA(count_and_succeed())); }).join();
    {
      const fault_scope none(nullptr);
      EXPECT_NO_THROW(SPANSORT_CUDA(count_and_succeed()));
    }
    EXPECT_EQ(current_faults()->calls_to_fault(), 1u);
  }
  EXPECT_EQ(current_faults(), nullptr);
  EXPECT_NO_THROW(SPANSORT_CUDA(count_and_succeed()));
}

TEST_F(cuda_error_test, MessagesNameTheCallWithoutItsArguments) {
  const std::string what = message<device_error>(cudaErrorUnknown);
  EXPECT_TRUE(contains(what, ": count_and_succeed failed: ")) << what;
  EXPECT_TRUE(contains(what, "(cudaErrorUnknown)")) << what;
}

TEST_F(cuda_error_test, MemoryThatIsNeededIsNamed) {
  for (const bool is_pinned : {false, true}) {
    const fault_scope faults(fault_at(1, cudaErrorMemoryAllocation));
    try {
      run_checked([&] { return count_and_succeed(); }, "cudaMalloc", {12'345, is_pinned});
      FAIL() << "no fault";
    } catch (const out_of_memory& e) {
      EXPECT_EQ(e.needed_bytes(), 12'345u);
      EXPECT_TRUE(contains(e.what(), "12345 bytes")) << e.what();
    }
  }
}

TEST_F(cuda_error_test, AFaultForATestLosesNoGpu) {
  for (const cudaError_t status :
       {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorAssert, cudaErrorLaunchTimeout,
        cudaErrorIllegalInstruction, cudaErrorMisalignedAddress, cudaErrorInvalidAddressSpace, cudaErrorInvalidPc}) {
    const std::string what = message<device_error>(status);
    EXPECT_TRUE(contains(what, "the device is lost for this process")) << what;
  }
  const std::string what = message<device_error>(cudaErrorECCUncorrectable);
  EXPECT_TRUE(contains(what, "hardware memory error, output withheld")) << what;
  EXPECT_EQ(loss(), nullptr);
}

}  // namespace
}  // namespace spansort::device::cuda
