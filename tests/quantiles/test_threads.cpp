// SPDX-License-Identifier: Apache-2.0
// The option `threads` of order statistics: the answers are the same, and what cannot be is refused.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/statistics.hpp"
#include "spansort/top_k.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

const std::vector<double> quartiles_q{0.25, 0.5, 0.75};
const std::vector<double> edges{-1e9, 0, 1e9};

TEST(StatisticsThreads, AnswersAreTheSame) {
  std::vector<std::int32_t> keys(200'000);
  generate(as_key_span(std::span(keys)), {}, test::seed_for(1));
  const summary expected = summarize(keys);
  for (const unsigned threads : {1U, 2U, 5U}) {
    for (const char* devices : {"cpu", "host:3"}) {
      EXPECT_EQ(quantiles(keys, quartiles_q, {.devices = devices, .threads = threads}), quantiles(keys, quartiles_q));
      const summary found = summarize(keys, {.devices = devices, .threads = threads});
      EXPECT_EQ(found.mean, expected.mean);
      EXPECT_EQ(found.median, expected.median);
      EXPECT_EQ(found.outliers, expected.outliers);
      EXPECT_EQ(histogram(keys, edges, {.devices = devices, .threads = threads}), histogram(keys, edges));
      EXPECT_TRUE(rank_of(keys, 7, {.devices = devices, .threads = threads}) == rank_of(keys, 7));
      EXPECT_EQ(top_k(keys, 10, {.devices = devices, .threads = threads}), top_k(keys, 10));
      EXPECT_EQ(top_k_indices(keys, 10, {.devices = devices, .threads = threads}), top_k_indices(keys, 10));
    }
  }
}

TEST(StatisticsThreads, TooManyAreRefused) {
  const std::vector<float> keys(100'000, 1);
  EXPECT_THROW(static_cast<void>(quantiles(keys, quartiles_q, {.threads = 1025})), invalid_argument);
  EXPECT_THROW(static_cast<void>(summarize(keys, {.order = key_order::ascending, .threads = 1025})), invalid_argument);
  EXPECT_THROW(static_cast<void>(rank_of(std::vector<int>{1}, 1, {.threads = 1025})), invalid_argument);
}

}  // namespace
}  // namespace spansort
