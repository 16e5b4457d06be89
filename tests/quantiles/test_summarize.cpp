// SPDX-License-Identifier: Apache-2.0
// summarize() against the definitions, taken on sorted keys.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/statistics.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Holds all that is said about outliers and whiskers against a look at every key.
template <class K>
void expect_right_on_one(const std::vector<K>& keys, const summary_options& options) {
  const summary s = summarize(keys, options);
  std::vector<double> sorted;
  for (const K k : keys) {
    if (!std::isnan(static_cast<double>(k))) sorted.push_back(static_cast<double>(k));
  }
  std::ranges::sort(sorted);
  ASSERT_EQ(s.count, sorted.size());
  EXPECT_EQ(s.nan_count, keys.size() - sorted.size());

  const std::vector<double> q{0, 0.25, 0.5, 0.75, 1};
  const std::vector<double> five = quantiles(sorted, q, {.method = options.method});
  EXPECT_TRUE(std::ranges::equal(s.five_numbers(), five));
  EXPECT_TRUE(std::ranges::equal(s.bowley_seven, quantiles(sorted, bowley_seven_q)));
  EXPECT_TRUE(std::ranges::equal(s.normal_seven, quantiles(sorted, normal_seven_q)));
  EXPECT_EQ(s.iqr, five[3] - five[1]);

  double low = five[1] - options.whiskers.iqr_factor * s.iqr;
  double high = five[3] + options.whiskers.iqr_factor * s.iqr;
  if (const auto& p = options.whiskers.percentiles) {
    const std::vector<double> at{p->low / 100, p->high / 100};
    low = quantiles(sorted, at)[0];
    high = quantiles(sorted, at)[1];
  }
  EXPECT_EQ(s.fence_low, low);
  EXPECT_EQ(s.fence_high, high);
  // As matplotlib's cbook.boxplot_stats has it.
  double whisker_low = five[1];
  double whisker_high = five[3];
  for (const double k : sorted) {
    if (k >= low) whisker_low = std::min(whisker_low, k);
    if (k <= high) whisker_high = std::max(whisker_high, k);
  }
  EXPECT_EQ(s.whisker_low, whisker_low);
  EXPECT_EQ(s.whisker_high, whisker_high);

  std::vector<double> below;
  std::vector<double> above;
  for (const double k : sorted) {
    if (k < whisker_low) below.push_back(k);
    if (k > whisker_high) above.push_back(k);
  }
  EXPECT_EQ(s.num_outliers_below, below.size());
  EXPECT_EQ(s.num_outliers_above, above.size());
  const std::size_t num_all = below.size() + above.size();
  ASSERT_EQ(s.outliers.size(), std::min<std::size_t>(num_all, options.most_outliers));
  EXPECT_TRUE(std::ranges::is_sorted(s.outliers));
  const auto num_low =
      static_cast<std::size_t>(std::ranges::count_if(s.outliers, [&](double k) { return k < whisker_low; }));
  const std::size_t num_high = s.outliers.size() - num_low;
  EXPECT_TRUE(std::equal(below.begin(), below.begin() + static_cast<std::ptrdiff_t>(num_low), s.outliers.begin()));
  EXPECT_TRUE(std::equal(above.end() - static_cast<std::ptrdiff_t>(num_high), above.end(),
                         s.outliers.end() - static_cast<std::ptrdiff_t>(num_high)));
  if (num_all > options.most_outliers) {
    const std::size_t half = options.most_outliers / 2;
    EXPECT_GE(num_low, std::min(below.size(), half));
    EXPECT_GE(num_high, std::min(above.size(), half));
  }

  long double sum = 0;
  for (const double k : sorted) sum += k;
  const auto mean = static_cast<double>(sum / static_cast<long double>(sorted.size()));
  EXPECT_NEAR(s.mean, mean, 1e-12 * std::max(1.0, std::abs(mean)));
}

/// Few keys are sorted by the CPU as such, and selected from by a list of host devices.
template <class K>
void expect_right(const std::vector<K>& keys, const summary_options& options) {
  expect_right_on_one(keys, options);
  summary_options of_list = options;
  of_list.devices = "host:1";
  expect_right_on_one(keys, of_list);
}

TEST(Summarize, IsRightForEveryFew) {
  for (std::uint64_t n = 1; n <= 64; ++n) {
    std::vector<double> keys(n);
    generate(as_key_span(std::span(keys)), {distribution_kind::normal}, seed_for(n));
    expect_right(keys, {});
    expect_right(keys, {.whiskers = {.iqr_factor = 0.1}, .most_outliers = n / 3, .devices = "host:3"});
    expect_right(keys, {.method = quantile_method::tukey});
  }
}

