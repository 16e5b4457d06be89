// SPDX-License-Identifier: Apache-2.0
// The parts of a workspace that a caller has given, one after the other.
#pragma once

#include <cstdint>

#include "base/math.hpp"

namespace spansort::device::cuda {

inline constexpr std::uint64_t workspace_alignment_bytes = 256;

/// Hands out parts of a workspace one after the other. Without memory it only adds them up.
class workspace_layout {
 public:
  explicit workspace_layout(void* memory) : memory_(static_cast<char*>(memory)) {}

  [[nodiscard]] void* take(std::uint64_t size_bytes) {
    void* const taken = memory_ == nullptr || size_bytes == 0 ? nullptr : memory_ + end_;
    end_ += base::round_up(size_bytes, workspace_alignment_bytes);
    return taken;
  }
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

 private:
  char* memory_;
  std::uint64_t end_ = 0;
};

}  // namespace spansort::device::cuda
