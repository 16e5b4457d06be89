// SPDX-License-Identifier: Apache-2.0
// Every CUDA call is checked, in every build, and passes one point where tests replace it by a failure.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace spansort::device::cuda {

/// A request is what an allocation asks for. An error that refuses it names this.
struct memory_need {
  std::uint64_t size_bytes = 0;
  bool is_pinned = false;  ///< host memory that the GPU reads; else the GPU's own
};

/// Throws out_of_memory, device_error, device_lost or device_memory_error, with the call, the device and what the
/// runtime says; clears the runtime's last error where it can be cleared. After an error that no call recovers from,
/// the GPUs are lost to this process: see loss(). `call` may go on with its arguments, which are left out.
void check(cudaError_t status, const char* call, const memory_need& need = {});

// ---- Faults for tests

/// Counts this call and returns the fault that takes its place: that of current_faults(), or cudaSuccess.
[[nodiscard]] cudaError_t fault_for_this_call() noexcept;
/// Throws as check() does, but nothing has happened to the GPU: it is not lost.
[[noreturn]] void throw_fault(cudaError_t fault, const char* call, const memory_need& need);

/// Makes the call, or fails in its place.
template <class Call>
void run_checked(const Call& make_call, const char* call, const memory_need& need = {}) {
  const cudaError_t fault = fault_for_this_call();
  if (fault != cudaSuccess) throw_fault(fault, call, need);
  check(make_call(), call, need);
}

/// Checks what has happened whatever its result: kernel launches (with cudaGetLastError()), and waits that nothing may
/// overtake. A fault takes the place of the result alone.
inline void check_done(cudaError_t status, const char* call) {
  const cudaError_t fault = fault_for_this_call();
  check(status, call);
  if (fault != cudaSuccess) throw_fault(fault, call, {});
}

/// SPANSORT_CUDA(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDefault, stream));
/// Clean-up goes without, for it goes on whatever fails.
#define SPANSORT_CUDA(...) ::spansort::device::cuda::run_checked([&] { return __VA_ARGS__; }, #__VA_ARGS__)

/// Forgets the failure of a call that only gives something back: left pending, it would be taken for an error of the
/// caller's before the next call, which would then be refused.
inline void forget_failure(cudaError_t status) noexcept {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
}

// ---- Errors that outlive the call

/// Returns what was said when an error of the runtime made GPUs unusable until the process ends; null as long as none
/// has.
[[nodiscard]] const std::string* loss() noexcept;

/// Throws where no work may begin: device_lost when the GPUs are lost, device_error when the calling thread has an
/// error of the runtime pending from before, which is left to it.
void require_sound_runtime();

/// The calling thread's current device, changed for a scope and put back.
class device_guard {
 public:
  explicit device_guard(int ordinal);
  ~device_guard();
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  int ordinal_;
  int before_ = 0;
};

}  // namespace spansort::device::cuda
