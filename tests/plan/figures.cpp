// SPDX-License-Identifier: Apache-2.0
// Figures 1 and 2 of the RMG paper as golden plans. The figures show buckets without counts; the counts here put every
// bucket where the figure has it.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "plan/planner.hpp"
#include "simulation.hpp"
#include "support/golden_file.hpp"

namespace spansort::plan::test {
namespace {

/// Keys of one rank: how many for each top 16 bits.
using rank_content = std::map<std::uint64_t, std::uint64_t>;

std::vector<std::uint64_t> keys_of(const std::vector<rank_content>& ranks) {
  std::vector<std::uint64_t> keys;
  for (const rank_content& content : ranks) {
    // Descending, so that partitioning has work to do; lower bits differ.
    for (auto it = content.rbegin(); it != content.rend(); ++it) {
      for (std::uint64_t i = 0; i < it->second; ++i) keys.push_back((it->first << 16) | ((i * 40503) & 0xffff));
    }
  }
  return keys;
}

/// Figure 1: four GPUs, 100 keys each. [0] has keys on all of them, [0:2] on GPU 3 alone.
std::vector<std::uint64_t> figure_1_keys() {
  return keys_of({{{0x0000, 40}, {0x0001, 30}, {0x0100, 30}},
                  {{0x0000, 30}, {0x0001, 38}, {0x0300, 32}},
                  {{0x0001, 30}, {0x0003, 32}, {0x0300, 38}},
                  {{0x0000, 30}, {0x0002, 40}, {0x0200, 30}}});
}

parameters figure_1_parameters(double epsilon) {
  parameters p;
  p.num_keys = 400;
  p.num_ranks = 4;
  p.epsilon = epsilon;
  return p;
}

struct owned_bucket {
  keys::prefix prefix;
  unsigned first_rank = 0;
  unsigned last_rank = 0;
  friend bool operator==(const owned_bucket&, const owned_bucket&) = default;
};

std::vector<owned_bucket> owners(const pass_view& view) {
  std::vector<owned_bucket> list;
  for (const bucket& b : view.buckets) list.push_back({b.prefix, b.first_rank, b.last_rank});
  return list;
}

TEST(Figure1, BucketZeroSpansAfterPassOneAndIsResolvedByPassTwo) {
  const auto keys = figure_1_keys();
  simulation machine(figure_1_parameters(0.02), keys);
  const sort_plan plan = machine.make_plan();
  ASSERT_NO_THROW(verify(plan));

  ASSERT_EQ(plan.passes.size(), 2U);
  EXPECT_EQ(plan.passes[0].bits, (keys::bit_range{24, 32}));
  EXPECT_EQ(owners(plan.passes[0]),
            (std::vector<owned_bucket>{{{0, 8}, 0, 2}, {{1, 8}, 2, 2}, {{2, 8}, 3, 3}, {{3, 8}, 3, 3}}));
  EXPECT_EQ(plan.passes[1].bits, (keys::bit_range{16, 24}));
  EXPECT_EQ(owners(plan.passes[1]), (std::vector<owned_bucket>{{{0, 16}, 0, 0},
                                                               {{1, 16}, 1, 1},
                                                               {{2, 16}, 2, 2},
                                                               {{3, 16}, 2, 2},
                                                               {{1, 8}, 2, 2},
                                                               {{2, 8}, 3, 3},
                                                               {{3, 8}, 3, 3}}));
  // GPU 0 refined its part of [0] into [0:0] and [0:1]; [0:2] is resident on GPU 3.
  EXPECT_EQ(plan.passes[1].buckets[0].slice_counts, (std::vector<std::uint64_t>{40, 30, 0, 30}));
  EXPECT_EQ(plan.passes[1].buckets[1].slice_counts, (std::vector<std::uint64_t>{30, 38, 30, 0}));
  EXPECT_EQ(plan.passes[1].buckets[2].slice_counts, (std::vector<std::uint64_t>{0, 0, 0, 40}));
  EXPECT_EQ(plan.num_spanning_buckets, 2U);  // all keys, and [0]
  EXPECT_EQ(plan.rank_begins, (std::vector<std::uint64_t>{0, 100, 198, 300, 400}));
  EXPECT_EQ(machine.execute(plan), sorted_oracle(keys));
  spansort::test::expect_golden("figure1.json", to_json(plan));
  spansort::test::expect_golden("figure1.txt", draw(plan));
}

TEST(Figure1, WithoutSlackBucketZeroTwoSpans) {
  const auto keys = figure_1_keys();
  simulation machine(figure_1_parameters(0), keys);
  const sort_plan plan = machine.make_plan();
  ASSERT_NO_THROW(verify(plan));
  ASSERT_GT(plan.passes.size(), 2U);
  const bucket& zero_two = plan.passes[1].buckets.at(2);
  EXPECT_EQ(zero_two.prefix, (keys::prefix{2, 16}));
  EXPECT_TRUE(zero_two.spans());
  EXPECT_DOUBLE_EQ(plan.imbalance(), 1.0);
  EXPECT_EQ(machine.execute(plan), sorted_oracle(keys));
}

/// Figure 2: four GPUs before the swap with [0] [1] [3], [0] [1] [2], [1] [2] [3] and [0] [2] [3].
std::vector<std::uint64_t> figure_2_keys() {
  return keys_of({{{0x0000, 12}, {0x0100, 10}, {0x0300, 8}},
                  {{0x0000, 8}, {0x0100, 11}, {0x0200, 11}},
                  {{0x0100, 9}, {0x0200, 7}, {0x0300, 14}},
                  {{0x0000, 10}, {0x0200, 12}, {0x0300, 8}}});
}

TEST(Figure2, EverySliceGoesOnceToTheOwnerOfItsBucket) {
  const auto keys = figure_2_keys();
  parameters p;
  p.num_keys = 120;
  p.num_ranks = 4;
  simulation machine(p, keys);
  const sort_plan plan = machine.make_plan();
  ASSERT_NO_THROW(verify(plan));

  ASSERT_EQ(plan.passes.size(), 1U);
  EXPECT_EQ(owners(plan.passes[0]),
            (std::vector<owned_bucket>{{{0, 8}, 0, 0}, {{1, 8}, 1, 1}, {{2, 8}, 2, 2}, {{3, 8}, 3, 3}}));
  const std::vector<transfer> expected = {
      {0, 0, 0, 0, 12},  {0, 12, 1, 0, 10},  {0, 22, 3, 0, 8},   // [0] [1] [3]
      {1, 0, 0, 12, 8},  {1, 8, 1, 10, 11},  {1, 19, 2, 0, 11},  // [0] [1] [2]
      {2, 0, 1, 21, 9},  {2, 9, 2, 11, 7},   {2, 16, 3, 8, 14},  // [1] [2] [3]
      {3, 0, 0, 20, 10}, {3, 10, 2, 18, 12}, {3, 22, 3, 22, 8},  // [0] [2] [3]
  };
  EXPECT_EQ(plan.transfers, expected);
  EXPECT_EQ(plan.local_sorts,
            (std::vector<local_sort>{
                {0, 0, 30, {0, 24}, 1}, {1, 0, 30, {0, 24}, 1}, {2, 0, 30, {0, 24}, 1}, {3, 0, 30, {0, 24}, 1}}));
  EXPECT_EQ(machine.execute(plan), sorted_oracle(keys));
  spansort::test::expect_golden("figure2.json", to_json(plan));
  spansort::test::expect_golden("figure2.txt", draw(plan));
}

}  // namespace
}  // namespace spansort::plan::test
