// SPDX-License-Identifier: Apache-2.0
// A call says how a job is called: options of all kinds, and at most one fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "soak/job.hpp"
#include "support/engines.hpp"

namespace spansort::soak {

enum class fault : std::uint8_t {
  none,
  cancel,      ///< the progress callback stops the call at its n-th time
  callback,    ///< the progress callback throws then
  workspace,   ///< the n-th allocation of workspace is refused
  memory,      ///< the process's n-th allocation fails, or all from it on
  file_size,   ///< files may have n bytes at most
  device_call  ///< the n-th call to a GPU's runtime fails
};

class call {
 public:
  /// `is_alone`: no other job runs in this process, whose memory and limits on files may fail.
  call(const operation& what, drawing& from, bool is_alone);

  [[nodiscard]] std::string describe() const;
  /// Returns whether the device list names GPUs.
  [[nodiscard]] bool is_on_gpus() const noexcept { return is_on_gpus_; }

  /// Runs the job and returns how it ended. Throws what a job with this fault must not throw.
  [[nodiscard]] ending run(job& j);

 private:
  void draw_engine(const operation& what, drawing& from);
  void draw_fault(const operation& what, drawing& from, bool is_alone);
  [[nodiscard]] std::vector<fault> possible_faults(const operation& what, bool is_alone) const;
  [[nodiscard]] ending run_with_fault(job& j);
  [[nodiscard]] bool may_run_out() const;

  test::engine engine_;
  bool has_gpu_ = false;     ///< the machine has one
  bool is_on_gpus_ = false;  ///< by its device list; `auto` may take GPUs, too
  test::hooked_options options_;
  fault fault_ = fault::none;
  std::uint64_t at_ = 0;
  bool is_lasting_ = false;
};

}  // namespace spansort::soak
