// SPDX-License-Identifier: Apache-2.0
// These tests are of what must hold for every quantile of every data: monotone in q, within the data, ranks in range.
// Data of all sizes of numbers, infinities among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "of_sorted.hpp"
#include "statistics/interpolate.hpp"
#include "support/environment.hpp"

namespace spansort::statistics::test {
namespace {

using spansort::test::num_cases;
using spansort::test::random_words;
using spansort::test::seed_for;

constexpr double largest = std::numeric_limits<double>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double least = std::numeric_limits<double>::denorm_min();
constexpr int num_numpy_methods = 13;

double uniform(random_words& random) { return std::ldexp(static_cast<double>(random() >> 11), -53); }

/// Any finite double, an extreme, or one of a few near 1.
double random_key(random_words& random, std::uint64_t kind) {
  constexpr std::array<double, 12> extremes{-infinity, -largest, -largest / 2, -1,      -least,  -0.0, 0.0,
                                            least,     1,        largest / 2,  largest, infinity};
  if (kind == 0) return extremes[random.below(extremes.size())];
  if (kind == 1) return 1 + static_cast<double>(random.below(6)) * std::numeric_limits<double>::epsilon();
  if (kind == 2) return extremes[1 + random.below(extremes.size() - 2)];
  if (kind == 3) return static_cast<double>(random.below(9)) * least;
  const double value = std::ldexp(uniform(random) - 0.5, static_cast<int>(random.below(2000)) - 1000);
  return kind == 4 ? value : uniform(random);
}

std::vector<double> random_data(random_words& random) {
  const std::uint64_t kind = random.below(6);
  std::vector<double> data(1 + random.below(random.below(4) == 0 ? 100 : 8));
  for (double& key : data) key = random_key(random, kind);
  std::sort(data.begin(), data.end());
  return data;
}

double random_q(random_words& random, std::uint64_t num_keys) {
  switch (random.below(5)) {
    case 0: return uniform(random);
    case 1: return static_cast<double>(random.below(num_keys + 1)) / static_cast<double>(num_keys);
    case 2: return 1 - std::ldexp(uniform(random), -static_cast<int>(random.below(60)));
    case 3: return std::ldexp(uniform(random), -static_cast<int>(random.below(1070)));
    default: return std::nextafter(0.25 * static_cast<double>(random.below(5)), random.below(2) == 0 ? 0.0 : 1.0);
  }
}

template <class Body>
void for_each_case(const Body& body) {
  const std::uint64_t count = num_cases(20000);
  for (std::uint64_t i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i) + " of SPANSORT_TEST_SEED=" + std::to_string(spansort::test::base_seed()));
    random_words random(seed_for(i));
    body(random);
  }
}

TEST(QuantileProperties, MonotoneInQAndWithinTheData) {
  for_each_case([](random_words& random) {
    const std::vector<double> data = random_data(random);
    std::array<double, 8> qs{0, 1};
    for (std::size_t i = 2; i < qs.size(); i += 2) {
      qs[i] = random_q(random, data.size());
      qs[i + 1] = std::nextafter(qs[i], 1.0);  // neighbours are where rounding would show
    }
    std::sort(qs.begin(), qs.end());
    for (int m = 0; m < num_numpy_methods; ++m) {
      double before = data.front();
      for (const double q : qs) {
        const double result = quantile_of_sorted(data, q, quantile_method(m));
        ASSERT_GE(result, before) << name(quantile_method(m)) << std::hexfloat << " q = " << q;
        ASSERT_LE(result, data.back()) << name(quantile_method(m)) << std::hexfloat << " q = " << q;
        before = result;
      }
      ASSERT_EQ(before, data.back()) << name(quantile_method(m)) << " at q = 1";
    }
  });
}

TEST(QuantileProperties, ConstantDataGivesItself) {
  for_each_case([](random_words& random) {
    const std::vector<double> data(1 + random.below(50), random_key(random, random.below(6)));
    const double q = random_q(random, data.size());
    for (int m = 0; m < num_numpy_methods; ++m) {
      ASSERT_EQ(quantile_of_sorted(data, q, quantile_method(m)), data[0]) << name(quantile_method(m));
    }
  });
}

