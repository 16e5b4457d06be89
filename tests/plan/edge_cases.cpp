// SPDX-License-Identifier: Apache-2.0
// Sizes and shapes at the edges, and the rules of ownership one by one.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "golden.hpp"
#include "plan/planner.hpp"
#include "random_input.hpp"
#include "simulation.hpp"
#include "spansort/errors.hpp"

namespace spansort::plan::test {
namespace {

parameters make_parameters(std::uint64_t num_keys, unsigned num_ranks, unsigned key_bits = 32,
                           unsigned radix_bits = 8) {
  parameters p;
  p.num_keys = num_keys;
  p.num_ranks = num_ranks;
  p.key_bits = key_bits;
  p.radix_bits = radix_bits;
  return p;
}

/// One rank per row, one bucket of the first digit per column; finished, so nothing may span.
sort_plan plan_of_first_pass(parameters p, const std::vector<std::vector<std::uint64_t>>& rows) {
  planner planning(p);
  const refinement& root = planning.pending().at(0);
  std::vector<std::vector<std::uint64_t>> histograms;
  for (const slice& part : root.slices) {
    std::vector<std::uint64_t> histogram(root.digit.num_buckets());
    for (std::size_t i = 0; i < rows[part.rank].size(); ++i) histogram[i] = rows[part.rank][i];
    histograms.push_back(std::move(histogram));
  }
  planning.add_pass(pass_histograms{histograms});
  return std::move(planning).finish();
}

void expect_sorted(const parameters& p, const std::vector<std::uint64_t>& keys) {
  simulation machine(p, keys);
  const sort_plan plan = machine.make_plan();
  EXPECT_NO_THROW(verify(plan));
  EXPECT_EQ(machine.execute(plan), sorted_oracle(keys));
}

TEST(Chunks, DifferByAtMostOneAndDoNotOverflow) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t num_keys : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{63}, most / 3, most}) {
    for (const unsigned num_ranks : {1U, 2U, 3U, 7U, 64U, 1000U}) {
      const parameters p = make_parameters(num_keys, num_ranks);
      EXPECT_EQ(chunk_begin(p, 0), 0U);
      EXPECT_EQ(chunk_begin(p, num_ranks), num_keys);
      for (unsigned rank = 0; rank < num_ranks; ++rank) {
        const std::uint64_t size = chunk_begin(p, rank + 1) - chunk_begin(p, rank);
        EXPECT_TRUE(size == num_keys / num_ranks || size == largest_chunk(p)) << rank << " of " << num_ranks;
      }
    }
  }
}

TEST(Chunks, SlackIsRoundedDownAndNeverMoreThanAllKeys) {
  parameters p = make_parameters(1001, 2);
  p.epsilon = 0.01;
  EXPECT_EQ(epsilon_keys(p), 5U);
  p.epsilon = 1e30;
  EXPECT_EQ(epsilon_keys(p), 1001U);
  p.epsilon = std::numeric_limits<double>::infinity();
  EXPECT_EQ(epsilon_keys(p), 1001U);
  p.num_keys = 0;
  EXPECT_EQ(epsilon_keys(p), 0U);
}

TEST(Ownership, SmallHeadAndTailGoToTheNeighbour) {
  parameters p = make_parameters(200, 2);
  p.epsilon = 0.05;  // 5 keys
  // [0] puts 5 keys into rank 1's chunk, [0] of the second plan leaves 5 of its own to [1].
  EXPECT_EQ(plan_of_first_pass(p, {{50, 50}, {55, 45}}).rank_begins, (std::vector<std::uint64_t>{0, 105, 200}));
  EXPECT_EQ(plan_of_first_pass(p, {{50, 50}, {45, 55}}).rank_begins, (std::vector<std::uint64_t>{0, 95, 200}));
}

TEST(Ownership, OneKeyMoreThanTheSlackSpans) {
  parameters p = make_parameters(200, 2);
  p.epsilon = 0.05;
  planner planning(p);
  std::vector<std::uint64_t> first(256);
  std::vector<std::uint64_t> second(256);
  first[0] = 100;
  second[0] = 6;
  second[1] = 94;
  planning.add_pass(pass_histograms{{first, second}});
  ASSERT_EQ(planning.pending().size(), 1U);
  EXPECT_EQ(planning.pending()[0].prefix, (keys::prefix{0, 8}));
  EXPECT_EQ(planning.pending()[0].digit, (keys::digit_position{16, 8}));
  EXPECT_EQ(planning.pending()[0].slices, (std::vector<slice>{{0, 0, 100}, {1, 0, 6}}));
}

