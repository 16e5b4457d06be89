// SPDX-License-Identifier: Apache-2.0
// These are the program's malloc, calloc, realloc and aligned allocations, and its operator new: they count what is
// allocated and not freed, and fail when they are told to. Under the sanitizers, which have their own, nothing is
// counted and nothing fails.
#pragma once

#include <cstdint>

namespace spansort::test {

/// Returns whether allocations are counted and can fail.
[[nodiscard]] bool can_fail_memory() noexcept;

/// Returns how many allocations of the process have not been freed.
[[nodiscard]] std::int64_t live_allocations() noexcept;

/// The allocations that are counted and fail.
enum class failing_allocations : std::uint8_t {
  all,
  /// Only those by operator new, which a GPU's driver does not call. One that lacks memory refuses all later calls.
  of_new,
  of_new_elsewhere  ///< of these those of other threads than the scope's, such as those that feed a GPU
};

/// While the scope lives the process's `nth` allocation fails, counted from 1, and all behind it where that is lasting.
class failing_memory_scope {
 public:
  failing_memory_scope(std::uint64_t nth, bool is_lasting,
                       failing_allocations which = failing_allocations::all) noexcept;
  ~failing_memory_scope();
  failing_memory_scope(const failing_memory_scope&) = delete;
  failing_memory_scope& operator=(const failing_memory_scope&) = delete;

  /// Returns whether an allocation has failed since the last scope began.
  [[nodiscard]] static bool has_failed() noexcept;
};

}  // namespace spansort::test
