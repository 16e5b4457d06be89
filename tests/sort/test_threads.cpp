// SPDX-License-Identifier: Apache-2.0
// The option `threads`: host devices share them, results are the same, and what cannot be is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/threads.hpp"
#include "spansort/check.hpp"
#include "spansort/devices.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

constexpr std::uint64_t num_keys = 100'000;

std::vector<std::uint32_t> random_keys() {
  std::vector<std::uint32_t> keys(num_keys);
  generate(as_key_span(std::span(keys)), {}, test::seed_for(1));
  return keys;
}

std::vector<unsigned> threads_of_ranks(const char* devices, unsigned threads) {
  std::vector<std::uint32_t> keys = random_keys();
  sort_report report;
  spansort::sort(keys, {.devices = devices, .threads = threads, .algorithm = algorithm::rmg, .report = &report});
  std::vector<unsigned> found;
  for (const rank_report& rank : report.ranks) found.push_back(rank.num_threads);
  return found;
}

TEST(SortThreads, HostDevicesShareThem) {
  for (const unsigned num_devices : {1U, 3U, 4U}) {
    for (const unsigned threads : {1U, 2U, 5U, 8U, 1024U}) {
      const std::vector<unsigned> shares = threads_of_ranks(fmt::format("host:{}", num_devices).c_str(), threads);
      ASSERT_EQ(shares.size(), num_devices);
      const unsigned usable = std::min(threads, num_processors());
      EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0U), std::max(usable, num_devices));
      EXPECT_LE(shares.front() - shares.back(), 1U) << "the first have those that are left over";
    }
  }
}

TEST(SortThreads, MoreThanTheProcessorsCountAsThese) {
  EXPECT_EQ(threads_of_ranks("host:1", 1024), (std::vector<unsigned>{num_processors()}));
}

TEST(SortThreads, EveryHostDeviceHasOneAtLeast) {
  EXPECT_EQ(threads_of_ranks("host:3", 1), (std::vector<unsigned>{1, 1, 1}));
}

TEST(SortThreads, ZeroStandsForTheProcessors) {
  EXPECT_EQ(threads_of_ranks("host:1", 0), (std::vector<unsigned>{num_processors()}));
}

TEST(SortThreads, ResultsAreTheSame) {
  const std::vector<std::uint32_t> input = random_keys();
  std::vector<std::uint32_t> expected = input;
  std::ranges::sort(expected);
  std::vector<std::uint64_t> expected_order(num_keys);
  argsort(input, expected_order);
  for (const unsigned threads : {1U, 2U, 5U}) {
    for (const char* devices : {"auto", "cpu", "host:3"}) {
      const sort_options options{.devices = devices, .threads = threads};
      std::vector<std::uint32_t> keys = input;
      spansort::sort(keys, options);
      EXPECT_EQ(keys, expected) << devices << ", " << threads;
      std::vector<std::uint64_t> order(num_keys);
      argsort(input, order, options);
      EXPECT_EQ(order, expected_order) << devices << ", " << threads;
      keys = input;
      std::vector<std::uint64_t> values(num_keys);
      std::iota(values.begin(), values.end(), std::uint64_t{0});
      sort_pairs(keys, values, options);
      EXPECT_EQ(values, expected_order) << devices << ", " << threads;
    }
    EXPECT_EQ(check(as_const_key_span(std::span(input)), {.threads = threads}).checksum,
              checksum(as_const_key_span(std::span(input))));
  }
}

TEST(SortThreads, TooManyAreRefused) {
  std::vector<std::uint32_t> keys{2, 1};
  EXPECT_THROW(spansort::sort(keys, {.threads = 1025}), invalid_argument);
  EXPECT_THROW(sorter(sort_options{.threads = 0U - 1}), invalid_argument);
  EXPECT_EQ(keys, (std::vector<std::uint32_t>{2, 1}));
}

}  // namespace
}  // namespace spansort
