// SPDX-License-Identifier: Apache-2.0
// top_k(), bottom_k() and their indices are what sort() and argsort() put first, byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "keys/codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/sort.hpp"
#include "spansort/top_k.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The first k of a stable sort of the input, by the oracle.
struct expected_firsts {
  std::vector<std::byte> keys;
  std::vector<std::uint64_t> indices;
};

std::uint64_t num_nans(key_type type, const std::vector<std::byte>& keys) {
  if (type != key_type::f32 && type != key_type::f64 && type != key_type::f16 && type != key_type::bf16) return 0;
  std::uint64_t count = 0;
  const std::size_t width = size_bytes(type);
  const unsigned mantissa = type == key_type::f64 ? 52 : type == key_type::f32 ? 23 : type == key_type::f16 ? 10 : 7;
  const std::uint64_t magnitude = (std::uint64_t{1} << (width * 8 - 1)) - 1;
  const std::uint64_t infinity = magnitude >> mantissa << mantissa;
  for (std::size_t i = 0; i < keys.size(); i += width) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, keys.data() + i, width);
    count += (bits & magnitude) > infinity ? 1 : 0;
  }
  return count;
}

/// Every way to ask for the first `k` of `keys`.
void expect_firsts(key_type type, const std::vector<std::byte>& keys, std::uint64_t k, bool descending,
                   const top_options& options) {
  const std::size_t width = size_bytes(type);
  const std::uint64_t n = keys.size() / width;
  const std::uint64_t there = options.nans == nan_policy::omit ? n - num_nans(type, keys) : n;
  const std::uint64_t count = std::min(k, there);
  const oracle expected(const_key_span(type, keys.data(), n), descending);
  const const_key_span span(type, keys.data(), n);
  const std::vector<std::byte> found = descending ? top_k(span, k, options) : bottom_k(span, k, options);
  ASSERT_EQ(found.size(), count * width);
  EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.keys_alone().begin()));
  const std::vector<std::uint64_t> positions =
      descending ? top_k_indices(span, k, options) : bottom_k_indices(span, k, options);
  ASSERT_EQ(positions.size(), count);
  EXPECT_TRUE(std::equal(positions.begin(), positions.end(), expected.order().begin()));
}

TEST(TopK, EveryFewOverEverySplit) {
  std::uint64_t number = 0;
  for (std::uint64_t n = 0; n <= (is_small_scale() ? 20U : 64U); ++n) {
    const key_type type = all_key_types()[++number % 12];
    const std::vector<std::byte> keys =
        make_keys(type, n, {n % 2 == 0 ? distribution_kind::uniform : distribution_kind::entropy, 4}, seed_for(n));
    for (unsigned count = 1; count <= 8; ++count) {
      SCOPED_TRACE(std::to_string(n) + " keys on " + std::to_string(count) + " devices");
      const std::string devices = "host:" + std::to_string(count);
      const bool has_own_memory = (n + count) % 3 == 0;
      const std::vector<std::uint64_t> ks{0, 1, n / 3, n, n + 5};
      const std::uint64_t k = ks[(n + count) % ks.size()];
      const base::test_hooks_scope hooks({.host_separate_memory = has_own_memory});
      expect_firsts(type, keys, k, (n / 2 + count) % 2 == 0, {.devices = devices});
    }
  }
}

TEST(TopK, EveryTypeAndDistribution) {
  const std::uint64_t n = is_small_scale() ? 70'000 : 140'000;
  std::uint64_t number = 0;
  for (const key_type type : varied_key_types()) {
    for (const distribution& d : all_distributions()) {
      SCOPED_TRACE(std::string(name(type)) + " " + to_string(d));
      ++number;
      if (is_small_scale() && (number / all_distributions().size() + number / 2) % 2 == 0) continue;
      const std::vector<std::byte> keys = make_keys(type, n, d, seed_for(number));
      const std::uint64_t k = number % 3 == 0 ? n / 2 : number % 3 == 1 ? 10 : n - 7;
      expect_firsts(type, keys, k, number % 2 == 0,
                    {.nans = number % 5 < 2 ? nan_policy::omit : nan_policy::propagate,
                     .devices = number % 4 == 0 ? "host:3" : "auto"});
    }
  }
}

