// SPDX-License-Identifier: Apache-2.0
// quantiles() of keys in host memory, against the definition: sort, look up, interpolate.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/sort.hpp"
#include "spansort/statistics.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
const std::vector<double> quartiles{0, 0.25, 0.5, 0.75, 1};

std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double v : values) bits.push_back(std::bit_cast<std::uint64_t>(v));
  return bits;
}

/// Keys that every type holds exactly.
template <class K>
std::vector<double> numbers_of(const std::vector<K>& keys) {
  return {keys.begin(), keys.end()};
}

template <class K>
void expect_quartiles_of_doubles(std::uint64_t num_keys, const distribution& d) {
  std::vector<K> keys(num_keys);
  generate(as_key_span(std::span(keys)), d, seed_for(num_keys));
  std::vector<double> sorted = numbers_of(keys);
  sort(sorted, {.devices = "cpu"});
  for (const char* devices : {"cpu", "host:3"}) {
    const std::vector<double> found =
        quantiles(keys, quartiles, {.method = quantile_method::lower, .devices = devices});
    ASSERT_EQ(found.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
      const auto rank = static_cast<std::size_t>(quartiles[i] * static_cast<double>(num_keys - 1));
      EXPECT_EQ(found[i], sorted[rank]) << name(key_traits<K>::type) << " on " << devices << ", q = " << quartiles[i];
    }
  }
}