TEST(QuantileProperties, RanksAreInRangeAndMonotoneForEveryCount) {
  for_each_case([](random_words& random) {
    const std::uint64_t n = std::max<std::uint64_t>(1, random() >> random.below(64));
    const double q = random_q(random, n);
    const double next_q = std::nextafter(q, 1.0);
    for (int m = 0; m < num_numpy_methods; ++m) {
      const quantile_position at = position_of(n, q, quantile_method(m));
      const quantile_position next = position_of(n, next_q, quantile_method(m));
      ASSERT_LE(at.upper_rank, n - 1);
      ASSERT_LE(at.upper_rank - at.lower_rank, 1U);
      ASSERT_TRUE(at.weight >= 0 && at.weight <= 1) << at.weight;
      ASSERT_LE(at.lower_rank, next.lower_rank) << name(quantile_method(m)) << " n = " << n << std::hexfloat << q;
      ASSERT_LE(at.upper_rank, next.upper_rank) << name(quantile_method(m)) << " n = " << n << std::hexfloat << q;
      const bool same_cell = at.lower_rank == next.lower_rank && at.upper_rank == next.upper_rank;
      if (same_cell && at.lower_rank != at.upper_rank) {
        ASSERT_LE(at.weight, next.weight);
      }
    }
  });
}

TEST(Interpolate, IsMonotoneInTheWeightAndBetweenTheEnds) {
  for_each_case([](random_words& random) {
    const std::uint64_t kind = random.below(6);
    const auto [lower, upper] = std::minmax({random_key(random, kind), random_key(random, kind)});
    std::array<double, 7> weights{0, std::nextafter(0.5, 0.0), 0.5, 1};
    weights[4] = uniform(random);
    weights[5] = std::nextafter(weights[4], 1.0);
    weights[6] = random_q(random, 10);
    std::sort(weights.begin(), weights.end());
    double before = lower;
    for (const double weight : weights) {
      const double result = interpolate(lower, upper, weight);
      ASSERT_GE(result, before) << std::hexfloat << lower << ' ' << upper << ' ' << weight;
      ASSERT_LE(result, upper) << std::hexfloat << lower << ' ' << upper << ' ' << weight;
      before = result;
    }
    ASSERT_EQ(interpolate(lower, upper, 0), lower);
    ASSERT_EQ(before, upper);
    const double mean = mean_of_two(lower, upper);
    ASSERT_TRUE(mean >= lower && mean <= upper) << std::hexfloat << lower << ' ' << upper << ' ' << mean;
  });
}

TEST(Interpolate, NeverSubtractsInfinities) {
  EXPECT_EQ(interpolate(infinity, infinity, 0.3), infinity);
  EXPECT_EQ(interpolate(-infinity, -infinity, 0.7), -infinity);
  EXPECT_EQ(interpolate(1, infinity, 0), 1);
  EXPECT_EQ(interpolate(1, infinity, 0.7), infinity);
  EXPECT_EQ(interpolate(-infinity, 1, 0.7), -infinity);
  EXPECT_EQ(interpolate(-infinity, infinity, 0.4), -infinity);
  EXPECT_EQ(interpolate(-infinity, infinity, 0.5), 0);
  EXPECT_EQ(interpolate(-infinity, infinity, 0.6), infinity);
  EXPECT_EQ(mean_of_two(-infinity, infinity), 0);
  EXPECT_EQ(mean_of_two(infinity, infinity), infinity);
}

TEST(Interpolate, NeverOverflows) {
  EXPECT_EQ(interpolate(-largest, largest, 0.5), 0);
  EXPECT_EQ(interpolate(-largest, largest, 0.25), -largest / 2);
  EXPECT_EQ(interpolate(-largest, largest, 0.75), largest / 2);
  EXPECT_EQ(interpolate(largest, largest, 0.5), largest);
  EXPECT_EQ(mean_of_two(largest, largest), largest);
  EXPECT_EQ(mean_of_two(-largest, largest), 0);
  EXPECT_EQ(mean_of_two(least, least), least);
}

}  // namespace
}  // namespace spansort::statistics::test
