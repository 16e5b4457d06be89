// SPDX-License-Identifier: Apache-2.0
// The device interface on NVIDIA GPUs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/device.hpp"
#include "spansort/options.hpp"

namespace spansort::device::cuda {

/// Returns the number of GPUs that the driver shows: 0 where there is no driver, and after GPUs were lost to this
/// process. `why_none` then says which of these it is.
[[nodiscard]] int num_gpus() noexcept;

/// Returns whether a queue or a call that enqueues has started the runtime on a GPU in this process.
[[nodiscard]] bool is_started() noexcept;
[[nodiscard]] std::string why_none();

struct cuda_device_options {
  std::string name = "gpu:0";
  int ordinal = 0;
  /// The algorithm of local sorts where it can sort what is given, or a way of local_sort/even_keys.hpp; "": the best
  /// of the table, by the way that pays.
  std::string local_sort = {};
  /// It is called before every allocation with its bytes, and may throw out_of_memory.
  std::function<void(std::uint64_t)> before_allocation = {};
  /// The device allocates here; null means cudaMalloc. It outlives the device.
  gpu_memory_resource* memory = nullptr;
};

[[nodiscard]] std::unique_ptr<device> make_cuda_device(cuda_device_options options);

}  // namespace spansort::device::cuda