/// Sorted data, in either direction, asked for both ends.
TEST(TopK, OfKeysInOrder) {
  std::uint64_t number = 0;
  for (const key_type type : {key_type::f64, key_type::f16, key_type::i32, key_type::u8}) {
    for (const std::uint64_t n : {0U, 1U, 2U, 63U, 5000U}) {
      for (const bool is_descending : {false, true}) {
        ++number;
        std::vector<std::byte> keys =
            make_keys(type, n, {number % 2 == 0 ? distribution_kind::special_floats : distribution_kind::entropy, 3},
                      seed_for(number));
        sorter().sort({type, keys.data(), n}, keys::direction_of(is_descending));
        const key_order order = is_descending ? key_order::descending : key_order::ascending;
        for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{1}, n / 2, n + 1}) {
          for (const bool largest : {false, true}) {
            SCOPED_TRACE(std::string(name(type)) + ", " + std::to_string(n) + " keys, k = " + std::to_string(k));
            expect_firsts(type, keys, k, largest, {.nans = nan_policy::omit, .order = order});
            expect_firsts(type, keys, k, largest, {.nans = nan_policy::propagate, .order = order});
          }
        }
      }
    }
  }
}

/// Keys of which a fifth are NaN or zeros of either sign.
std::vector<double> make_keys_with_ties(std::uint64_t n, random_words& random) {
  std::vector<double> keys(n);
  for (double& k : keys) {
    constexpr std::array<double, 4> specials{nan, -nan, 0.0, -0.0};
    k = random.below(5) == 0 ? specials[random.below(4)] : static_cast<double>(random()) - 0x1p63;
  }
  return keys;
}

/// Sizes about those from which a sample is taken, other threads help, and not all keys may be sorted.
TEST(TopK, OfFewKeysByEveryWay) {
  random_words random(seed_for(11));
  std::uint64_t number = 0;
  for (const std::uint64_t n : {1U, 1023U, 1024U, 1025U, 65'535U, 65'536U, 65'537U, 131'072U, 131'073U}) {
    std::vector<std::vector<double>> inputs{make_keys_with_ties(n, random), std::vector<double>(n, -0.0),
                                            std::vector<double>(n, nan)};
    inputs.push_back(inputs.front());
    sorter().sort(inputs.back());
    for (const std::vector<double>& input : inputs) {
      std::vector<std::byte> keys(n * sizeof(double));
      std::memcpy(keys.data(), input.data(), keys.size());
      for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{1}, n / 40, n / 6, n / 2, n - 1, n, n + 1}) {
        ++number;
        if (n > 1025 && number % 3 != 0) continue;
        SCOPED_TRACE(std::to_string(n) + " keys, k = " + std::to_string(k));
        expect_firsts(key_type::f64, keys, k, number % 2 == 0,
                      {.nans = number / 2 % 2 == 0 ? nan_policy::omit : nan_policy::propagate});
      }
    }
  }
}

/// Keys that are sampled are unlike all others, so that the sample says nothing true of them.
TEST(TopK, OfKeysThatAreUnlikeTheirSample) {
  for (const std::uint64_t n : {std::uint64_t{1} << 16, std::uint64_t{1} << 18}) {
    const std::uint64_t part = n / 1024;
    std::vector<std::uint32_t> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) keys[i] = static_cast<std::uint32_t>(i * 7919 % n + n);
    for (std::uint64_t i = 0; i < 1024; ++i) keys[i * part + (i * 2'654'435'761 >> 7) % part] = 5;
    std::vector<std::byte> bytes(n * sizeof(keys[0]));
    std::memcpy(bytes.data(), keys.data(), bytes.size());
    for (const std::uint64_t k : {100U, 1024U, 1025U, 2000U}) {
      for (const bool descending : {false, true}) {
        SCOPED_TRACE(std::to_string(n) + " keys, k = " + std::to_string(k));
        expect_firsts(key_type::u32, bytes, k, descending, {});
      }
    }
  }
}

TEST(TopK, GivesBackTheKeysType) {
  const std::vector<std::int64_t> keys{3, std::numeric_limits<std::int64_t>::min(), 7,
                                       std::numeric_limits<std::int64_t>::max(), 7};
  EXPECT_EQ(top_k(keys, 3), (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(), 7, 7}));
  EXPECT_EQ(bottom_k(keys, 2), (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(), 3}));
  EXPECT_EQ(top_k_indices(keys, 3), (std::vector<std::uint64_t>{3, 2, 4}));
  EXPECT_EQ(bottom_k_indices(keys, 4), (std::vector<std::uint64_t>{1, 0, 2, 4}));
}

