// SPDX-License-Identifier: Apache-2.0
// Quantiles against numpy.quantile bit for bit, and ranks of huge counts against exact fractions.
// SPANSORT_TEST_QUANTILES names another file to read, made by scripts/statistics_golden.py --random.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <set>

#include "golden_words.hpp"
#include "of_sorted.hpp"
#include "support/golden_file.hpp"

namespace spansort::statistics::test {
namespace {

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

TEST(NumpyQuantiles, AreTheSameBits) {
  const char* const other = std::getenv("SPANSORT_TEST_QUANTILES");
  std::vector<double> data;
  std::vector<double> qs;
  std::uint64_t num_compared = 0;
  std::set<std::string> methods;
  for (const words& line : read_lines(other != nullptr ? other : spansort::test::golden_path("quantiles.txt"))) {
    if (line[0] == "exact" || line[0] == "numpy") continue;
    if (line[0] == "data" || line[0] == "q") {
      (line[0] == "q" ? qs : data) = to_doubles(line, 1);
      continue;
    }
    const quantile_method method = parse_quantile_method(line[0]);
    methods.insert(line[0]);
    ASSERT_EQ(line.size(), qs.size() + 1);
    for (std::size_t i = 0; i < qs.size(); ++i) {
      const double expected = to_double(line[i + 1]);
      const double result = quantile_of_sorted(data, qs[i], method);
      ASSERT_EQ(bits_of(result), bits_of(expected))
          << line[0] << ", n = " << data.size() << std::hexfloat << ", q = " << qs[i] << ": " << result
          << " instead of " << expected;
      ++num_compared;
    }
  }
  EXPECT_EQ(methods.size(), 13U);
  EXPECT_GE(num_compared, other != nullptr ? 1U : 6000U);
}

TEST(NumpyQuantiles, RanksOfLargeCountsAreTheSame) {
  std::uint64_t num_compared = 0;
  for (const words& line : read_lines(spansort::test::golden_path("quantiles.txt"))) {
    if (line[0] != "numpy") continue;
    ASSERT_EQ(line.size(), 7U);
    const quantile_position expected{std::stoull(line[4]), std::stoull(line[5]), to_double(line[6])};
    EXPECT_EQ(position_of(std::stoull(line[2]), to_double(line[3]), parse_quantile_method(line[1])), expected)
        << line[1] << ", n = " << line[2] << ", q = " << line[3];
    ++num_compared;
  }
  EXPECT_GE(num_compared, 150U);
}

TEST(ExactRanks, AreThoseOfFractions) {
  std::uint64_t num_compared = 0;
  for (const words& line : read_lines(spansort::test::golden_path("quantiles.txt"))) {
    if (line[0] != "exact") continue;
    ASSERT_EQ(line.size(), 7U);
    const double expected_weight = to_double(line[6]);
    const quantile_position at = position_of(std::stoull(line[2]), to_double(line[3]), parse_quantile_method(line[1]));
    const std::string where = line[1] + ", n = " + line[2] + ", q = " + line[3];
    EXPECT_EQ(at.lower_rank, std::stoull(line[4])) << where;
    EXPECT_EQ(at.upper_rank, std::stoull(line[5])) << where;
    // Three roundings, of which one may be of a sum with up to 23.
    EXPECT_NEAR(at.weight, expected_weight, std::ldexp(1.0, -51) * expected_weight) << where;
    ++num_compared;
  }
  EXPECT_GE(num_compared, 500U);
}

TEST(ExactRanks, TakeOverWhereDoublesCountInQuarters) {
  const std::uint64_t n = largest_numpy_count;
  const double below = position_of(n, 0.9, quantile_method::linear).weight;
  const double above = position_of(n + 2, 0.9, quantile_method::linear).weight;
  EXPECT_EQ(below * 4, std::floor(below * 4));
  EXPECT_NE(above * 4, std::floor(above * 4));
}

TEST(ExactRanks, AgreeWithDoublesWhereTheseAreExact) {
  const std::uint64_t n = largest_numpy_count - 7;
  for (int m = 0; m < 13; ++m) {
    const auto method = quantile_method(m);
    // Their constants have more bits than doubles of this size have to spare.
    if (method == quantile_method::median_unbiased || method == quantile_method::normal_unbiased) continue;
    for (unsigned quarters = 0; quarters <= 4; ++quarters) {
      quantile_position expected = position_of(n, quarters / 4.0, method);
      expected.lower_rank += quarters * 2;
      expected.upper_rank += quarters * 2;
      EXPECT_EQ(position_of(n + 8, quarters / 4.0, method), expected) << name(method) << ' ' << quarters;
    }
  }
}

}  // namespace
}  // namespace spansort::statistics::test
