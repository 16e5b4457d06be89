// SPDX-License-Identifier: Apache-2.0
// Order statistics of keys that are read in blocks: bit for bit those of the same keys in memory, whatever the
// distribution, the type and the memory there is, and in few reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/statistics.hpp"
#include "statistics/count_blocks.hpp"
#include "statistics/key_blocks.hpp"
#include "statistics/statistics_of.hpp"
#include "statistics/streamed_keys.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::statistics {
namespace {

/// Keys in memory, handed out in pieces.
class memory_blocks final : public key_blocks {
 public:
  explicit memory_blocks(const_key_span keys) : keys_(keys) {}
  [[nodiscard]] key_type type() const noexcept override { return keys_.type; }
  [[nodiscard]] std::uint64_t num_keys() const noexcept override { return keys_.num_keys; }
  void read(std::uint64_t first, std::uint64_t count, void* to) override {
    ASSERT_LE(first + count, keys_.num_keys);
    const std::uint64_t width = size_bytes(keys_.type);
    std::memcpy(to, static_cast<const char*>(keys_.data) + first * width, count * width);
  }
  void require_unchanged() override { ++num_reads; }

  unsigned num_reads = 0;

 private:
  const_key_span keys_;
};

std::vector<std::uint64_t> bits_of(const std::vector<double>& numbers) {
  std::vector<std::uint64_t> bits;
  for (const double n : numbers) bits.push_back(std::isnan(n) ? 1 : std::bit_cast<std::uint64_t>(n));
  return bits;
}

std::vector<double> numbers_of(const summary& s) {
  std::vector<double> all{s.minimum, s.lower_quartile, s.median,     s.upper_quartile, s.maximum,     s.mean,
                          s.iqr,     s.fence_low,      s.fence_high, s.whisker_low,    s.whisker_high};
  all.insert(all.end(), s.bowley_seven.begin(), s.bowley_seven.end());
  all.insert(all.end(), s.normal_seven.begin(), s.normal_seven.end());
  all.insert(all.end(), s.outliers.begin(), s.outliers.end());
  return all;
}

void expect_same(const summary& found, const summary& expected) {
  EXPECT_EQ(found.count, expected.count);
  EXPECT_EQ(found.nan_count, expected.nan_count);
  EXPECT_EQ(found.num_outliers_below, expected.num_outliers_below);
  EXPECT_EQ(found.num_outliers_above, expected.num_outliers_above);
  EXPECT_EQ(bits_of(numbers_of(found)), bits_of(numbers_of(expected)));
}

constexpr unsigned threads = 2;

std::uint64_t fewest_bytes(key_type type) {
  const std::uint64_t intervals = size_bytes(type) <= 2 ? std::uint64_t{1} << (8 * size_bytes(type)) : 8192;
  return memory_of_read(static_cast<unsigned>(size_bytes(type)), threads, intervals) + 3 * 4096 * 8;
}

/// Returns the number of reads that a summary and deciles took.
unsigned expect_as_in_memory(const_key_span keys, const summary_options& options, std::uint64_t more_bytes) {
  const std::vector<double> q{0.1, 0.25, 0.5, 0.95, 0.999};
  memory_blocks blocks(keys);
  streamed_keys streamed(blocks, fewest_bytes(keys.type) + more_bytes, threads);
  streamed.expect_summary(options);
  streamed.expect_quantiles(q);
  expect_same(summary_of(streamed, options), summarize(keys, options));
  const quantile_options of_quantiles{.nans = options.nans};
  EXPECT_EQ(bits_of(quantiles_of(streamed, q, of_quantiles)), bits_of(quantiles(keys, q, of_quantiles)));
  EXPECT_EQ(streamed.num_reads(), blocks.num_reads);
  return streamed.num_reads();
}

class streamed_test : public testing::TestWithParam<key_type> {};

TEST_P(streamed_test, SummariesAreThoseOfKeysInMemory) {
  std::uint64_t seed = 0;
  std::uint64_t distribution_number = 0;
  for (const distribution& d : all_distributions()) {
    ++distribution_number;
    for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1000}, std::uint64_t{100'003}}) {
      if (test::is_small_scale() && n > 1000 && distribution_number % 2 == 1) continue;  // every other one
      const auto keys = test::make_keys(GetParam(), n, d, test::seed_for(++seed));
      const const_key_span span(GetParam(), keys.data(), n);
      SCOPED_TRACE(std::string(name(GetParam())) + ", " + to_string(d) + ", " + std::to_string(n));
      expect_as_in_memory(span, {.nans = nan_policy::omit, .most_outliers = 10}, 0);
      expect_as_in_memory(span, {.nans = nan_policy::omit, .most_outliers = 100'000}, std::uint64_t{1} << 18);
      const std::uint64_t much = std::uint64_t{64} << 20;
      EXPECT_EQ(expect_as_in_memory(span, {.nans = nan_policy::omit, .most_outliers = 1000}, much), 1u);
      expect_as_in_memory(span, {.method = quantile_method::tukey, .whiskers = {.percentiles = percentile_pair{5, 99}}},
                          std::uint64_t{1} << 20);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, streamed_test, testing::ValuesIn(test::varied_key_types()),
                         [](const auto& of) { return std::string(name(of.param)); });

std::vector<double> normal(std::uint64_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> next;
  std::vector<double> keys(n);
  for (double& k : keys) k = next(random);
  return keys;
}

TEST(StreamedKeys, OneReadIsEnoughForASummary) {
  const std::uint64_t seed = test::seed_for(1);
  std::vector<double> keys = normal(3'000'000, seed);
  const std::span<const double> span(keys);
  const std::uint64_t much = std::uint64_t{128} << 20;
  EXPECT_EQ(expect_as_in_memory(as_const_key_span(span), {.most_outliers = 100'000}, much), 1u);
  EXPECT_EQ(expect_as_in_memory(as_const_key_span(span), {.most_outliers = 1000}, much), 1u);
  EXPECT_LE(expect_as_in_memory(as_const_key_span(span), {}, std::uint64_t{8} << 20), 2u);
  std::ranges::sort(keys);
  EXPECT_LE(expect_as_in_memory(as_const_key_span(span), {}, much), 2u);
  for (std::size_t i = 0; i < keys.size(); i += 7) keys[i] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_LE(expect_as_in_memory(as_const_key_span(span), {.nans = nan_policy::omit}, much), 2u);
  EXPECT_EQ(expect_as_in_memory(as_const_key_span(span), {}, much), 1u);
}

TEST(StreamedKeys, WithoutMemoryForKeysMoreReadsFindTheSame) {
  const std::vector<double> keys = normal(1'000'000, test::seed_for(2));
  const unsigned num_reads = expect_as_in_memory(as_const_key_span(std::span<const double>(keys)), {}, 0);
  EXPECT_GT(num_reads, 2u);
  EXPECT_LE(num_reads, 64u / 4 * 5);
}

TEST(StreamedKeys, EdgesOfAHistogramTakeOneRead) {
  const std::vector<double> keys = normal(1'000'000, test::seed_for(3));
  const const_key_span span = as_const_key_span(std::span<const double>(keys));
  memory_blocks blocks(span);
  streamed_keys streamed(blocks, std::uint64_t{64} << 20, threads);
  const std::vector<double> edges = equal_width_edges(-4, 4, 300);
  static_cast<void>(streamed.num_numbers_if_counted());
  EXPECT_EQ(streamed.num_reads(), 1u);
  streamed.prepare_edges(edges);
  EXPECT_EQ(histogram_of(streamed, edges), histogram(span, edges));
  EXPECT_EQ(streamed.num_reads(), 2u);
  const double value = keys[17];
  EXPECT_EQ(rank_in(streamed, std::bit_cast<std::uint64_t>(value)), rank_of(span, &value));
}

TEST(StreamedKeys, ShortKeysAreAllCounted) {
  const auto keys = test::make_keys(key_type::f16, 500'000, {.kind = distribution_kind::uniform}, test::seed_for(4));
  EXPECT_EQ(expect_as_in_memory({key_type::f16, keys.data(), 500'000}, {.nans = nan_policy::omit}, 0), 1u);
}

TEST(StreamedKeys, TooLittleMemoryIsSaid) {
  const std::vector<double> keys(10);
  memory_blocks blocks(as_const_key_span(std::span<const double>(keys)));
  try {
    const streamed_keys streamed(blocks, 1000, threads);
    FAIL();
  } catch (const out_of_memory& failure) {
    EXPECT_EQ(failure.available_bytes(), 1000u);
    EXPECT_EQ(failure.needed_bytes(), fewest_bytes(key_type::f64));
  }
}

}  // namespace
}  // namespace spansort::statistics
