// SPDX-License-Identifier: Apache-2.0
// A call is repeated with each of its allocations failing in turn: alone, and with all that follow.
#pragma once

#include <functional>
#include <string>

#include "memory/failing_memory.hpp"

namespace spansort::test {

/// Returns whether SPANSORT_TEST_CASES asks for more than the usual: it says how many of a call's allocations all take
/// their turn, 8 where it is not set. Those behind them are taken further and further apart.
[[nodiscard]] bool fails_many();

/// Calls `work` with each of its first allocations failing until none fails any more; `check` is told whether the call
/// threw, and returns "" or what is wrong. What is thrown must be std::bad_alloc or one of the library's errors. Adds
/// GoogleTest failures.
void fail_every_allocation(const std::function<void()>& prepare, const std::function<void()>& work,
                           const std::function<std::string(bool has_thrown)>& check,
                           failing_allocations which = failing_allocations::all);

/// Returns the allocations that may fail in calls that use a device of such a list.
[[nodiscard]] failing_allocations failing_on(const std::string& devices);

/// Returns how many calls fail_every_allocation() has made with one failing, and how many of them have thrown.
struct failing_calls {
  unsigned long num_calls = 0;
  unsigned long num_thrown = 0;
};
[[nodiscard]] failing_calls count_failing_calls();

}  // namespace spansort::test
