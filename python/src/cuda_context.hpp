// SPDX-License-Identifier: Apache-2.0
// The GPU that a call works on, chosen by its ordinal through the driver, which is looked for when it is needed: one
// module serves machines with and without it, and no CUDA header is needed. Its memory is for arrays of no library that
// could allocate some.
#pragma once

#include <cstdint>

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
  /// Returns new memory, aligned to 256 bytes. Throws spansort::out_of_memory.
  [[nodiscard]] std::uintptr_t allocate(std::uint64_t size_bytes) const;
  /// Gives memory back once all work of the GPU that was begun is done.
  void free(std::uintptr_t memory) const noexcept;
  /// Puts a copy on a stream; addresses are those of this GPU or of host memory.
  void copy(std::uintptr_t target, std::uintptr_t source, std::uint64_t size_bytes, void* stream) const;

 private:
  const driver_functions& driver_;
  int ordinal_;
  int device_ = 0;
  bool is_pushed_ = false;  ///< false where the GPU was current before
};

/// Returns the ordinal of the GPU whose memory an address is of. Throws spansort::invalid_argument for addresses that
/// the driver does not know, and spansort::device_error where there is no driver.
int gpu_of(std::uintptr_t address);

}  // namespace python
