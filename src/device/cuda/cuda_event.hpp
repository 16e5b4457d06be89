// SPDX-License-Identifier: Apache-2.0
// A point in a GPU queue's order. A queue's thread records it some time after it was asked to, so the host keeps track
// of whether that has happened yet.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>

#include "device/cuda/handles.hpp"
#include "device/device.hpp"

namespace spansort::device::cuda {

class cuda_event final : public event {
 public:
  explicit cuda_event(int ordinal);
  [[nodiscard]] bool is_complete() const override;

  void begin();                                            ///< a queue's thread will record it
  void recorded(std::exception_ptr failure);               ///< it is on the stream, or was skipped for `failure`
  [[nodiscard]] std::exception_ptr wait_until_recorded();  ///< blocks; null when all went well
  [[nodiscard]] cudaEvent_t handle() const noexcept { return handle_.get(); }

 private:
  event_handle handle_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_recorded_ = true;
  std::exception_ptr failure_;
};

}  // namespace spansort::device::cuda
