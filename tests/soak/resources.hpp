// SPDX-License-Identifier: Apache-2.0
// This header tells what a process holds, so that a case can be asked to give it back.
#pragma once

#include <cstdint>
#include <string>

namespace spansort::soak {

struct resources {
  std::int64_t allocations = 0;  ///< not freed
  std::int64_t descriptors = 0;
  std::int64_t threads = 0;
  std::int64_t resident_bytes = 0;
};

/// Waits a moment for threads that are ending to have ended, while there are more than `usual_threads`.
[[nodiscard]] resources held_now(std::int64_t usual_threads = 0);

/// Gives free memory back to the system before it looks.
[[nodiscard]] resources held_after_trim();

[[nodiscard]] std::string to_string(const resources& held);

}  // namespace spansort::soak
