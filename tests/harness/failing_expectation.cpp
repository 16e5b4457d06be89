// SPDX-License-Identifier: Apache-2.0
// A test that fails: the program must end with an exit status other than 0.
#include <gtest/gtest.h>

TEST(harness, reports_a_failed_expectation) { EXPECT_EQ(1 + 1, 3); }
