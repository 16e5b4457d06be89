// SPDX-License-Identifier: Apache-2.0
// A call that lacks memory says how much it needs, and a caller who raises the limit to that gets further each time.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "spansort/errors.hpp"

namespace spansort::test {

/// Calls call(limit_bytes), with a limit of 1 at first and then of one byte more than it says to need, until it has
/// enough: after a few calls, each of which asks for more.
template <class Call>
void expect_enough_when_raised(const Call& call) {
  std::uint64_t limit_bytes = 1;
  for (int calls = 0; calls < 6; ++calls) {
    try {
      call(limit_bytes);
      return;
    } catch (const out_of_memory& failure) {
      ASSERT_GE(failure.needed_bytes(), limit_bytes) << failure.what();
      limit_bytes = failure.needed_bytes() + 1;
    }
  }
  FAIL() << limit_bytes << " bytes are not enough";
}

}  // namespace spansort::test
