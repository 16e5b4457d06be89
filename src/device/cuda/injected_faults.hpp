// SPDX-License-Identifier: Apache-2.0
// Injected faults are what a test does to the calls that one call of the library makes to the CUDA runtime. Faults
// belong to that call: they are in force on its thread, and work that it puts on queues takes them along to the queues'
// threads. Calls that run at the same time do not meet them.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace spansort::device::cuda {

class injected_faults : public std::enable_shared_from_this<injected_faults> {
 public:
  struct settings {
    std::uint64_t fail_call_at = 0;  ///< 1: the first call fails without being made, 2: the second ...; 0: none does
    cudaError_t fail_with = cudaErrorUnknown;
    bool corrupt_peer_probes = false;  ///< probes of links find a flipped bit, those of a GPU's own memory too
    bool blocks_cannot_meet = false;   ///< no kernel is launched cooperatively
  };
  explicit injected_faults(const settings& wanted) noexcept
      : calls_to_fault_(wanted.fail_call_at),
        fail_with_(wanted.fail_with),
        corrupts_peer_probes_(wanted.corrupt_peer_probes),
        blocks_cannot_meet_(wanted.blocks_cannot_meet) {}

  /// Counts a call, of any thread, and returns the fault that takes its place.
  [[nodiscard]] cudaError_t count_call() noexcept;
  /// Returns how many calls are left up to the one that fails; 0: none fails any more.
  [[nodiscard]] std::uint64_t calls_to_fault() const noexcept {
    return calls_to_fault_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool corrupts_peer_probes() const noexcept { return corrupts_peer_probes_; }
  [[nodiscard]] bool blocks_cannot_meet() const noexcept { return blocks_cannot_meet_; }

 private:
  std::atomic<std::uint64_t> calls_to_fault_;
  cudaError_t fail_with_;
  bool corrupts_peer_probes_;
  bool blocks_cannot_meet_;
};

/// Returns the faults that are in force on the calling thread; null, as outside of tests, when there are none.
[[nodiscard]] std::shared_ptr<injected_faults> current_faults() noexcept;

/// Puts faults in force on the calling thread, or null to have none, while the scope lives. Scopes of one thread end in
/// reverse order.
class fault_scope {
 public:
  explicit fault_scope(std::shared_ptr<injected_faults> faults) noexcept;
  ~fault_scope();
  fault_scope(const fault_scope&) = delete;
  fault_scope& operator=(const fault_scope&) = delete;

 private:
  std::shared_ptr<injected_faults> own_;
  injected_faults* before_;
};

}  // namespace spansort::device::cuda
