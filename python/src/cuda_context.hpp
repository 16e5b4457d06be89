// SPDX-License-Identifier: Apache-2.0
// The GPU that a call works on, chosen by its ordinal through the driver, which is looked for when it is needed: one
// module serves machines with and without it, and no CUDA header is needed.
#pragma once

namespace python {

struct driver_functions;

/// A GPU's primary context, which the runtime libraries of the process share, current on this thread for a scope. What
/// was current before is put back. Throws spansort::device_error where there is no driver or no such GPU.
class current_gpu {
 public:
  explicit current_gpu(int ordinal);
  ~current_gpu();
  current_gpu(const current_gpu&) = delete;
  current_gpu& operator=(const current_gpu&) = delete;

  /// Blocks until a stream of this GPU is done.
  void wait_for(void* stream) const;

 private:
  const driver_functions& driver_;
  int ordinal_;
  int device_ = 0;
  bool is_pushed_ = false;  ///< false where the GPU was current before
};

}  // namespace python
