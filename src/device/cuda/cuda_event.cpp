// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_event.hpp"

#include <utility>

namespace spansort::device::cuda {

cuda_event::cuda_event(int ordinal) {
  const device_guard guard(ordinal);
  handle_ = make_cuda_event(cudaEventDisableTiming);
}

bool cuda_event::is_complete() const {
  const std::lock_guard lock(mutex_);
  if (!is_recorded_) return false;
  if (failure_ != nullptr || cudaEventQuery(handle_.get()) != cudaErrorNotReady) return true;
  // The runtime keeps "not ready" as an error of the calling thread.
  static_cast<void>(cudaGetLastError());
  return false;
}

void cuda_event::begin() {
  const std::lock_guard lock(mutex_);
  is_recorded_ = false;
  failure_ = nullptr;
}

void cuda_event::recorded(std::exception_ptr failure) {
  // Waiters are notified under the lock, for a waiter may destroy the event as soon as it sees it complete.
  const std::lock_guard lock(mutex_);
  is_recorded_ = true;
  failure_ = std::move(failure);
  changed_.notify_all();
}

std::exception_ptr cuda_event::wait_until_recorded() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_recorded_; });
  return failure_;
}

}  // namespace spansort::device::cuda
