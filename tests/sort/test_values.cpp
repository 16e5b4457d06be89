// SPDX-License-Identifier: Apache-2.0
// These tests are of what travels with the keys: values of any width and alignment, wide structs, stability among few
// distinct keys.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "keys/codec.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

const std::vector<engine>& few_engines() {
  static const std::vector<engine> engines{
      {"cpu", "single"},
      {"host:3", "rmg"},
      {"cpu", "single", {.host_inline_keys = 1, .host_bucket_bytes = 512, .host_radix_bits = 3, .host_tile_keys = 50}},
      {"host:7",
       "rmg",
       {.radix_bits = 2,
        .epsilon = 0,
        .host_inline_keys = 1,
        .host_bucket_bytes = 512,
        .host_radix_bits = 3,
        .host_tile_keys = 50}}};
  return engines;
}

class value_width_test : public testing::TestWithParam<unsigned> {};

TEST_P(value_width_test, TravelsWithItsKey) {
  for (const engine& how : few_engines()) {
    for (const bool descending : {false, true}) {
      sorter s = how.make_sorter();
      for (const key_type type : {key_type::u8, key_type::bf16, key_type::f32, key_type::u64}) {
        for (const std::uint64_t n : {0u, 1u, 2u, 500u, 5000u}) {
          const oracle expected = make_oracle(type, n, {distribution_kind::special_floats}, seed_for(n), descending);
          ASSERT_EQ(diagnose_sort(s, expected, {operation::kind::pairs, GetParam()}), "")
              << name(type) << ", n " << n << (descending ? ", descending, " : ", ") << how.describe();
        }
      }
    }
  }
}

TEST_P(value_width_test, NeedsNoAlignment) {
  for (const engine& how : few_engines()) {
    sorter s = how.make_sorter();
    for (const unsigned misalignment : {1u, 2u, 3u, 7u}) {
      const oracle expected = make_oracle(key_type::u32, 3000, {distribution_kind::zipf, 1}, seed_for(1), false);
      ASSERT_EQ(diagnose_sort(s, expected, {operation::kind::pairs, GetParam()}, misalignment), "") << how.describe();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sort, value_width_test,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 40, 256),
                         [](const auto& param) { return std::to_string(param.param) + "_bytes"; });

struct particle {
  std::array<double, 3> position;
  std::array<char, 11> label;
  std::uint32_t id;
  friend bool operator==(const particle&, const particle&) = default;
};

TEST(Values, WideStructsMoveWhole) {
  constexpr std::uint32_t n = 20'000;
  std::vector<float> keys(n);
  generate(as_key_span(std::span(keys)), {distribution_kind::normal}, seed_for(1));
  const std::vector<float> before = keys;
  std::vector<particle> particles(n);
  for (std::uint32_t i = 0; i < n; ++i)
    particles[i] = {{i * 1.0, i * 2.0, i * 3.0}, {'p', static_cast<char>(i % 100)}, i};
  const std::vector<particle> original = particles;
  spansort::sort_pairs(keys, particles, {.devices = "host:3"});
  EXPECT_TRUE(spansort::is_sorted(keys));
  std::vector<bool> seen(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t id = particles[i].id;
    ASSERT_LT(id, n);
    ASSERT_EQ(particles[i], original[id]);
    ASSERT_EQ(keys[i], before[id]);
    ASSERT_FALSE(seen[id]) << "particle " << id << " twice";
    seen[id] = true;
  }
}

TEST(Values, PairsOfFewDistinctKeysStayInInputOrder) {
  for (const engine& how : all_engines()) {
    for (const bool descending : {false, true}) {
      sorter s = how.make_sorter();
      std::vector<std::int16_t> keys(10'000);
      random_words random(seed_for(2));
      for (auto& key : keys) key = static_cast<std::int16_t>(random.below(2) * 30'000);
      std::vector<std::uint32_t> values(keys.size());
      std::iota(values.begin(), values.end(), 0u);
      s.sort_pairs(keys, values, keys::direction_of(descending));
      for (std::size_t i = 1; i < keys.size(); ++i) {
        ASSERT_TRUE(descending ? keys[i - 1] >= keys[i] : keys[i - 1] <= keys[i]) << how.describe();
        ASSERT_TRUE(keys[i - 1] != keys[i] || values[i - 1] < values[i]) << how.describe() << " at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace spansort::test
