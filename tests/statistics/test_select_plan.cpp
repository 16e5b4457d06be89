// SPDX-License-Identifier: Apache-2.0
// The plan of each read by itself: samples that are false in every way cost reads, but never more than is promised.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/math.hpp"
#include "device/device.hpp"
#include "statistics/select_plan.hpp"
#include "support/environment.hpp"

namespace spansort::statistics {
namespace {

/// Reads until all targets lie in marked intervals or intervals of one value; 0 when a plan breaks its rules.
unsigned count_reads(const std::vector<std::uint64_t>& sorted_keys, const key_sample& sample,
                     std::vector<target> targets, unsigned key_bits) {
  const std::uint64_t max_key = base::low_mask(key_bits);
  const std::uint64_t n = sorted_keys.size();
  read_plan plan = plan_by_sample(sample, targets, n, max_key);
  for (unsigned num_reads = 1; num_reads < 1000; ++num_reads) {
    EXPECT_LE(plan.splitters.size(), device::max_splitters);
    EXPECT_TRUE(std::ranges::adjacent_find(plan.splitters, std::greater_equal()) == plan.splitters.end());
    std::vector<std::uint64_t> counts;
    std::uint64_t num_below = 0;
    for (std::size_t i = 0; i <= plan.splitters.size(); ++i) {
      const auto end = i == plan.splitters.size()
                           ? n
                           : static_cast<std::uint64_t>(std::ranges::lower_bound(sorted_keys, plan.splitters[i]) -
                                                        sorted_keys.begin());
      counts.push_back(end - num_below);
      num_below = end;
    }
    std::uint64_t num_marked = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) num_marked += (plan.marked >> i & 1) != 0 ? counts[i] : 0;
    bool is_done = num_marked <= std::min(plan.most_collected, n / 2);
    std::erase_if(targets, [&](target& t) {
      const located_interval at = locate(t.rank, plan, counts, max_key);
      EXPECT_LE(at.range.low, sorted_keys[t.rank]);
      EXPECT_GE(at.range.high, sorted_keys[t.rank]);
      t.range = at.range;
      if (at.range.low == at.range.high) return true;
      is_done = is_done && (plan.marked >> at.interval & 1) != 0;
      return false;
    });
    if (targets.empty() || is_done) return num_reads;
    plan = plan_by_ranges(sample, targets, n, max_key);
  }
  return 0;
}

std::vector<target> targets_at(std::vector<std::uint64_t> ranks) {
  std::vector<target> targets;
  for (const std::uint64_t rank : ranks) targets.push_back({.rank = rank, .slot = targets.size(), .range = {}});
  return targets;
}

TEST(select_plan_test, AnySampleIsSurvivedInSoManyReads) {
  constexpr std::uint64_t n = 20'000;
  for (const unsigned key_bits : {8U, 16U, 32U, 64U}) {
    const std::uint64_t max_key = base::low_mask(key_bits);
    test::random_words random(test::seed_for(key_bits));
    for (unsigned trial = 0; trial < 40; ++trial) {
      std::vector<std::uint64_t> keys(n);
      // From evenly spread to all close to a point, low or high.
      for (std::uint64_t& key : keys) key = (random() & max_key) >> (random.below(1 + trial % 8 * 9) % key_bits);
      if (trial % 2 == 1) std::ranges::transform(keys, keys.begin(), [&](std::uint64_t key) { return max_key - key; });
      std::ranges::sort(keys);
      key_sample sample{std::vector<std::uint64_t>(1000), 8};
      const std::uint64_t said = random() & max_key;
      for (std::uint64_t& key : sample.keys) key = trial % 3 == 0 ? said : (random() & max_key) >> (trial % key_bits);
      const unsigned num_reads =
          count_reads(keys, sample, targets_at({0, 1, n / 8, n / 4, n / 2, n / 4 * 3, n - 2, n - 1}), key_bits);
      EXPECT_GE(num_reads, 1U);
      EXPECT_LE(num_reads, 3 + key_bits / 2) << key_bits << " bits, trial " << trial;
    }
  }
}

TEST(select_plan_test, HonestSampleNeedsOneRead) {
  constexpr std::uint64_t n = 1'000'000;
  test::random_words random(test::seed_for(1));
  std::vector<std::uint64_t> keys(n);
  for (std::uint64_t& key : keys) key = random();
  key_sample sample{{keys.begin(), keys.begin() + 65536}, 8};
  std::ranges::sort(keys);
  EXPECT_LE(count_reads(keys, sample, targets_at({n / 4, n / 2, n / 4 * 3}), 64), 1U);
}

TEST(select_plan_test, ReachIsThreeAndAHalfDeviations) {
  test::random_words random(test::seed_for(9));
  for (unsigned trial = 0; trial < 1000; ++trial) {
    const std::uint64_t sum = random() >> (24 + random.below(40));
    const double expected = 16 + 3.5 * std::sqrt(static_cast<double>(sum) / 2);
    EXPECT_NEAR(static_cast<double>(device::sample_reach(8, sum)), expected, 1.0) << sum;
  }
  EXPECT_EQ(device::sample_reach(8, 0), 16U);
}

/// What a sample says around a place, from its keys in order.
TEST(select_plan_test, BracketsAreTheSamplesKeys) {
  test::random_words random(test::seed_for(10));
  key_sample sample{std::vector<std::uint64_t>(8192), 8};
  for (std::uint64_t& key : sample.keys) key = random.below(100'000);
  const std::vector<std::uint64_t> places{0, 2000, 4096, 8191};
  const std::vector<device::rank_bracket> found = bracket_targets(sample, places);
  std::vector<std::uint64_t> sorted = sample.keys;
  std::ranges::sort(sorted);
  ASSERT_EQ(found.size(), places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const device::rank_bracket& b = found[i];
    EXPECT_EQ(b.place, places[i]);
    EXPECT_GE(b.reach, 16U);
    EXPECT_LE(b.reach, 16U + 4 * 64);  // keys at random: 3.5 deviations of 45 places, give or take
    EXPECT_EQ(b.has_low(), i != 0);
    EXPECT_EQ(b.has_high(sorted.size()), i != 3);
    if (b.has_low()) {
      EXPECT_EQ(b.low, sorted[b.place - b.reach]);
      EXPECT_EQ(b.far_below, sorted[b.place - b.reach - b.margin()]);
    }
    if (b.has_high(sorted.size())) {
      EXPECT_EQ(b.high, sorted[b.place + b.reach]);
      EXPECT_EQ(b.far_above, sorted[b.place + b.reach + b.margin()]);
    }
  }
}

TEST(select_plan_test, IntervalsOfOneValueAreNotCollected) {
  const key_sample sample{std::vector<std::uint64_t>(10'000, 42), 8};
  const read_plan plan = plan_by_sample(sample, targets_at({500'000}), 1'000'000, base::low_mask(64));
  EXPECT_EQ(plan.splitters, (std::vector<std::uint64_t>{42, 43}));
  EXPECT_EQ(plan.marked, 0U);
}

}  // namespace
}  // namespace spansort::statistics
