// SPDX-License-Identifier: Apache-2.0
// The library says of a machine which NVIDIA driver it has, which here is a library of the tests.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "made_up_gpus/driver.hpp"
#include "sort/gpu_driver.hpp"

namespace spansort::test {
namespace {

/// Looks for the driver in a process that has loaded a library of its name, writes what is found to the standard error
/// output, and ends the process with 0. The library stays loaded, so that every case has a process of its own.
[[noreturn]] void find_driver(const std::string& which, const driver_answers& answers) {
  const std::string path = SPANSORT_MADE_UP_DRIVERS "/driver_without_" + which + "/libcuda.so.1";
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::cerr << ::dlerror();
    std::exit(1);
  }
  *static_cast<driver_answers*>(::dlsym(library, "made_up_answers")) = answers;
  const sorting::gpu_driver found = sorting::find_gpu_driver();
  std::cerr << (found.is_installed ? "installed: " : "missing: ") << found.text << ";";
  std::exit(0);
}

TEST(GpuDriver, IsToldWithItsVersionAndGpus) {
  const auto ends_well = testing::ExitedWithCode(0);
  EXPECT_EXIT(find_driver("nothing", {}), ends_well, "^installed: NVIDIA driver for CUDA 12.4 with 2 GPUs;");
  EXPECT_EXIT(find_driver("nothing", {.version = 11080, .num_gpus = 1}), ends_well,
              "^installed: NVIDIA driver for CUDA 11.8 with 1 GPU;");
  EXPECT_EXIT(find_driver("texts", {.num_gpus = 0}), ends_well, "^installed: NVIDIA driver for CUDA 12.4 with 0 GPUs;");
}

TEST(GpuDriver, ThatDoesNotStartSaysWhy) {
  const auto ends_well = testing::ExitedWithCode(0);
  EXPECT_EXIT(find_driver("nothing", {.start_status = 100}), ends_well,
              "^installed: the NVIDIA driver says: no CUDA-capable device is detected .error 100.;");
  const std::string unknown = "^installed: the NVIDIA driver says: unknown error .error 999.;";
  EXPECT_EXIT(find_driver("texts", {.start_status = 999}), ends_well, unknown);
  EXPECT_EXIT(find_driver("nothing", {.start_status = 999, .text_status = 1}), ends_well, unknown);
  EXPECT_EXIT(find_driver("nothing", {.start_status = 999, .text = nullptr}), ends_well, unknown);
}

TEST(GpuDriver, ThatLacksAFunctionOrAnAnswerIsNamed) {
  const auto ends_well = testing::ExitedWithCode(0);
  EXPECT_EXIT(find_driver("count", {}), ends_well,
              "^installed: the NVIDIA driver's library libcuda.so.1 is not whole;");
  const std::string silent = "^installed: the NVIDIA driver does not answer;";
  EXPECT_EXIT(find_driver("nothing", {.version_status = 3}), ends_well, silent);
  EXPECT_EXIT(find_driver("nothing", {.count_status = 3}), ends_well, silent);
}

}  // namespace
}  // namespace spansort::test
