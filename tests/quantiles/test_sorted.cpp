// SPDX-License-Identifier: Apache-2.0
// Order statistics of keys that are in order already: the answers of keys in any order, from a few looks at them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/generate.hpp"
#include "spansort/sort.hpp"
#include "spansort/statistics.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
const std::vector<double> some_q{0, 0.1, 0.25, 1.0 / 3, 0.5, 0.75, 0.99, 1};

/// All that a summary says, NaN by their bits of 0 difference.
void expect_same(const summary& found, const summary& expected) {
  const auto numbers = [](const summary& s) {
    std::vector<double> all{s.minimum, s.lower_quartile, s.median,     s.upper_quartile, s.maximum,     s.mean,
                            s.iqr,     s.fence_low,      s.fence_high, s.whisker_low,    s.whisker_high};
    all.insert(all.end(), s.bowley_seven.begin(), s.bowley_seven.end());
    all.insert(all.end(), s.normal_seven.begin(), s.normal_seven.end());
    all.insert(all.end(), s.outliers.begin(), s.outliers.end());
    return all;
  };
  EXPECT_EQ(found.count, expected.count);
  EXPECT_EQ(found.nan_count, expected.nan_count);
  EXPECT_EQ(found.num_outliers_below, expected.num_outliers_below);
  EXPECT_EQ(found.num_outliers_above, expected.num_outliers_above);
  const std::vector<double> a = numbers(found);
  const std::vector<double> b = numbers(expected);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))
        << "number " << i << ": " << a[i] << ", " << b[i];
  }
}

/// Sorts both ways; the mean is taken of the same keys in another order, so it may differ in its last bits.
template <class K>
void expect_same_when_sorted(std::vector<K> keys, summary_options options) {
  options.with_mean = false;
  const quantile_options of_quantiles{.nans = nan_policy::omit};
  const summary expected = summarize(keys, options);
  const std::vector<double> expected_quantiles = quantiles(keys, some_q, of_quantiles);
  for (const key_order order : {key_order::ascending, key_order::descending}) {
    SCOPED_TRACE(order == key_order::ascending ? "ascending" : "descending");
    sort(keys, keys::direction_of(order == key_order::descending), {.devices = "cpu"});
    options.order = order;
    expect_same(summarize(keys, options), expected);
    const std::vector<double> found = quantiles(keys, some_q, {.nans = nan_policy::omit, .order = order});
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(found[i] == expected_quantiles[i] || std::isnan(expected_quantiles[i])) << some_q[i];
    }
  }
}

TEST(Sorted, EveryFewAreAsUnsorted) {
  for (std::uint64_t n = 1; n <= 64; ++n) {
    SCOPED_TRACE(std::to_string(n) + " keys");
    std::vector<double> keys(n);
    generate(as_key_span(std::span(keys)), {distribution_kind::normal}, seed_for(n));
    for (std::size_t i = 0; i < n; i += 7) keys[i] = std::round(keys[i]);
    expect_same_when_sorted(keys, {.whiskers = {.iqr_factor = 0.5}, .most_outliers = n / 4});
    if (n > 2) keys[n / 2] = nan;
    if (n > 9) keys[3] = -nan;
    if (n > 11) keys[4] = infinity;
    expect_same_when_sorted(keys, {.nans = nan_policy::omit});
    expect_same_when_sorted(keys, {});
  }
}

