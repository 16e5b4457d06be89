// SPDX-License-Identifier: Apache-2.0
// Equal shares (base/shares.hpp) differ by one at most, the longer ones come first, and together they are the whole.
#include <gtest/gtest.h>

#include "base/shares.hpp"

namespace spansort::base::test {
namespace {

TEST(Shares, AreEqualAndCoverAll) {
  for (const std::uint64_t total : {0ULL, 1ULL, 7ULL, 1000ULL, 1ULL << 63, ~0ULL}) {
    for (const std::uint64_t num_shares : {1ULL, 2ULL, 3ULL, 7ULL, 4096ULL}) {
      EXPECT_EQ(share_begin(total, num_shares, 0), 0u);
      EXPECT_EQ(share_begin(total, num_shares, num_shares), total);
      for (std::uint64_t i = 0; i < num_shares; ++i) {
        const std::uint64_t size = share_size(total, num_shares, i);
        EXPECT_EQ(share_begin(total, num_shares, i + 1) - share_begin(total, num_shares, i), size);
        EXPECT_EQ(size, total / num_shares + (i < total % num_shares ? 1 : 0));
      }
    }
  }
}

}  // namespace
}  // namespace spansort::base::test
