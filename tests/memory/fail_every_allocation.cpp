// SPDX-License-Identifier: Apache-2.0
#include "memory/fail_every_allocation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <new>

#include "memory/failing_memory.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t most_allocations = 200'000;

failing_calls counted;

/// Calls `work`, and says whether it threw what it may.
bool throws(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    return true;
  } catch (const error&) {
    return true;
  }
  return false;
}

/// The first allocations that all take their turn.
std::uint64_t num_of_all() { return num_cases(8); }

}  // namespace

bool fails_many() { return num_of_all() > 8; }

failing_calls count_failing_calls() { return counted; }

failing_allocations failing_on(const std::string& devices) {
  return devices.starts_with("gpu") ? failing_allocations::of_new : failing_allocations::all;
}

void fail_every_allocation(const std::function<void()>& prepare, const std::function<void()>& work,
                           const std::function<std::string(bool has_thrown)>& check, failing_allocations which) {
  const std::uint64_t part = std::max<std::uint64_t>(num_of_all(), 1);
  prepare();
  work();  // what the library keeps from call to call is there from now on
  for (const bool is_lasting : {false, true}) {
    bool has_failed = true;
    for (std::uint64_t nth = 1; has_failed; nth += 1 + nth / part) {
      ASSERT_LT(nth, most_allocations);
      prepare();
      bool has_thrown = false;
      {
        const failing_memory_scope scope(nth, is_lasting, which);
        has_thrown = throws(work);
        has_failed = failing_memory_scope::has_failed();
      }
      counted.num_calls += has_failed ? 1 : 0;
      counted.num_thrown += has_thrown ? 1 : 0;
      ASSERT_EQ(check(has_thrown), "") << "allocation " << nth << (is_lasting ? " and all behind it" : "")
                                       << (has_thrown ? ", thrown" : "");
    }
  }
}

}  // namespace spansort::test
