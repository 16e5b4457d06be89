// SPDX-License-Identifier: Apache-2.0
// The GPUs of this machine, also in builds without the GPU backend: there are none then.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "device/device.hpp"
#include "sort/open_devices.hpp"

namespace spansort::sorting {

/// 0 where there is no backend, no driver or no GPU, and after GPUs were lost to this process.
[[nodiscard]] int num_gpus() noexcept;

/// Returns whether this process has used GPUs by this library, so that their runtime has been started.
[[nodiscard]] bool gpus_are_started() noexcept;

/// Returns what could be allocated on GPU `ordinal` now. Starts the runtime there.
[[nodiscard]] std::uint64_t free_gpu_bytes(int ordinal);

/// Returns the name by which a GPU knows how its own local sort is to go: "" leaves the choice to it.
[[nodiscard]] std::string_view local_sort_of(const base::test_hooks& hooks);

/// GPU `ordinal`, named as in a device list.
[[nodiscard]] std::unique_ptr<device::device> open_gpu(int ordinal, const open_options& options);

/// Stands while one call of the library works on the devices of a list. Throws device_error where their runtime is in
/// no state to begin: GPUs were lost, or the caller left an error pending. Has the faults that `hooks` asks for in
/// force on the calling thread.
class gpu_call {
 public:
  gpu_call(const device_set& devices, const base::test_hooks& hooks);
  /// One GPU at least takes part.
  explicit gpu_call(const base::test_hooks& hooks);
  ~gpu_call();
  gpu_call(const gpu_call&) = delete;
  gpu_call& operator=(const gpu_call&) = delete;

 private:
  struct fault_holder;
  void begin(const base::test_hooks& hooks);

  std::unique_ptr<fault_holder> faults_;  ///< null, as outside of tests, when no faults are asked for
};

}  // namespace spansort::sorting
