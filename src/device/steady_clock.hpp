// SPDX-License-Identifier: Apache-2.0
// The clock that the times of all devices and of the host that waits for them are read from.
#pragma once

#include <chrono>
#include <cstdint>

namespace spansort::device {

[[nodiscard]] inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace spansort::device