TEST(Quantiles, AreTheSortedKeysWhateverTheType) {
  for (const distribution_kind kind :
       {distribution_kind::uniform, distribution_kind::zero, distribution_kind::normal}) {
    const distribution d{kind};
    expect_quartiles_of_doubles<std::uint8_t>(100'000, d);
    expect_quartiles_of_doubles<std::int16_t>(100'000, d);
    expect_quartiles_of_doubles<std::uint32_t>(100'000, d);
    expect_quartiles_of_doubles<std::int32_t>(100'000, d);
    expect_quartiles_of_doubles<std::uint64_t>(100'000, d);
    expect_quartiles_of_doubles<std::int64_t>(100'000, d);
    expect_quartiles_of_doubles<float>(100'000, d);
    expect_quartiles_of_doubles<double>(100'000, d);
  }
}

TEST(Quantiles, DoNotDependOnTheChunks) {
  for (std::uint64_t n = 1; n <= 64; ++n) {
    std::vector<double> keys(n);
    generate(as_key_span(std::span(keys)), {distribution_kind::normal}, seed_for(n));
    const std::vector<double> q{0, 0.1, 1.0 / 3, 0.5, 0.99, 1};
    const std::vector<double> expected = quantiles(keys, q, {.devices = "cpu"});
    for (int count = 1; count <= 8; ++count) {
      const std::string devices = "host:" + std::to_string(count);
      EXPECT_EQ(bits_of(quantiles(keys, q, {.devices = devices})), bits_of(expected)) << n << " keys on " << devices;
    }
  }
}

TEST(Quantiles, InterpolateAsAsked) {
  const std::vector<double> keys{4, 1, 3, 2};
  const std::vector<double> q{0.25, 0.5};
  EXPECT_EQ(quantiles(keys, q), (std::vector<double>{1.75, 2.5}));
  EXPECT_EQ(quantiles(keys, q, {.method = quantile_method::higher}), (std::vector<double>{2, 3}));
  EXPECT_EQ(quantiles(keys, q, {.method = quantile_method::tukey}), (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(quantiles(keys, q, {.method = quantile_method::weibull}), (std::vector<double>{1.25, 2.5}));
}

TEST(Quantiles, OfSmallFloatsAreExact) {
  // binary16: -inf, -65504, the least subnormal, 1.5, inf.
  const std::vector<float16> halves{{0x3e00}, {0x0001}, {0xfc00}, {0x7c00}, {0xfbff}};
  EXPECT_EQ(quantiles(halves, quartiles), (std::vector<double>{-infinity, -65504, std::ldexp(1, -24), 1.5, infinity}));
  // bfloat16: -2, the least subnormal, the largest number.
  const std::vector<bfloat16> brains{{0x7f7f}, {0xc000}, {0x0001}};
  const std::vector<double> ends_and_middle{0, 0.5, 1};
  EXPECT_EQ(quantiles(brains, ends_and_middle),
            (std::vector<double>{-2, std::ldexp(1, -133), std::ldexp(255.0 / 128, 127)}));
}

TEST(Quantiles, OfExtremesStayInside) {
  const std::vector<std::int64_t> keys{std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()};
  EXPECT_EQ(quantiles(keys, quartiles), (std::vector<double>{-0x1p63, -0x1p62, 0, 0x1p62, 0x1p63}));
}

TEST(Quantiles, FollowThePolicyOnNaN) {
  const std::vector<double> keys{nan, 2, -nan, 1, 3};
  const std::vector<double> q{0, 0.5, 1};
  for (const double value : quantiles(keys, q)) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(quantiles(keys, q, {.nans = nan_policy::omit}), (std::vector<double>{1, 2, 3}));
  EXPECT_THROW(static_cast<void>(quantiles(keys, q, {.nans = nan_policy::error})), bad_input);
  const std::vector<float> nothing_else(100'000, std::numeric_limits<float>::quiet_NaN());
  for (const double value : quantiles(nothing_else, q, {.nans = nan_policy::omit})) EXPECT_TRUE(std::isnan(value));
}

/// The ends alone are found without a sort, and are what they are among other quantiles.
TEST(Quantiles, OfTheEndsAloneAreThoseAmongOthers) {
  const std::vector<double> ends{1, 0, 1};
  const std::vector<double> more{1, 0.5, 0};
  for (const key_type type : all_key_types()) {
    for (const std::uint64_t n : {1U, 2U, 1000U, 65'536U, 65'537U}) {
      const std::vector<std::byte> keys = make_keys(type, n, {distribution_kind::special_floats}, seed_for(n));
      const const_key_span span(type, keys.data(), n);
      for (const quantile_method method :
           {quantile_method::linear, quantile_method::nearest, quantile_method::closest_observation,
            quantile_method::averaged_inverted_cdf, quantile_method::weibull, quantile_method::tukey}) {
        for (const nan_policy nans : {nan_policy::omit, nan_policy::propagate}) {
          const std::vector<double> expected = quantiles(span, more, {.method = method, .nans = nans});
          EXPECT_EQ(bits_of(quantiles(span, ends, {.method = method, .nans = nans})),
                    bits_of({expected[0], expected[2], expected[0]}))
              << name(type) << ", " << n << " keys";
        }
      }
    }
  }
  const std::vector<double> zeros{0.0, -0.0, 0.0};
  EXPECT_TRUE(std::signbit(quantiles(zeros, {0, 1}, {.method = quantile_method::lower}).front()));
  EXPECT_FALSE(std::signbit(quantiles(zeros, {0, 1}, {.method = quantile_method::lower}).back()));
  EXPECT_FALSE(std::signbit(quantiles(zeros, {0, 1}).front()));  // as NumPy's arithmetic has it
  const std::vector<double> nothing(9, nan);
  EXPECT_TRUE(std::isnan(quantiles(nothing, {0, 1}, {.nans = nan_policy::omit}).back()));
  EXPECT_THROW(static_cast<void>(quantiles(nothing, {0, 1}, {.nans = nan_policy::error})), bad_input);
}

TEST(Quantiles, LeaveOutNaNsOfLargeInputs) {
  std::vector<float> keys(300'000);
  generate(as_key_span(std::span(keys)), {distribution_kind::uniform}, seed_for(1));
  for (std::size_t i = 0; i < keys.size(); i += 7) keys[i] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> numbers;
  for (const float k : keys) {
    if (!std::isnan(k)) numbers.push_back(k);
  }
  EXPECT_EQ(bits_of(quantiles(keys, quartiles, {.nans = nan_policy::omit, .devices = "host:2"})),
            bits_of(quantiles(numbers, quartiles)));
}

TEST(Quantiles, RefuseWhatCannotBe) {
  const std::vector<double> none;
  const std::vector<double> keys{1, 2};
  EXPECT_THROW(static_cast<void>(quantiles(none, quartiles)), bad_input);
  EXPECT_THROW(static_cast<void>(quantiles(none, none)), bad_input);
  for (const double q : {-0.1, 1.1, nan}) {
    EXPECT_THROW(static_cast<void>(quantiles(keys, std::vector<double>{q})), invalid_argument);
  }
  EXPECT_THROW(static_cast<void>(quantiles(keys, quartiles, {.devices = "cpux"})), invalid_argument);
  EXPECT_THROW(static_cast<void>(quantiles(keys, std::vector<double>{0.3}, {.method = quantile_method::tukey})),
               invalid_argument);
}

TEST(Quantiles, DoNotChangeTheKeys) {
  std::vector<std::uint32_t> keys(200'000);
  generate(as_key_span(std::span(keys)), {distribution_kind::zipf, 1}, seed_for(2));
  const std::vector<std::uint32_t> before = keys;
  static_cast<void>(quantiles(keys, quartiles));
  EXPECT_EQ(keys, before);
}

TEST(Quantiles, OneSeveralInBracesAndTheMedian) {
  const std::vector<int> keys{4, 1, 3, 2};
  const const_key_span span = as_const_key_span(std::span(keys));
  EXPECT_EQ(spansort::quantiles(keys, {0, 0.5, 1}), (std::vector<double>{1, 2.5, 4}));
  EXPECT_EQ(spansort::quantiles(span, {0.5}), std::vector<double>{2.5});
  EXPECT_EQ(spansort::quantile(keys, 0.25), 1.75);
  EXPECT_EQ(spansort::quantile(span, 1), 4);
  EXPECT_EQ(spansort::median(keys), 2.5);
  EXPECT_EQ(spansort::median(span, {.method = quantile_method::lower}), 2);
  EXPECT_THROW(static_cast<void>(spansort::median(std::vector<int>{})), bad_input);
}

}  // namespace
}  // namespace spansort::test
