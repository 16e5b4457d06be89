// SPDX-License-Identifier: Apache-2.0
// The free functions as a user calls them: ranges of every kind, index types, what argsort leaves alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/generate.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

static_assert(radix_key<bool>);
static_assert(!radix_key<long double>);
static_assert(radix_key<char> && radix_key<long long> && radix_key<const float>);
static_assert(!sort_index<bool> && !sort_index<std::int16_t>);

TEST(Api, SortsVectorsArraysAndSpans) {
  std::vector<int> vector{3, -1, 2};
  spansort::sort(vector);
  EXPECT_EQ(vector, (std::vector<int>{-1, 2, 3}));

  std::vector<unsigned char> bytes{9, 7, 5, 1};
  spansort::sort(std::span(bytes).subspan(1));
  EXPECT_EQ(bytes, (std::vector<unsigned char>{9, 1, 5, 7}));

  std::vector<char> text{'c', 'a', 'b'};
  spansort::sort(text);
  EXPECT_EQ(text, (std::vector<char>{'a', 'b', 'c'}));
}

template <class Span>
concept has_key_span = requires(Span keys) {
  as_key_span(keys);
};

/// A template, so that a library that does not take fixed extents fails here and not in the compiler.
template <class Array>
void expect_fixed_extent_sorts(Array keys) {
  if constexpr (has_key_span<decltype(std::span(keys))>) {
    spansort::sort(keys, direction::descending);
    EXPECT_EQ(keys[0], 2.5);
    EXPECT_FALSE(std::signbit(keys[1]));
    EXPECT_TRUE(std::signbit(keys[2]));
    EXPECT_EQ(keys[3], -HUGE_VAL);
  } else {
    ADD_FAILURE() << "as_key_span() does not take spans of fixed extent, so sort() does not take std::array";
  }
}

TEST(Api, SortsStdArray) { expect_fixed_extent_sorts(std::array<double, 4>{2.5, -0.0, -HUGE_VAL, 0.0}); }

TEST(Api, SortsSixteenBitFloats) {
  std::vector<float16> half{{0x3c00}, {0x8000}, {0xfc00}, {0x0000}, {0x7e00}};
  spansort::sort(half);
  EXPECT_EQ(half, (std::vector<float16>{{0xfc00}, {0x8000}, {0x0000}, {0x3c00}, {0x7e00}}));
  std::vector<bfloat16> brain{{0x3f80}, {0xffc0}, {0xbf80}};
  spansort::sort(brain, direction::descending);
  EXPECT_EQ(brain, (std::vector<bfloat16>{{0x3f80}, {0xbf80}, {0xffc0}}));
}

TEST(Api, SortPairsMovesValuesAndKeepsTiesInOrder) {
  std::vector<std::uint32_t> keys{2, 1, 2, 1};
  std::vector<std::string_view> values{"a", "b", "c", "d"};
  spansort::sort_pairs(keys, values);
  EXPECT_EQ(keys, (std::vector<std::uint32_t>{1, 1, 2, 2}));
  EXPECT_EQ(values, (std::vector<std::string_view>{"b", "d", "a", "c"}));
  spansort::sort_pairs(keys, values, direction::descending);
  EXPECT_EQ(values, (std::vector<std::string_view>{"a", "c", "b", "d"}));
}

TEST(Api, SignedZerosAndNansTieInPairs) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool descending : {false, true}) {
    std::vector<double> keys{nan, 0.0, -nan, -0.0, nan, 0.0};
    const std::vector<double> before = keys;
    std::vector<int> values{0, 1, 2, 3, 4, 5};
    spansort::sort_pairs(keys, values, keys::direction_of(descending));
    EXPECT_EQ(values, (std::vector<int>{1, 3, 5, 0, 2, 4}));
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_EQ(std::memcmp(&keys[i], &before[static_cast<std::size_t>(values[i])], 8), 0) << i;
  }
}

TEST(Api, ArgsortWritesEveryIndexTypeAndLeavesKeysAlone) {
  const std::vector<float> keys{2.5f, -1, 2.5f, 0};
  const std::vector<float> before = keys;
  const std::vector<int> expected{1, 3, 0, 2};
  std::vector<std::uint32_t> u32(4);
  std::vector<std::int32_t> i32(4);
  std::vector<std::uint64_t> u64(4);
  std::vector<std::int64_t> i64(4);
  spansort::argsort(keys, u32);
  spansort::argsort(keys, i32);
  spansort::argsort(keys, u64);
  spansort::argsort(keys, i64);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(u32[i], static_cast<std::uint32_t>(expected[i]));
    EXPECT_EQ(i32[i], expected[i]);
    EXPECT_EQ(u64[i], static_cast<std::uint64_t>(expected[i]));
    EXPECT_EQ(i64[i], expected[i]);
  }
  EXPECT_EQ(spansort::argsort(keys), (std::vector<std::uint64_t>{1, 3, 0, 2}));
  EXPECT_EQ(spansort::argsort(keys, direction::descending), (std::vector<std::uint64_t>{0, 2, 3, 1}));
  EXPECT_EQ(keys, before);
}

