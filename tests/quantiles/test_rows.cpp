// SPDX-License-Identifier: Apache-2.0
// quantiles_rows() against quantiles() of each row alone, which select there: a list of host devices never sorts.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/statistics.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr int num_numpy_methods = 13;
const std::vector<double> some_q{0, 0.1, 0.25, 0.5, 1.0 / 3, 1};

/// Rows of numbers, one of which has some NaN and one nothing else where the type has them.
template <class K>
std::vector<K> make_rows(std::uint64_t num_rows, std::uint64_t length, const distribution& d) {
  std::vector<K> keys(num_rows * length);
  generate(as_key_span(std::span(keys)), d, seed_for(num_rows + length));
  if constexpr (std::is_floating_point_v<K>) {
    const K nan = std::numeric_limits<K>::quiet_NaN();
    for (std::uint64_t i = 0; i < length; i += 3) keys[i] = i % 2 == 0 ? nan : -nan;
    if (num_rows > 2) std::fill_n(keys.begin() + static_cast<std::ptrdiff_t>(length), length, nan);
  }
  return keys;
}

template <class K>
std::vector<double> of_each_alone(const std::vector<K>& keys, std::uint64_t length, const quantile_options& options) {
  std::vector<double> all;
  for (std::uint64_t begin = 0; begin < keys.size(); begin += length) {
    const std::vector<double> of_row = quantiles(std::span(keys).subspan(begin, length), some_q,
                                                 {.method = options.method, .nans = options.nans, .devices = "host:1"});
    all.insert(all.end(), of_row.begin(), of_row.end());
  }
  return all;
}

std::string difference(const std::vector<double>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size()) return "as many quantiles as there are rows are expected";
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool is_same = std::bit_cast<std::uint64_t>(found[i]) == std::bit_cast<std::uint64_t>(expected[i]);
    if (!is_same && !(std::isnan(found[i]) && std::isnan(expected[i]))) {
      return "row " + std::to_string(i / some_q.size()) + ", q " + std::to_string(some_q[i % some_q.size()]) + ": " +
             std::to_string(found[i]) + " and not " + std::to_string(expected[i]);
    }
  }
  return "";
}

template <class K>
void expect_rows_of(const distribution& d) {
  for (const auto& [num_rows, length] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 1}, {1, 100}, {40, 1}, {30, 7}, {60, 13}, {5, 3000}}) {
    const std::vector<K> keys = make_rows<K>(num_rows, length, d);
    for (const nan_policy nans : {nan_policy::propagate, nan_policy::omit}) {
      const std::vector<double> expected = of_each_alone(keys, length, {.nans = nans});
      const std::vector<quantile_options> ways{
          {.nans = nans}, {.nans = nans, .devices = "host:2"}, {.nans = nans, .threads = 1}};
      for (const quantile_options& options : ways) {
        EXPECT_EQ(difference(quantiles_rows(keys, length, some_q, options), expected), "")
            << name(key_traits<K>::type) << ", " << num_rows << " rows of " << length;
      }
    }
  }
}

TEST(QuantilesOfRows, AreThoseOfEachRowAlone) {
  for (const distribution_kind kind :
       {distribution_kind::uniform, distribution_kind::zero, distribution_kind::normal}) {
    expect_rows_of<std::uint8_t>({kind});
    expect_rows_of<std::int16_t>({kind});
    expect_rows_of<std::uint32_t>({kind});
    expect_rows_of<std::int64_t>({kind});
    expect_rows_of<std::uint64_t>({kind});
    expect_rows_of<float>({kind});
    expect_rows_of<double>({kind});
  }
}

TEST(QuantilesOfRows, InterpolateAsAsked) {
  const std::vector<double> keys = make_rows<double>(20, 11, {distribution_kind::normal});
  for (int method = 0; method < num_numpy_methods; ++method) {
    const quantile_options options{.method = static_cast<quantile_method>(method), .nans = nan_policy::omit};
    EXPECT_EQ(difference(quantiles_rows(keys, 11, some_q, options), of_each_alone(keys, 11, options)), "");
  }
}

