// SPDX-License-Identifier: Apache-2.0
// check(): order, duplicates, first disorder, against the oracle's comparators; and is_sorted().
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/check.hpp"
#include "spansort/generate.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"

namespace spansort {
namespace {

/// check() one key after the other, from the comparators of the oracle.
check_result slow_check(const_key_span keys, const check_options& options) {
  check_result result;
  result.num_keys = keys.num_keys;
  const auto* bytes = static_cast<const std::byte*>(keys.data);
  const std::size_t key_bytes = size_bytes(keys.type);
  for (std::uint64_t i = 1; i < keys.num_keys; ++i) {
    const std::byte* left = bytes + (i - 1) * key_bytes;
    const std::byte* here = bytes + i * key_bytes;
    const bool falls = test::precedes_in_value(keys.type, keys::is_descending(options.direction), here, left);
    const bool equal =
        !falls && !test::precedes_in_value(keys.type, keys::is_descending(options.direction), left, here);
    result.num_duplicates += equal;
    if (falls) result.is_in_order = false;
    if ((falls || (options.unique && equal)) && !result.first_disorder) result.first_disorder = i;
  }
  return result;
}

void expect_same(const const_key_span& keys, const check_options& options) {
  const check_result expected = slow_check(keys, options);
  const check_result found = check(keys, options);
  EXPECT_EQ(found.num_keys, expected.num_keys);
  EXPECT_EQ(found.num_duplicates, expected.num_duplicates);
  EXPECT_EQ(found.first_disorder, expected.first_disorder);
  EXPECT_EQ(found.is_in_order, expected.is_in_order);
  if (options.unique) return;
  EXPECT_EQ(detail::is_sorted(keys, options.direction), !expected.first_disorder);
}

class check_test : public testing::TestWithParam<key_type> {};

TEST_P(check_test, AgreesWithComparatorsOnEveryDistribution) {
  std::uint64_t seed = 0;
  for (const distribution& d : all_distributions()) {
    for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3},
                                  std::uint64_t{1000}, std::uint64_t{40'000}}) {
      const auto keys = test::make_keys(GetParam(), n, d, test::seed_for(++seed));
      for (const bool descending : {false, true}) {
        for (const bool unique : {false, true}) {
          SCOPED_TRACE(to_string(d) + " n " + std::to_string(n) + (descending ? " descending" : "") +
                       (unique ? " unique" : ""));
          expect_same(const_key_span(GetParam(), keys.data(), n), {keys::direction_of(descending), unique});
        }
      }
    }
  }
}

TEST_P(check_test, SortedKeysPassAndOneDisorderIsFoundWhereverItIs) {
  constexpr std::uint64_t n = 100'000;
  const std::size_t key_bytes = size_bytes(GetParam());
  for (const bool descending : {false, true}) {
    const distribution d{descending ? distribution_kind::reverse : distribution_kind::sorted};
    auto keys = test::make_keys(GetParam(), n, d, test::seed_for(2));
    const const_key_span span(GetParam(), keys.data(), n);
    EXPECT_EQ(check(span, {.direction = keys::direction_of(descending)}).first_disorder, std::nullopt);
    EXPECT_TRUE(detail::is_sorted(span, keys::direction_of(descending)));
    constexpr std::uint64_t block = 1 << 14;  // that one thread reads
    for (const std::uint64_t place : {std::uint64_t{1}, block - 1, block, block + 1, n / 3, n / 2, n - 1}) {
      auto broken = keys;
      std::copy_n(keys.data(), key_bytes, broken.data() + place * key_bytes);  // the first key, out of place
      const const_key_span broken_span(GetParam(), broken.data(), n);
      const auto expected = slow_check(broken_span, {.direction = keys::direction_of(descending)}).first_disorder;
      EXPECT_EQ(check(broken_span, {.direction = keys::direction_of(descending)}).first_disorder, expected);
      EXPECT_EQ(detail::is_sorted(broken_span, keys::direction_of(descending)), !expected);
    }
  }
}

TEST_P(check_test, FirstOfManyDisordersIsTheSmallestIndex) {
  constexpr std::uint64_t n = 300'000;
  const std::size_t key_bytes = size_bytes(GetParam());
  auto keys = test::make_keys(GetParam(), n, {distribution_kind::sorted}, test::seed_for(3));
  test::random_words random(test::seed_for(4));
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t from = random.below(n / 4);
    const std::uint64_t to = n / 2 + random.below(n / 2);
    std::copy_n(keys.data() + from * key_bytes, key_bytes, keys.data() + to * key_bytes);
  }
  const const_key_span span(GetParam(), keys.data(), n);
  const auto expected = slow_check(span, {}).first_disorder;
  ASSERT_TRUE(expected);
  for (int repeat = 0; repeat < 20; ++repeat) ASSERT_EQ(check(span).first_disorder, expected);
}

INSTANTIATE_TEST_SUITE_P(Types, check_test, testing::ValuesIn(test::all_key_types()),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(Check, ZerosAndNansOfEverySignAreDuplicates) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> keys{-1, 0.0, -0.0, 0.0, 2, nan, -nan, nan};
  const check_result result = check(as_const_key_span(std::span(keys)));
  EXPECT_EQ(result.first_disorder, std::nullopt);
  EXPECT_EQ(result.num_duplicates, 4u);
  EXPECT_EQ(check(as_const_key_span(std::span(keys)), {.unique = true}).first_disorder, 2u);
}

TEST(Check, NanIsLastAscendingAndDescending) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(is_sorted(std::vector<float>{1, 2, HUGE_VALF, -nan}));
  EXPECT_TRUE(is_sorted(std::vector<float>{2, 1, -HUGE_VALF, nan}, direction::descending));
  EXPECT_FALSE(is_sorted(std::vector<float>{1, nan, 2}));
  EXPECT_FALSE(is_sorted(std::vector<float>{nan, 1}, direction::descending));
}

TEST(Check, KeysOfOneValueAreInOrderWhateverTheirBits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const direction d : {direction::ascending, direction::descending}) {
    EXPECT_TRUE(is_sorted(std::vector<double>{0.0, -0.0, 0.0, -0.0, nan, -nan, nan}, d));
    EXPECT_TRUE(is_sorted(std::vector<float>(100'000, -0.0F), d));
  }
}

TEST(Check, EmptyAndSingleInputsAreSorted) {
  EXPECT_TRUE(is_sorted(std::vector<int>{}));
  EXPECT_TRUE(is_sorted(std::vector<int>{5}, direction::descending));
  const check_result result = check(const_key_span(key_type::u32, nullptr, 0));
  EXPECT_EQ(result.num_keys, 0u);
  EXPECT_EQ(result.checksum, multiset_checksum{});
}

}  // namespace
}  // namespace spansort