TEST(Sorted, EveryTypeAndManyEqualKeys) {
  std::vector<std::int64_t> keys(100'000);
  generate(as_key_span(std::span(keys)), {distribution_kind::zipf, 1}, seed_for(1));
  keys.push_back(std::numeric_limits<std::int64_t>::min());
  keys.push_back(std::numeric_limits<std::int64_t>::max());
  expect_same_when_sorted(keys, {.most_outliers = 17});
  expect_same_when_sorted(std::vector<std::uint8_t>(keys.begin(), keys.end()), {.whiskers = {.iqr_factor = 0.1}});
  expect_same_when_sorted(std::vector<float>(keys.begin(), keys.end()),
                          {.whiskers = {.percentiles = percentile_pair{5, 95}}});
  expect_same_when_sorted(std::vector<std::uint16_t>(1000, 65535), {});
  expect_same_when_sorted(std::vector<double>(100, nan), {.nans = nan_policy::omit});
}

TEST(Sorted, ZerosMayStandInAnyOrder) {
  const std::vector<double> keys{-1, 0.0, -0.0, 0.0, -0.0, 2, nan};
  const count_options sorted{.order = key_order::ascending};
  EXPECT_TRUE(rank_of(keys, -0.0, sorted) ==
              (key_rank{.num_less = 1, .num_equal = 4, .num_greater = 2, .num_nans = 1}));
}

/// These keys fill address space but not memory: whoever read them all would not come back soon, nor fit.
TEST(Sorted, FewOfManyKeysAreLookedAt) {
  const std::uint64_t n = (std::uint64_t{1} << 33) + 5;
  void* const memory = mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no address space for 8 GiB";
  auto* const keys = static_cast<std::uint8_t*>(memory);
  std::fill(keys + n - 3, keys + n, std::uint8_t{200});
  const const_key_span span(key_type::u8, keys, n);
  const std::uint8_t value = 200;
  const key_rank expected{.num_less = n - 3, .num_equal = 3, .num_greater = 0, .num_nans = 0};
  EXPECT_TRUE(rank_of(span, &value, {.order = key_order::ascending}) == expected);
  const summary s = summarize(span, {.with_mean = false, .order = key_order::ascending});
  EXPECT_EQ(s.count, n);
  EXPECT_EQ(s.num_outliers_above, 3u);
  EXPECT_EQ(s.outliers, (std::vector<double>{200, 200, 200}));
  EXPECT_TRUE(std::isnan(s.mean));
  EXPECT_EQ(quantiles(span, some_q, {.method = quantile_method::lower, .order = key_order::ascending}),
            (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 200}));
  munmap(memory, n);
}

TEST(Sorted, TheMeanIsThatOfAnyOtherCall) {
  std::vector<double> keys(200'000);
  generate(as_key_span(std::span(keys)), {distribution_kind::sorted}, seed_for(2));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(summarize(keys, {.order = key_order::ascending}).mean),
            std::bit_cast<std::uint64_t>(summarize(keys).mean));
}

/// Returns what comes of a wrong claim is some key, or lies between keys; with a sanitizer: nothing outside is read.
TEST(Sorted, AWrongClaimDoesNoHarm) {
  random_words random(seed_for(3));
  for (std::uint64_t i = 0; i < num_cases(300); ++i) {
    std::vector<double> keys(1 + random.below(200));
    for (double& k : keys) {
      const std::uint64_t kind = random.below(8);
      k = kind == 0 ? nan : kind == 1 ? infinity : kind == 2 ? -infinity : static_cast<double>(random.below(50));
    }
    const key_order order = i % 2 == 0 ? key_order::ascending : key_order::descending;
    const summary s = summarize(keys, {.nans = nan_policy::omit, .whiskers = {.iqr_factor = 0.1}, .order = order});
    EXPECT_LE(s.outliers.size(), 2 * keys.size());
    for (const double o : s.outliers) {
      EXPECT_TRUE(std::ranges::any_of(keys, [&](double k) { return k == o || (std::isnan(k) && std::isnan(o)); }));
    }
    const key_rank r = rank_of(keys, 25, {.order = order});
    EXPECT_LE(r.num_less, keys.size());
    for (const double value : quantiles(keys, some_q, {.nans = nan_policy::omit, .order = order})) {
      EXPECT_TRUE(std::isnan(value) || std::isinf(value) || (value >= 0 && value < 50)) << value;
    }
  }
}

}  // namespace
}  // namespace spansort::test