TEST(TopK, FollowsThePolicyOnNaN) {
  const std::vector<double> keys{nan, 2, -nan, 1, 3};
  EXPECT_EQ(top_k(keys, 4), (std::vector<double>{3, 2, 1}));
  EXPECT_EQ(bottom_k(keys, 2), (std::vector<double>{1, 2}));
  EXPECT_EQ(bottom_k_indices(keys, 9), (std::vector<std::uint64_t>{3, 1, 4}));
  EXPECT_EQ(top_k_indices(keys, 9, {.nans = nan_policy::propagate}), (std::vector<std::uint64_t>{4, 1, 3, 0, 2}));
  EXPECT_EQ(top_k(keys, 5, {.nans = nan_policy::propagate}).size(), 5u);
  EXPECT_THROW(static_cast<void>(top_k(keys, 1, {.nans = nan_policy::error})), bad_input);
  EXPECT_THROW(static_cast<void>(top_k_indices(keys, 0, {.nans = nan_policy::error})), bad_input);
  EXPECT_TRUE(top_k(std::vector<double>{nan, nan}, 1).empty());
}

TEST(TopK, RefusesWhatCannotBe) {
  const std::vector<float> keys{1, 2};
  EXPECT_THROW(static_cast<void>(top_k(keys, 1, {.devices = "cpux"})), invalid_argument);
  EXPECT_THROW(static_cast<void>(top_k(keys, 1, {.threads = 1025})), invalid_argument);
  EXPECT_THROW(static_cast<void>(bottom_k_indices(const_key_span(key_type::f32, nullptr, 5), 1)), invalid_argument);
}

TEST(TopK, AWrongClaimDoesNoHarm) {
  random_words random(seed_for(9));
  for (std::uint64_t i = 0; i < num_cases(300); ++i) {
    std::vector<float> keys(random.below(100));
    for (float& k : keys) {
      k = random.below(6) == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(random.below(20));
    }
    const key_order order = i % 2 == 0 ? key_order::ascending : key_order::descending;
    const top_options options{.nans = i % 3 == 0 ? nan_policy::omit : nan_policy::propagate, .order = order};
    const std::uint64_t k = random.below(120);
    for (const std::vector<std::uint64_t>& positions :
         {top_k_indices(keys, k, options), bottom_k_indices(keys, k, options)}) {
      EXPECT_LE(positions.size(), keys.size());
      for (const std::uint64_t p : positions) EXPECT_LT(p, keys.size());
    }
    EXPECT_LE(top_k(keys, k, options).size(), keys.size());
  }
}

/// Keys that are known to be in order are read from their end in blocks; runs of equal keys lie across blocks' ends.
TEST(TopK, OfManyKeysInTheOppositeOrder) {
  for (const std::uint32_t num_values : {1U, 3U, 7'001U, 200'000U}) {
    std::vector<std::uint32_t> keys(200'000);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::uint32_t>(i * num_values / keys.size());
    for (const std::uint64_t k : {1U, 100U, 65'600U, 200'000U}) {
      EXPECT_EQ(top_k_indices(keys, k, {.order = key_order::ascending}), top_k_indices(keys, k))
          << num_values << " values, " << k << " keys";
    }
  }
}

}  // namespace
}  // namespace spansort::test