TEST(QuantilesOfRows, AreReadWhereRowsAreInOrder) {
  std::vector<double> keys = make_rows<double>(50, 20, {distribution_kind::normal});
  const std::vector<double> expected = quantiles_rows(keys, 20, some_q, {.nans = nan_policy::omit});
  for (const bool is_descending : {false, true}) {
    for (auto row = keys.begin(); row != keys.end(); row += 20) {
      std::sort(row, row + 20, [&](double a, double b) {
        if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
        return is_descending ? a > b : a < b;
      });
    }
    const key_order order = is_descending ? key_order::descending : key_order::ascending;
    const std::vector<double> found = quantiles_rows(keys, 20, some_q, {.nans = nan_policy::omit, .order = order});
    EXPECT_EQ(difference(found, expected), "");
  }
}

TEST(QuantilesOfRows, AreThoseOfLongRows) {
  for (const std::uint64_t length : {400'000U, 1'100'000U}) {  // sorted in copies of 8 MiB, and selected from
    const std::vector<double> keys = make_rows<double>(3, length, {distribution_kind::uniform});
    const quantile_options options{.nans = nan_policy::omit};
    EXPECT_EQ(difference(quantiles_rows(keys, length, some_q, options), of_each_alone(keys, length, options)), "");
  }
}

TEST(QuantilesOfRows, LeaveTheKeysAlone) {
  const std::vector<double> keys = make_rows<double>(100, 50, {distribution_kind::normal});
  const std::vector<double> before = keys;
  static_cast<void>(quantiles_rows(keys, 50, some_q));
  EXPECT_EQ(std::memcmp(keys.data(), before.data(), keys.size() * sizeof(double)), 0);
}

TEST(QuantilesOfRows, RefuseWhatCannotBe) {
  const std::vector<float> keys(12, 1.0F);
  const std::vector<float> none;
  EXPECT_THROW(static_cast<void>(quantiles_rows(keys, 5, some_q)), invalid_argument);
  EXPECT_THROW(static_cast<void>(quantiles_rows(keys, 0, some_q)), invalid_argument);
  EXPECT_THROW(static_cast<void>(quantiles_rows(keys, 3, std::vector<double>{1.5})), invalid_argument);
  EXPECT_THROW(static_cast<void>(quantiles_rows(none, 3, std::vector<double>{1.5})), invalid_argument);
  EXPECT_THROW(static_cast<void>(quantiles_rows(keys, 3, some_q, {.devices = "cpux"})), invalid_argument);
  EXPECT_THROW(static_cast<void>(quantiles_rows(keys, 3, some_q, {.threads = 1025})), invalid_argument);
  EXPECT_THROW(static_cast<void>(quantiles_rows(keys, 12, some_q, {.order = key_order::ascending, .threads = 1025})),
               invalid_argument);
  EXPECT_TRUE(quantiles_rows(none, 3, some_q).empty());
  EXPECT_TRUE(quantiles_rows(none, 0, some_q).empty());
  EXPECT_TRUE(quantiles_rows(keys, 3, std::vector<double>{}).empty());
  const std::vector<double> no_q;
  const std::vector<double> with_nan{1, 2, std::numeric_limits<double>::quiet_NaN(), 4};
  for (const char* devices : {"auto", "host:2"}) {
    const quantile_options options{.nans = nan_policy::error, .devices = devices};
    EXPECT_THROW(static_cast<void>(quantiles_rows(with_nan, 2, no_q, options)), bad_input);
    EXPECT_THROW(
        static_cast<void>(quantiles_rows(with_nan, 2, some_q, {.nans = nan_policy::error, .devices = devices})),
        bad_input);
  }
}

}  // namespace
}  // namespace spansort::test
