// SPDX-License-Identifier: Apache-2.0
#include "sort/gpu_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace spansort::sorting {
namespace {

// Functions of the driver's interface, which is the same in all versions of it. 0 is success.
using start_function = int (*)(unsigned flags);
using number_function = int (*)(int* number);
using text_function = int (*)(int status, const char** text);

template <class F>
F function_of(void* library, const char* name) {
  return reinterpret_cast<F>(::dlsym(library, name));
}

std::string text_of(void* library, int status) {
  const auto describe = function_of<text_function>(library, "cuGetErrorString");
  const char* text = nullptr;
  if (describe == nullptr || describe(status, &text) != 0 || text == nullptr) return "unknown error";
  return text;
}

}  // namespace

gpu_driver find_gpu_driver() {
  // It stays loaded: drivers do not bear to be unloaded.
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {false, "no NVIDIA driver found (libcuda.so.1 cannot be loaded)"};
  const auto start = function_of<start_function>(library, "cuInit");
  const auto read_version = function_of<number_function>(library, "cuDriverGetVersion");
  const auto count_gpus = function_of<number_function>(library, "cuDeviceGetCount");
  if (start == nullptr || read_version == nullptr || count_gpus == nullptr) {
    return {true, "the NVIDIA driver's library libcuda.so.1 is not whole"};
  }
  if (const int status = start(0); status != 0) {
    return {true, fmt::format("the NVIDIA driver says: {} (error {})", text_of(library, status), status)};
  }
  int version = 0;
  int num_gpus = 0;
  if (read_version(&version) != 0 || count_gpus(&num_gpus) != 0) return {true, "the NVIDIA driver does not answer"};
  return {true, fmt::format("NVIDIA driver for CUDA {}.{} with {} GPU{}", version / 1000, version % 1000 / 10, num_gpus,
                            num_gpus == 1 ? "" : "s")};
}

}  // namespace spansort::sorting
