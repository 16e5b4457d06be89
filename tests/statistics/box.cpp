// SPDX-License-Identifier: Apache-2.0
// Fences, whiskers and outliers against matplotlib's cbook.boxplot_stats, and at the ends of what doubles hold.
#include "statistics/box.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "golden_words.hpp"
#include "of_sorted.hpp"
#include "spansort/errors.hpp"
#include "support/golden_file.hpp"

namespace spansort::statistics::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();

interval fences_of(const std::vector<double>& sorted, const whisker_rule& rule, const interval& quartiles) {
  if (!rule.percentiles) return iqr_fences(quartiles, rule.iqr_factor);
  return {quantile_of_sorted(sorted, q_of_percentile(rule.percentiles->low), quantile_method::linear),
          quantile_of_sorted(sorted, q_of_percentile(rule.percentiles->high), quantile_method::linear)};
}

interval whiskers_of(const std::vector<double>& sorted, const interval& fences, const interval& quartiles) {
  const auto least = std::lower_bound(sorted.begin(), sorted.end(), fences.low);
  const auto behind_greatest = std::upper_bound(sorted.begin(), sorted.end(), fences.high);
  std::optional<double> low;
  std::optional<double> high;
  if (least != sorted.end()) low = *least;
  if (behind_greatest != sorted.begin()) high = *(behind_greatest - 1);
  return {lower_whisker(quartiles.low, low), upper_whisker(quartiles.high, high)};
}

/// q1 med q3 iqr whislo whishi, then the outliers: the order of boxes.txt, without the mean.
std::vector<double> box_of_sorted(const std::vector<double>& sorted, const whisker_rule& rule) {
  require_valid(rule);
  const interval quartiles{quantile_of_sorted(sorted, 0.25, quantile_method::linear),
                           quantile_of_sorted(sorted, 0.75, quantile_method::linear)};
  const interval whiskers = whiskers_of(sorted, fences_of(sorted, rule, quartiles), quartiles);
  std::vector<double> box{quartiles.low,  quantile_of_sorted(sorted, 0.5, quantile_method::linear),
                          quartiles.high, interquartile_range(quartiles),
                          whiskers.low,   whiskers.high};
  for (const double key : sorted) {
    if (key < whiskers.low || key > whiskers.high) box.push_back(key);
  }
  return box;
}

TEST(Box, IsThatOfMatplotlib) {
  std::vector<double> data;
  int num_compared = 0;
  for (const words& line : read_lines(spansort::test::golden_path("boxes.txt"))) {
    if (line[0] == "data") {
      data = to_doubles(line, 1);
      continue;
    }
    whisker_rule rule;
    std::size_t first = 2;
    if (line[0] == "percentiles") {
      rule.percentiles = percentile_pair{to_double(line[1]), to_double(line[2])};
      first = 3;
    } else {
      rule.iqr_factor = to_double(line[1]);
    }
    std::vector<double> expected = to_doubles(line, first);
    expected.erase(expected.begin() + 6);  // the mean
    EXPECT_EQ(box_of_sorted(data, rule), expected) << "data from " << data[0] << ": " << ::testing::PrintToString(line);
    ++num_compared;
  }
  EXPECT_GE(num_compared, 90);
}

TEST(Box, FigureOneOfThePaper) {
  // Spafford 2011 has the quartiles 1.5, 3 and 9.5 there and calls 19 an outlier. By the rule in its text it is none:
  // the fence is at 9.5 + 1.5 * 8 = 21.5. The rule is what is followed here.
  EXPECT_EQ(iqr_fences({1.5, 9.5}, 1.5), (interval{-10.5, 21.5}));
}

TEST(Box, WhiskersDoNotEndInsideTheBox) {
  EXPECT_EQ(lower_whisker(2, std::nullopt), 2);
  EXPECT_EQ(upper_whisker(4, std::nullopt), 4);
  EXPECT_EQ(lower_whisker(2, 3), 2);
  EXPECT_EQ(upper_whisker(4, 3), 4);
  EXPECT_EQ(lower_whisker(2, -1), -1);
  EXPECT_EQ(upper_whisker(4, 9), 9);
}

TEST(Box, FencesAreNeverNan) {
  EXPECT_EQ(iqr_fences({infinity, infinity}, 1.5), (interval{infinity, infinity}));
  EXPECT_EQ(iqr_fences({-infinity, infinity}, 1.5), (interval{-infinity, infinity}));
  EXPECT_EQ(iqr_fences({-infinity, 1}, 1.5), (interval{-infinity, infinity}));
  EXPECT_EQ(iqr_fences({1, infinity}, 0), (interval{1, infinity}));
  EXPECT_EQ(iqr_fences({-largest, largest}, 1.5), (interval{-infinity, infinity}));
  EXPECT_EQ(iqr_fences({-largest, largest}, 0), (interval{-largest, largest}));
  EXPECT_EQ(interquartile_range({-largest, largest}), infinity);
  EXPECT_EQ(interquartile_range({-infinity, -infinity}), 0);
}

TEST(Box, RefusesRulesWithoutMeaning) {
  EXPECT_NO_THROW(require_valid({}));
  EXPECT_NO_THROW(require_valid({0, {}}));
  EXPECT_NO_THROW(require_valid({1.5, percentile_pair{50, 50}}));
  EXPECT_THROW(require_valid({-1, {}}), invalid_argument);
  EXPECT_THROW(require_valid({infinity, {}}), invalid_argument);
  EXPECT_THROW(require_valid({std::numeric_limits<double>::quiet_NaN(), {}}), invalid_argument);
  EXPECT_THROW(require_valid({1.5, percentile_pair{95, 5}}), invalid_argument);
  EXPECT_THROW(require_valid({1.5, percentile_pair{-1, 5}}), invalid_argument);
  EXPECT_THROW(require_valid({1.5, percentile_pair{1, 101}}), invalid_argument);
  EXPECT_THROW(require_valid({1.5, percentile_pair{std::numeric_limits<double>::quiet_NaN(), 5}}), invalid_argument);
}

}  // namespace
}  // namespace spansort::statistics::test
