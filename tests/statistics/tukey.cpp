// SPDX-License-Identifier: Apache-2.0
// The paper's quartiles against halves that are really cut, and what positions refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "of_sorted.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"

namespace spansort::statistics::test {
namespace {

double median_by_hand(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

std::vector<double> squares(std::size_t n) {  // no two gaps alike, so a rank off by one shows
  std::vector<double> sorted;
  for (std::size_t i = 0; i < n; ++i) sorted.push_back(static_cast<double>(i * i) + 0.125);
  return sorted;
}

TEST(Tukey, IsTheMedianOfHalves) {
  for (std::size_t n = 1; n <= 64; ++n) {
    const std::vector<double> sorted = squares(n);
    const auto half = static_cast<std::ptrdiff_t>((n + 1) / 2);  // with the central key of an odd n
    const std::vector<double> low(sorted.begin(), sorted.begin() + half);
    const std::vector<double> high(sorted.end() - half, sorted.end());
    EXPECT_EQ(quantile_of_sorted(sorted, 0, quantile_method::tukey), sorted.front()) << n;
    EXPECT_EQ(quantile_of_sorted(sorted, 0.25, quantile_method::tukey), median_by_hand(low)) << n;
    EXPECT_EQ(quantile_of_sorted(sorted, 0.5, quantile_method::tukey), median_by_hand(sorted)) << n;
    EXPECT_EQ(quantile_of_sorted(sorted, 0.75, quantile_method::tukey), median_by_hand(high)) << n;
    EXPECT_EQ(quantile_of_sorted(sorted, 1, quantile_method::tukey), sorted.back()) << n;
  }
}

TEST(Tukey, MeansAreRoundedOnce) {
  // interpolate() at 0.5 gives twice or none of the mean here: the difference has been rounded before.
  const std::vector<double> sorted{-1, 1 + std::numeric_limits<double>::epsilon()};
  EXPECT_EQ(quantile_of_sorted(sorted, 0.5, quantile_method::tukey), std::numeric_limits<double>::epsilon() / 2);
}

TEST(Tukey, HugeCounts) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t half = std::uint64_t{1} << 63;
  EXPECT_EQ(position_of(most, 0.5, quantile_method::tukey), (quantile_position{half - 1, half - 1, 1}));
  EXPECT_EQ(position_of(most, 0.25, quantile_method::tukey), (quantile_position{half / 2 - 1, half / 2, 0.5}));
  EXPECT_EQ(position_of(most, 0.75, quantile_method::tukey),
            (quantile_position{most - 1 - half / 2, most - half / 2, 0.5}));
  EXPECT_EQ(position_of(most, 1, quantile_method::tukey), (quantile_position{most - 1, most - 1, 1}));
}

TEST(Tukey, KnowsQuartilesOnly) {
  EXPECT_THROW((void)position_of(8, 0.1, quantile_method::tukey), invalid_argument);
  EXPECT_THROW((void)position_of(8, std::nextafter(0.25, 1.0), quantile_method::tukey), invalid_argument);
}

TEST(Position, RefusesWhatIsNoQuantile) {
  for (int m = 0; m < 14; ++m) {
    const auto method = quantile_method(m);
    EXPECT_THROW((void)position_of(8, -0.25, method), invalid_argument);
    EXPECT_THROW((void)position_of(8, std::nextafter(1.0, 2.0), method), invalid_argument);
    EXPECT_THROW((void)position_of(8, std::numeric_limits<double>::quiet_NaN(), method), invalid_argument);
    EXPECT_THROW((void)position_of(0, 0.5, method), bad_input);
  }
}

TEST(Names, AreReadBack) {
  for (int m = 0; m < 14; ++m) EXPECT_EQ(parse_quantile_method(name(quantile_method(m))), quantile_method(m));
  for (int p = 0; p < 3; ++p) EXPECT_EQ(parse_nan_policy(name(nan_policy(p))), nan_policy(p));
  EXPECT_EQ(parse_quantile_method("linear"), quantile_method::linear);
  EXPECT_EQ(parse_quantile_method("tukey"), quantile_method::tukey);
  EXPECT_EQ(parse_nan_policy("error"), nan_policy::error);
  EXPECT_THROW((void)parse_quantile_method("Linear"), invalid_argument);
  EXPECT_THROW((void)parse_quantile_method(""), invalid_argument);
  EXPECT_THROW((void)parse_nan_policy("raise"), invalid_argument);
  try {
    (void)parse_quantile_method("linaer");
  } catch (const invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("unknown quantile method 'linaer'; known: inverted_cdf"),
              std::string::npos);
  }
}

TEST(Summary, FiveNumbersAreThoseOfTheBox) {
  summary s;
  s.minimum = 1;
  s.lower_quartile = 2;
  s.median = 3;
  s.upper_quartile = 4;
  s.maximum = 5;
  EXPECT_EQ(s.five_numbers(), (std::array<double, 5>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace spansort::statistics::test