TEST(Api, TakesIterators) {
  std::vector<int> keys{9, 3, -1, 2};
  spansort::sort(keys.begin() + 1, keys.end());
  EXPECT_EQ(keys, (std::vector<int>{9, -1, 2, 3}));
  spansort::sort(keys.data(), keys.data() + 3, direction::descending);
  EXPECT_EQ(keys, (std::vector<int>{9, 2, -1, 3}));
  EXPECT_FALSE(spansort::is_sorted(keys.cbegin(), keys.cend()));
  EXPECT_TRUE(spansort::is_sorted(keys.cbegin(), keys.cbegin() + 3, direction::descending));
  std::vector<char> values{'a', 'b', 'c', 'd'};
  spansort::sort_pairs(keys.begin(), keys.end(), values.begin());
  EXPECT_EQ(values, (std::vector<char>{'c', 'b', 'd', 'a'}));
  std::array<std::uint32_t, 4> indices{};
  spansort::argsort(keys.cbegin(), keys.cend(), indices.begin(), direction::descending);
  EXPECT_EQ(indices, (std::array<std::uint32_t, 4>{3, 2, 1, 0}));
}

TEST(Api, FreeFunctionsTakeKeysOfARunTimeType) {
  std::array<float, 3> keys{2, 1, 3};
  const key_span span = as_key_span(std::span(keys));
  std::array<std::uint32_t, 3> indices{};
  spansort::argsort(span, indices.data(), 4, direction::descending);
  EXPECT_EQ(indices, (std::array<std::uint32_t, 3>{2, 0, 1}));
  spansort::sort_pairs(span, indices.data(), 4, {.devices = "cpu"});
  EXPECT_EQ(indices, (std::array<std::uint32_t, 3>{0, 2, 1}));
  EXPECT_TRUE(spansort::is_sorted(span));
  spansort::sort(span, direction::descending);
  EXPECT_EQ(keys, (std::array<float, 3>{3, 2, 1}));
  EXPECT_TRUE(spansort::is_sorted(span, direction::descending));
  spansort::sort(span);
  EXPECT_EQ(keys, (std::array<float, 3>{1, 2, 3}));
}

enum class grade : std::int8_t { worst = -1, middle = 0, best = 1 };

#ifdef __CUDA_FP16_TYPES_EXIST__
#error "no CUDA header is meant to be here"
#endif
static_assert(key_traits<__half>::type == key_type::f16 && key_traits<__nv_bfloat16>::type == key_type::bf16);

TEST(Api, SortsBoolsEnumerationsAndTimes) {
  std::array<bool, 4> bools{true, false, true, false};
  spansort::sort(bools);
  EXPECT_EQ(bools, (std::array<bool, 4>{false, false, true, true}));
  std::vector<grade> grades{grade::best, grade::worst, grade::middle};
  spansort::sort(grades);
  EXPECT_EQ(grades, (std::vector<grade>{grade::worst, grade::middle, grade::best}));
  std::vector<std::byte> bytes{std::byte{200}, std::byte{3}};
  spansort::sort(bytes);
  EXPECT_EQ(bytes[0], std::byte{3});
  std::vector<std::chrono::sys_seconds> times{std::chrono::sys_seconds{std::chrono::seconds{5}}, {}};
  spansort::sort(times);
  EXPECT_EQ(times[0], std::chrono::sys_seconds{});
  std::vector<std::chrono::duration<float>> lengths{std::chrono::seconds{2}, std::chrono::seconds{-1}};
  spansort::sort(lengths, direction::descending);
  EXPECT_EQ(lengths[0], std::chrono::seconds{2});
}

TEST(Api, EmptyInputsAreFine) {
  std::vector<int> none;
  spansort::sort(none);
  std::vector<double> no_values;
  spansort::sort_pairs(none, no_values);
  EXPECT_TRUE(spansort::argsort(none).empty());
  EXPECT_TRUE(spansort::is_sorted(none));
  sorter s;
  s.sort(key_span{key_type::f64, nullptr, 0});
  s.sort_pairs(key_span{key_type::f64, nullptr, 0}, nullptr, 8);
  s.argsort(const_key_span{key_type::f64, nullptr, 0}, nullptr, 4);
}

TEST(Api, IsSortedAgreesWithTheSort) {
  for (const key_type type : all_key_types()) {
    for (const direction d : {direction::ascending, direction::descending}) {
      auto keys = make_keys(type, 5000, {distribution_kind::special_floats}, seed_for(1));
      const key_span span{type, keys.data(), 5000};
      EXPECT_FALSE(detail::is_sorted(span, d)) << name(type);
      sorter().sort(span, d);
      EXPECT_TRUE(detail::is_sorted(span, d)) << name(type);
      EXPECT_FALSE(detail::is_sorted(span, d == direction::ascending ? direction::descending : direction::ascending))
          << name(type);
    }
  }
}

TEST(Api, AgreesWithTheStandardLibraryOnIntegers) {
  std::vector<std::uint64_t> keys(200'000);
  generate(as_key_span(std::span(keys)), {distribution_kind::uniform}, seed_for(1));
  std::vector<std::uint64_t> expected = keys;
  std::sort(expected.begin(), expected.end(), std::greater<>());
  spansort::sort(keys, direction::descending);
  EXPECT_EQ(keys, expected);
}

TEST(Api, TwoRunsGiveTheSameBytes) {
  const auto input = make_keys(key_type::f32, 30'000, {distribution_kind::special_floats}, seed_for(3));
  const auto sorted_by = [&](const char* devices) {
    auto keys = input;
    sorter(sort_options{.devices = devices}).sort(key_span{key_type::f32, keys.data(), 30'000});
    return keys;
  };
  const auto expected = sorted_by("cpu");
  for (int repeat = 0; repeat < (is_small_scale() ? 3 : 30); ++repeat) {
    for (const char* devices : {"cpu", "host:2", "host:5", "auto"}) ASSERT_EQ(sorted_by(devices), expected) << devices;
  }
}

}  // namespace
}  // namespace spansort::test