TEST(Ownership, WhereBothEndsFitTheLargerWinsAndTiesGoLow) {
  parameters p = make_parameters(200, 2);
  p.epsilon = 0.05;
  EXPECT_EQ(plan_of_first_pass(p, {{98, 2, 0}, {0, 3, 97}}).rank_begins, (std::vector<std::uint64_t>{0, 98, 200}));
  EXPECT_EQ(plan_of_first_pass(p, {{97, 3, 0}, {0, 2, 98}}).rank_begins, (std::vector<std::uint64_t>{0, 102, 200}));
  EXPECT_EQ(plan_of_first_pass(p, {{97, 3, 0}, {0, 3, 97}}).rank_begins, (std::vector<std::uint64_t>{0, 103, 200}));
}

TEST(Ownership, SlackAtBothEndsAvoidsASpanOverThreeRanks) {
  parameters p = make_parameters(300, 3);
  p.epsilon = 0.05;
  const sort_plan plan = plan_of_first_pass(p, {{95, 5, 0}, {0, 100, 0}, {0, 5, 95}});
  EXPECT_EQ(plan.rank_begins, (std::vector<std::uint64_t>{0, 95, 205, 300}));  // chunk + 2 * epsilon
  EXPECT_NO_THROW(verify(plan));
}

TEST(EdgeCases, NoKeys) {
  for (const unsigned num_ranks : {1U, 5U, 64U}) {
    planner planning(make_parameters(0, num_ranks));
    EXPECT_TRUE(planning.pending().empty());
    const sort_plan plan = std::move(planning).finish();
    EXPECT_NO_THROW(verify(plan));
    EXPECT_EQ(plan.rank_begins, std::vector<std::uint64_t>(num_ranks + 1));
    EXPECT_TRUE(plan.transfers.empty() && plan.local_sorts.empty() && plan.passes.empty());
    EXPECT_DOUBLE_EQ(plan.imbalance(), 1.0);
    EXPECT_EQ(plan.num_spanning_buckets, 0U);
    EXPECT_FALSE(draw(plan).empty());
  }
}

TEST(EdgeCases, OneRankNeedsOnePass) {
  const std::vector<std::uint64_t> keys = {5, 1, 5, 0, 4000000000, 7};
  planner planning(make_parameters(keys.size(), 1));
  ASSERT_EQ(planning.pending().size(), 1U);
  EXPECT_EQ(planning.pending()[0].prefix, (keys::prefix{0, 0}));
  EXPECT_EQ(planning.pending()[0].digit, (keys::digit_position{24, 8}));
  simulation machine(make_parameters(keys.size(), 1), keys);
  const sort_plan plan = machine.make_plan();
  EXPECT_EQ(plan.passes.size(), 1U);
  EXPECT_EQ(plan.transfers, (std::vector<transfer>{{0, 0, 0, 0, 6}}));
  EXPECT_TRUE(plan.transfers[0].is_identity());
  expect_sorted(make_parameters(keys.size(), 1), keys);
}

TEST(EdgeCases, FewerKeysThanRanks) {
  generator random(7);
  for (const unsigned num_ranks : {2U, 3U, 5U, 64U}) {
    for (std::uint64_t num_keys = 0; num_keys <= num_ranks + 1; ++num_keys) {
      parameters p = make_parameters(num_keys, num_ranks, 16, 5);
      expect_sorted(p, random_keys(random, p));
      p.epsilon = 2;  // slack may reach over ranks without a chunk
      expect_sorted(p, random_keys(random, p));
    }
  }
}

TEST(EdgeCases, EqualKeysAreCutInPerfectBalance) {
  const std::vector<std::uint64_t> keys(1000, 0xdeadbeef);
  const parameters p = make_parameters(keys.size(), 3);
  simulation machine(p, keys);
  const sort_plan plan = machine.make_plan();
  EXPECT_NO_THROW(verify(plan));
  EXPECT_EQ(plan.passes.size(), 4U);
  EXPECT_EQ(plan.num_spanning_buckets, 4U);
  EXPECT_EQ(plan.rank_begins, (std::vector<std::uint64_t>{0, 333, 666, 1000}));
  EXPECT_EQ(plan.transfers, (std::vector<transfer>{{0, 0, 0, 0, 333}, {1, 0, 1, 0, 333}, {2, 0, 2, 0, 334}}));
  for (const local_sort& sort : plan.local_sorts) EXPECT_TRUE(sort.bits.empty());
  EXPECT_EQ(plan.local_sorts.size(), 3U);
  EXPECT_EQ(machine.execute(plan), sorted_oracle(keys));
  expect_golden("equal_keys.json", to_json(plan));
}

