// SPDX-License-Identifier: Apache-2.0
// Keys that are read a piece at a time, as often as it takes: those of a file that does not fit in memory.
#pragma once

#include <cstdint>

#include "spansort/types.hpp"

namespace spansort::statistics {

class key_blocks {
 public:
  key_blocks() = default;
  virtual ~key_blocks() = default;
  key_blocks(const key_blocks&) = delete;
  key_blocks& operator=(const key_blocks&) = delete;

  [[nodiscard]] virtual key_type type() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t num_keys() const noexcept = 0;
  /// Copies keys from position `first` on, in native byte order. Several threads may call it at once. Throws what
  /// reading throws.
  virtual void read(std::uint64_t first, std::uint64_t count, void* to) = 0;
  /// Throws where the keys are no longer those that they were at first. Called at the end of each read of all.
  virtual void require_unchanged() = 0;
};

}  // namespace spansort::statistics
