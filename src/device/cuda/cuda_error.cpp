// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_error.hpp"

#include <atomic>
#include <memory>
#include <string_view>

#include "spansort/errors.hpp"

namespace spansort::device::cuda {
namespace {

/// Whether the failure is the runtime's own or one that a test asked for.
enum class failure_of : std::uint8_t { runtime, test };

struct lost_gpu {
  std::string what;
  std::string device;
  bool is_hardware = false;
};
/// It is set once and kept until the process ends.
std::atomic<const lost_gpu*> kept_loss{nullptr};

std::string current_device() {
  int ordinal = -1;
  if (cudaGetDevice(&ordinal) != cudaSuccess) return "a GPU";
  return "gpu:" + std::to_string(ordinal);
}

std::string describe(cudaError_t status) {
  return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
}

/// The manual of the runtime says of each of these that the process must be terminated and relaunched.
bool is_beyond_recovery(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
#if CUDART_VERSION >= 12090
    case cudaErrorContained:
#endif
    case cudaErrorExternalDevice:
    case cudaErrorLaunchFailure: return true;
    default: return false;
  }
}

void keep_loss(const lost_gpu& gpu) {
  auto kept = std::make_unique<const lost_gpu>(gpu);
  const lost_gpu* none = nullptr;
  if (kept_loss.compare_exchange_strong(none, kept.get())) static_cast<void>(kept.release());
}

[[noreturn]] void throw_lost(const lost_gpu& gpu) {
  if (gpu.is_hardware) throw device_memory_error(gpu.what, gpu.device);
  throw device_lost(gpu.what, gpu.device);
}

[[noreturn]] void throw_out_of_memory(const std::string& what, const std::string& device, const memory_need& need) {
  if (need.is_pinned) {
    throw out_of_memory(what + ": " + std::to_string(need.size_bytes) + " bytes of pinned host memory needed",
                        need.size_bytes, 0, device);
  }
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  static_cast<void>(cudaMemGetInfo(&free_bytes, &total_bytes));
  const std::string needed = need.size_bytes == 0 ? "" : std::to_string(need.size_bytes) + " bytes needed, ";
  throw out_of_memory(what + ": " + needed + std::to_string(free_bytes) + " bytes of GPU memory available",
                      need.size_bytes, free_bytes, device);
}

[[noreturn]] void fail(cudaError_t status, failure_of whose, std::string_view call, const memory_need& need) {
  if (whose == failure_of::runtime) static_cast<void>(cudaGetLastError());
  const std::string device = current_device();
  std::string what = device + ": " + std::string(call.substr(0, call.find('('))) + " failed: " + describe(status);
  if (status == cudaErrorMemoryAllocation) throw_out_of_memory(what, device, need);
  const bool is_hardware = status == cudaErrorECCUncorrectable;
  if (is_hardware) what += "; hardware memory error, output withheld";
  if (!is_hardware && !is_beyond_recovery(status)) throw device_error(what, device);
  const lost_gpu gpu{what + "; the device is lost for this process", device, is_hardware};
  if (whose == failure_of::runtime) keep_loss(gpu);
  throw_lost(gpu);
}

}  // namespace

void check(cudaError_t status, const char* call, const memory_need& need) {
  if (status != cudaSuccess) fail(status, failure_of::runtime, call, need);
}

void throw_fault(cudaError_t fault, const char* call, const memory_need& need) {
  fail(fault, failure_of::test, call, need);
}

const std::string* loss() noexcept {
  const lost_gpu* const gpu = kept_loss.load();
  return gpu == nullptr ? nullptr : &gpu->what;
}

void require_sound_runtime() {
  if (const lost_gpu* const gpu = kept_loss.load(); gpu != nullptr) throw_lost(*gpu);
  const cudaError_t pending = cudaPeekAtLastError();
  if (pending == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());  // the answer to a question, kept like an error
  } else if (pending != cudaSuccess) {
    throw device_error("a CUDA error was pending before this call: " + describe(pending));
  }
}

device_guard::device_guard(int ordinal) : ordinal_(ordinal) {
  SPANSORT_CUDA(cudaGetDevice(&before_));
  if (before_ != ordinal) SPANSORT_CUDA(cudaSetDevice(ordinal));
}

device_guard::~device_guard() {
  // Nothing is set where nothing changed: that would start a context, on a GPU that nobody may have asked for.
  if (before_ != ordinal_) static_cast<void>(cudaSetDevice(before_));
}

}  // namespace spansort::device::cuda
