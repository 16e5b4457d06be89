// SPDX-License-Identifier: Apache-2.0
#include "cuda_context.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <mutex>
#include <spansort/devices.hpp>
#include <spansort/errors.hpp>
#include <string>

namespace python {

/// Functions of the driver by the names of their first versions with 64-bit addresses, which stay in every later one.
struct driver_functions {
  int (*init)(unsigned) = nullptr;
  int (*get_device)(int*, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*current_device)(int*) = nullptr;
  int (*push)(void*) = nullptr;
  int (*pop)(void**) = nullptr;
  int (*wait)(void*) = nullptr;
  int (*allocate)(std::uintptr_t*, std::size_t) = nullptr;
  int (*free)(std::uintptr_t) = nullptr;
  int (*copy)(std::uintptr_t, std::uintptr_t, std::size_t, void*) = nullptr;
  int (*free_bytes)(std::size_t*, std::size_t*) = nullptr;
  int (*attribute)(void*, int, std::uintptr_t) = nullptr;
  int (*error_text)(int, const char**) = nullptr;
};

namespace {

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

/// Returns whether all were found. The library stays loaded, as the runtime keeps it.
bool load(driver_functions& driver) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  return find(library, "cuInit", driver.init) && find(library, "cuDeviceGet", driver.get_device) &&
         find(library, "cuDevicePrimaryCtxRetain", driver.retain) &&
         find(library, "cuDevicePrimaryCtxRelease_v2", driver.release) &&
         find(library, "cuCtxGetDevice", driver.current_device) && find(library, "cuCtxPushCurrent_v2", driver.push) &&
         find(library, "cuCtxPopCurrent_v2", driver.pop) && find(library, "cuStreamSynchronize", driver.wait) &&
         find(library, "cuMemAlloc_v2", driver.allocate) && find(library, "cuMemFree_v2", driver.free) &&
         find(library, "cuMemcpyAsync", driver.copy) && find(library, "cuMemGetInfo_v2", driver.free_bytes) &&
         find(library, "cuPointerGetAttribute", driver.attribute) &&
         find(library, "cuGetErrorString", driver.error_text);
}

[[noreturn]] void fail(const driver_functions& driver, int status, const char* call, int ordinal) {
  const char* text = nullptr;
  if (driver.error_text(status, &text) != 0 || text == nullptr) text = "unknown error";
  const std::string device = "gpu:" + std::to_string(ordinal);
  throw spansort::device_error(device + ": " + call + ": " + text, device);
}

/// Returns the driver, or throws why there is none; a machine that gets one later is served then.
const driver_functions& loaded_driver() {
  static std::mutex mutex;
  static driver_functions driver;
  static bool is_loaded = false;
  const std::lock_guard lock(mutex);
  if (!is_loaded) {
    if (!load(driver) || driver.init(0) != 0) {
      const std::string reason = spansort::why_no_gpu();
      throw spansort::device_error(reason.empty() ? "the NVIDIA driver cannot be used" : reason);
    }
    is_loaded = true;
  }
  return driver;
}

}  // namespace

current_gpu::current_gpu(int ordinal) : driver_(loaded_driver()), ordinal_(ordinal) {
  if (const int status = driver_.get_device(&device_, ordinal); status != 0) {
    fail(driver_, status, "cuDeviceGet", ordinal);
  }
  int current = 0;
  if (driver_.current_device(&current) == 0 && current == device_) return;
  void* context = nullptr;
  if (const int status = driver_.retain(&context, device_); status != 0) {
    fail(driver_, status, "cuDevicePrimaryCtxRetain", ordinal);
  }
  if (const int status = driver_.push(context); status != 0) {
    driver_.release(device_);
    fail(driver_, status, "cuCtxPushCurrent", ordinal);
  }
  is_pushed_ = true;
}

current_gpu::~current_gpu() {
  if (!is_pushed_) return;
  void* context = nullptr;
  driver_.pop(&context);
  driver_.release(device_);
}

void current_gpu::wait_for(void* stream) const {
  if (const int status = driver_.wait(stream); status != 0) fail(driver_, status, "cuStreamSynchronize", ordinal_);
}

std::uintptr_t current_gpu::allocate(std::uint64_t size_bytes) const {
  constexpr int out_of_memory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
  std::uintptr_t memory = 0;
  const int status = driver_.allocate(&memory, size_bytes);
  if (status == out_of_memory) {
    std::size_t available_bytes = 0;
    std::size_t total_bytes = 0;
    driver_.free_bytes(&available_bytes, &total_bytes);
    const std::string device = "gpu:" + std::to_string(ordinal_);
    throw spansort::out_of_memory(device + ": no memory for " + std::to_string(size_bytes) + " bytes", size_bytes,
                                  available_bytes, device);
  }
  if (status != 0) fail(driver_, status, "cuMemAlloc", ordinal_);
  return memory;
}

void current_gpu::free(std::uintptr_t memory) const noexcept { driver_.free(memory); }

void current_gpu::copy(std::uintptr_t target, std::uintptr_t source, std::uint64_t size_bytes, void* stream) const {
  const int status = driver_.copy(target, source, size_bytes, stream);
  if (status != 0) fail(driver_, status, "cuMemcpyAsync", ordinal_);
}

int gpu_of(std::uintptr_t address) {
  constexpr int device_ordinal = 9;  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  int ordinal = 0;
  if (loaded_driver().attribute(&ordinal, device_ordinal, address) != 0) {
    throw spansort::invalid_argument("the array does not lie in memory that a GPU can reach");
  }
  return ordinal;
}

}  // namespace python
