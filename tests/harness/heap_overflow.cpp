// SPDX-License-Identifier: Apache-2.0
// Reads one element past the end of an allocation: the address sanitizer must stop it.
#include <gtest/gtest.h>

#include <memory>

TEST(harness, notices_a_heap_overflow) {
  volatile std::size_t count = 8;
  const auto data = std::make_unique<int[]>(count);
  const volatile int* first = data.get();
  EXPECT_NE(first[count], 0x5eed);
}
