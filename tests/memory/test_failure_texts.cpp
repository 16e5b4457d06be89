// SPDX-License-Identifier: Apache-2.0
// A GPU's failure stays what it is where there is no memory to say what it means for the caller's arrays.
#include <gtest/gtest.h>

#include <exception>
#include <string>

#include "memory/failing_memory.hpp"
#include "sort/run_reported.hpp"
#include "spansort/errors.hpp"

namespace spansort::test {
namespace {

template <class Failure>
void expect_unchanged() {
  const std::exception_ptr failed = std::make_exception_ptr(Failure("it failed", "gpu:1"));
  const auto has_begun = [] { return true; };
  std::exception_ptr thrown;
  {
    const failing_memory_scope scope(1, true, failing_allocations::of_new);
    try {
      sorting::run_telling_state([&] { std::rethrow_exception(failed); }, has_begun, "sort");
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  EXPECT_TRUE(failing_memory_scope::has_failed());
  try {
    std::rethrow_exception(thrown);
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "it failed");
    EXPECT_EQ(failure.device(), "gpu:1");
  } catch (const std::exception& other) {
    ADD_FAILURE() << "another exception surfaces: " << other.what();
  }
}

TEST(FailingMemoryOfTexts, AFailureOfAGpuStaysOne) {
  if (!can_fail_memory()) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  expect_unchanged<device_error>();
  expect_unchanged<device_lost>();
  expect_unchanged<device_memory_error>();
}

}  // namespace
}  // namespace spansort::test
