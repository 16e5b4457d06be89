// SPDX-License-Identifier: Apache-2.0
// Small arrays of pairs and small argsorts: every type, value width and direction at sizes around the steps of their
// sort, against a stable sort, and the options that send a call another way.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <ranges>
#include <string>
#include <vector>

#include "device/host/small_pairs.hpp"
#include "keys/codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/guarded_array.hpp"

namespace spansort::test {
namespace {

std::vector<std::uint64_t> sizes() {
  std::vector<std::uint64_t> all{0,   1,   2,   3,   8,   9,   15,  16,  17,  31,   32,   33,   63,   64,  65,
                                 100, 127, 128, 129, 256, 257, 511, 512, 513, 1024, 2047, 2048, 2049, 8192};
  const std::uint64_t most = device::host::most_small_pairs;
  if (!is_small_scale()) all.insert(all.end(), {most - 1, most, most + 1, 3 * most + 7});
  return all;
}

std::vector<std::uint64_t> stable_order(key_type type, direction d, const std::vector<std::byte>& keys,
                                        std::uint64_t n) {
  const keys::key_codec codec{type, keys::is_descending(d), keys::tie_rule::by_input_order};
  std::vector<std::uint64_t> order(n);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t left, std::uint64_t right) {
    return keys::encode_at(codec, keys.data(), left) < keys::encode_at(codec, keys.data(), right);
  });
  return order;
}

/// Elements of `width` bytes in another order.
std::vector<std::byte> taken(const std::vector<std::byte>& from, const std::vector<std::uint64_t>& order,
                             std::uint64_t width) {
  std::vector<std::byte> to(from.size());
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(order[i] * width), width,
                to.begin() + static_cast<std::ptrdiff_t>(i * width));
  }
  return to;
}

class short_pairs_test : public testing::TestWithParam<key_type> {};

TEST_P(short_pairs_test, EverySizeAndDistribution) {
  const key_type type = GetParam();
  std::uint64_t round = 0;
  for (const distribution& from : all_distributions()) {
    for (const std::uint64_t n : sizes()) {
      const std::uint64_t seed = seed_for(++round);
      const direction d = round % 2 == 0 ? direction::ascending : direction::descending;
      const std::uint64_t width = std::array<std::uint64_t, 4>{4, 8, 16, 12}[round % 4];
      const std::string what = std::to_string(n) + " keys, " + to_string(from) + " of seed " + std::to_string(seed) +
                               ", " + std::to_string(width);
      std::vector<std::byte> keys(n * size_bytes(type));
      generate(key_span(type, keys.data(), n), from, seed);
      std::vector<std::byte> values(n * width);
      for (std::uint64_t i = 0; i < n; ++i) std::memcpy(values.data() + i * width, &i, 4);
      const std::vector<std::uint64_t> order = stable_order(type, d, keys, n);
      guarded_array sorted_keys(keys, 0);
      guarded_array sorted_values(values, 1);  // of no alignment
      sort_pairs(key_span(type, sorted_keys.data(), n), sorted_values.data(), width, d);
      ASSERT_TRUE(std::ranges::equal(sorted_keys.bytes(), taken(keys, order, size_bytes(type)))) << what;
      ASSERT_TRUE(std::ranges::equal(sorted_values.bytes(), taken(values, order, width))) << what;
      ASSERT_EQ(sorted_keys.corruption() + sorted_values.corruption(), "") << what;
      std::vector<std::uint64_t> wide(n);
      argsort(const_key_span(type, keys.data(), n), wide.data(), 8, d);
      ASSERT_EQ(wide, order) << what;
      std::vector<std::uint32_t> narrow(n);
      argsort(const_key_span(type, keys.data(), n), narrow.data(), 4, d);
      ASSERT_TRUE(std::equal(narrow.begin(), narrow.end(), order.begin(), order.end())) << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sort, short_pairs_test,
                         testing::Values(key_type::u8, key_type::i16, key_type::u32, key_type::i32, key_type::u64,
                                         key_type::i64, key_type::f16, key_type::f32, key_type::f64),
                         [](const testing::TestParamInfo<key_type>& type) { return std::string(name(type.param)); });

TEST(ShortPairs, TakeNoWorkspaceWhereNothingSpeaksAgainstIt) {
  const auto takes_workspace = [](const sort_options& options) {
    std::vector<std::uint32_t> keys(5000);
    generate(as_key_span(std::span(keys)), {}, seed_for(1));
    std::vector<std::uint64_t> values(keys.size());
    sorter s(options);
    s.sort_pairs(keys, values);
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
    s.argsort(keys, values);
    EXPECT_EQ(values[17], 17u);
    return s.workspace_bytes() != 0;
  };
  EXPECT_FALSE(takes_workspace({}));
  EXPECT_FALSE(takes_workspace({.devices = "cpu"}));
  EXPECT_TRUE(takes_workspace({.devices = "host:2"}));
  EXPECT_TRUE(takes_workspace({.memory_limit_bytes = 1 << 30}));
  sort_report report;
  EXPECT_TRUE(takes_workspace({.report = &report}));
  EXPECT_EQ(report.num_keys, 5000u);
}

TEST(ShortPairs, RefuseWhatOtherWaysRefuse) {
  std::vector<std::uint32_t> keys{3, 1, 2};
  std::vector<std::uint32_t> values{0, 1};
  EXPECT_THROW(sort_pairs(keys, values), invalid_argument);
  EXPECT_THROW(argsort(keys, values), invalid_argument);
  EXPECT_THROW(sort_pairs(as_key_span(std::span(keys)), keys.data() + 1, 4), invalid_argument);
  EXPECT_THROW(sort_pairs(as_key_span(std::span(keys)), nullptr, 4), invalid_argument);
  EXPECT_THROW(argsort(as_const_key_span(std::span<const std::uint32_t>(keys)), values.data(), 2), invalid_argument);
  EXPECT_EQ(keys, (std::vector<std::uint32_t>{3, 1, 2}));
}

}  // namespace
}  // namespace spansort::test