TEST(Summarize, IsRightForEveryDistribution) {
  const std::vector<distribution> distributions{{distribution_kind::uniform}, {distribution_kind::normal},
                                                {distribution_kind::zero},    {distribution_kind::zipf, 1},
                                                {distribution_kind::sorted},  {distribution_kind::entropy, 3}};
  for (const distribution& d : distributions) {
    std::vector<std::uint32_t> keys(is_small_scale() ? 20'000 : 100'000);
    generate(as_key_span(std::span(keys)), d, seed_for(1));
    expect_right(keys, {});
    expect_right(keys, {.whiskers = {.iqr_factor = 0.2}, .most_outliers = 100, .devices = "host:3"});
    expect_right(keys, {.whiskers = {.percentiles = percentile_pair{5, 95}}, .most_outliers = 1'000'000});
    std::vector<float> floats(keys.begin(), keys.end());
    expect_right(floats, {});
    std::vector<std::int8_t> bytes(keys.size());
    generate(as_key_span(std::span(bytes)), d, seed_for(2));
    expect_right(bytes, {.whiskers = {.iqr_factor = 0.4}, .most_outliers = 7});
  }
}

TEST(Summarize, CutsOffEqualOutliers) {
  // More equal keys at the edge of what is taken than may be taken.
  std::vector<std::int32_t> keys(1000, 50);
  for (int i = 0; i < 200; ++i) keys.push_back(i % 2 == 0 ? -1000 : 1000);
  for (int i = 0; i < 10; ++i) keys.push_back(-2000 - i);
  expect_right(keys, {.most_outliers = 40});
  expect_right(keys, {.most_outliers = 1});
  expect_right(keys, {.most_outliers = 0});
}

TEST(Summarize, FollowsThePolicyOnNaN) {
  std::vector<double> keys(50'000);
  generate(as_key_span(std::span(keys)), {distribution_kind::normal}, seed_for(3));
  for (std::size_t i = 0; i < keys.size(); i += 9) keys[i] = i % 2 == 0 ? nan : -nan;
  expect_right(keys, {.nans = nan_policy::omit});
  const summary s = summarize(keys);
  EXPECT_EQ(s.nan_count, (keys.size() + 8) / 9);
  EXPECT_TRUE(std::isnan(s.median) && std::isnan(s.mean) && std::isnan(s.whisker_low));
  EXPECT_THROW(static_cast<void>(summarize(keys, {.nans = nan_policy::error})), bad_input);
  const std::vector<float> nothing_else(10, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(summarize(nothing_else, {.nans = nan_policy::omit}).median));
}

TEST(Summarize, SumsIntegersExactly) {
  const std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(summarize(std::vector<std::uint64_t>(1000, top)).mean, 0x1p64);
  const std::int64_t low = std::numeric_limits<std::int64_t>::min();
  const std::int64_t high = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(summarize(std::vector<std::int64_t>{low, high, low, high}).mean, -0.5);
  EXPECT_EQ(summarize(std::vector<std::int8_t>(300'000, -128)).mean, -128);
}

TEST(Summarize, TheMeanDoesNotDependOnTheThreads) {
  std::vector<double> keys(3'000'001);
  generate(as_key_span(std::span(keys)), {distribution_kind::uniform}, seed_for(4));
  const double expected = summarize(keys).mean;
  for (const std::size_t count : {1U, 2U, 3U}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, count);
    EXPECT_EQ(summarize(keys, {.devices = "host:3"}).mean, expected) << count << " threads";
  }
}

TEST(Summarize, OfInfinitiesIsDefined) {
  const double infinity = std::numeric_limits<double>::infinity();
  const summary s = summarize(std::vector<double>{-infinity, 1, 2, 3, infinity});
  EXPECT_EQ(s.median, 2);
  EXPECT_EQ(s.minimum, -infinity);
  EXPECT_EQ(s.num_outliers_below, 1u);
  EXPECT_EQ(s.num_outliers_above, 1u);
  EXPECT_TRUE(std::isnan(s.mean));
  EXPECT_EQ(summarize(std::vector<double>{1, infinity}).mean, infinity);
}

TEST(Summarize, RefusesWhatCannotBe) {
  const std::vector<double> none;
  const std::vector<double> keys{1, 2};
  EXPECT_THROW(static_cast<void>(summarize(none)), bad_input);
  EXPECT_THROW(static_cast<void>(summarize(keys, {.whiskers = {.iqr_factor = -1}})), invalid_argument);
  EXPECT_THROW(static_cast<void>(summarize(keys, {.devices = "host:0"})), invalid_argument);
}

}  // namespace
}  // namespace spansort::test
