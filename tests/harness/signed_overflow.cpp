// SPDX-License-Identifier: Apache-2.0
// Adds beyond the largest int: the undefined-behaviour sanitizer must stop it.
#include <gtest/gtest.h>

#include <limits>

TEST(harness, notices_a_signed_overflow) {
  volatile int largest = std::numeric_limits<int>::max();
  const int sum = largest + 1;
  EXPECT_NE(sum, 0);
}