TEST(EdgeCases, AWholeCutIsPerfectEvenWhereSlackCouldTakeAnEnd) {
  parameters p = make_parameters(300, 3, 8);
  p.epsilon = 0.1;
  const sort_plan plan = plan_of_first_pass(p, {{95, 5}, {0, 100}, {0, 100}});
  EXPECT_EQ(plan.rank_begins, (std::vector<std::uint64_t>{0, 100, 200, 300}));
  EXPECT_NO_THROW(verify(plan));
}

TEST(EdgeCases, KeysOfOneDigitNeedNoLocalSort) {
  generator random(3);
  const parameters p = make_parameters(500, 4, 8, 8);
  const auto keys = random_keys(random, p);
  simulation machine(p, keys);
  const sort_plan plan = machine.make_plan();
  EXPECT_EQ(plan.passes.size(), 1U);
  ASSERT_LE(plan.local_sorts.size(), 4U);  // merged: one a rank
  for (const local_sort& sort : plan.local_sorts) EXPECT_TRUE(sort.bits.empty());
  EXPECT_EQ(machine.execute(plan), sorted_oracle(keys));
}

TEST(EdgeCases, EveryRadixAndWidth) {
  for_each_seed(3, [](generator& random) {
    for (unsigned radix_bits = 1; radix_bits <= 12; ++radix_bits) {
      for (const unsigned key_bits : {8U, 16U, 32U, 64U}) {
        const parameters p = make_parameters(300, 3, key_bits, radix_bits);
        expect_sorted(p, random_keys(random, p));
      }
    }
  });
}

TEST(EdgeCases, SixtyFourRanks) {
  for_each_seed(20, [](generator& random) {
    const parameters p = make_parameters(pick(random, 0, 3000), 64, 64, 8);
    expect_sorted(p, random_keys(random, p));
  });
}

TEST(Fusing, SmallNeighboursOfOnePassAreSortedOnTheBitsInWhichTheyDiffer) {
  parameters p = make_parameters(1000, 1);
  p.fuse_threshold = 0.1;  // under 100 keys
  const sort_plan plan = plan_of_first_pass(p, {{40, 50, 60, 99, 500, 99, 1, 100, 51}});
  EXPECT_EQ(plan.local_sorts, (std::vector<local_sort>{
                                  {0, 0, 150, {0, 24 + 2}, 3},    // 0, 1, 2; 150 is not small any more
                                  {0, 150, 99, {0, 24}, 1},       // 3 before a large one
                                  {0, 249, 500, {0, 24}, 1},      // 4
                                  {0, 749, 100, {0, 24 + 2}, 2},  // 5 and 6 differ in two bits
                                  {0, 849, 100, {0, 24}, 1},      // 7 is not under the threshold
                                  {0, 949, 51, {0, 24}, 1},       // 8
                              }));
  EXPECT_NO_THROW(verify(plan));
  p.fuse_threshold = 0;
  EXPECT_EQ(plan_of_first_pass(p, {{40, 50, 60, 99, 500, 99, 1, 100, 51}}).local_sorts.size(), 9U);
}

TEST(Misuse, IsAnInternalError) {
  planner planning(make_parameters(10, 1));
  EXPECT_THROW(planning.add_pass(pass_histograms{}), internal_error);
  EXPECT_THROW(planning.add_pass(pass_histograms{{std::vector<std::uint64_t>(7, 1)}}), internal_error);
  EXPECT_THROW(planning.add_pass(pass_histograms{{std::vector<std::uint64_t>(256, 1)}}), internal_error);
  EXPECT_THROW((void)std::move(planning).finish(), internal_error);
  EXPECT_THROW(planner(make_parameters(10, 0)), internal_error);
  EXPECT_THROW(planner(make_parameters(10, 1, 65)), internal_error);
  EXPECT_THROW(planner(make_parameters(10, 1, 32, 0)), internal_error);
}

}  // namespace
}  // namespace spansort::plan::test
