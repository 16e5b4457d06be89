// SPDX-License-Identifier: Apache-2.0
// Sizes and shapes at the edges, and the rules of ownership one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "plan/planner.hpp"
#include "random_input.hpp"
#include "simulation.hpp"
#include "spansort/errors.hpp"
#include "support/golden_file.hpp"

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
sort_plan plan_of_first_pass(const parameters& p, const std::vector<std::vector<std::uint64_t>>& rows) {
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

/// Returns the bounds of the ranks.
std::vector<std::uint64_t> expect_sorted(const parameters& p, const std::vector<std::uint64_t>& keys) {
  simulation machine(p, keys);
  const sort_plan plan = machine.make_plan();
  EXPECT_NO_THROW(verify(plan));
  EXPECT_EQ(machine.execute(plan), sorted_oracle(keys));
  return plan.rank_begins;
}

TEST(Chunks, DifferByAtMostOneAndDoNotOverflow) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t num_keys : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{63}, most / 3, most}) {
    for (const unsigned num_ranks : {1U, 2U, 3U, 7U, 64U, 1000U}) {
      const parameters p = make_parameters(num_keys, num_ranks);
      EXPECT_EQ(source_begin(p, 0), 0U);
      EXPECT_EQ(source_begin(p, num_ranks), num_keys);
      for (unsigned rank = 0; rank < num_ranks; ++rank) {
        const std::uint64_t size = source_begin(p, rank + 1) - source_begin(p, rank);
        EXPECT_TRUE(size == num_keys / num_ranks || size == largest_source(p)) << rank << " of " << num_ranks;
        EXPECT_EQ(source_count(p, rank), size);
        EXPECT_EQ(target_begin(p, rank), source_begin(p, rank));
        EXPECT_EQ(target_count(p, rank), size);
      }
    }
  }
}

TEST(Chunks, OfGivenSizesLieInRankOrder) {
  parameters p = make_parameters(100, 4);
  p.source_counts = {0, 70, 0, 30};
  for (unsigned rank = 0; rank < 4; ++rank) EXPECT_EQ(source_count(p, rank), p.source_counts[rank]);
  EXPECT_EQ(source_begin(p, 1), 0U);
  EXPECT_EQ(source_begin(p, 2), 70U);
  EXPECT_EQ(source_begin(p, 4), 100U);
  EXPECT_EQ(largest_source(p), 70U);
  EXPECT_EQ(target_begin(p, 1), 25U);
  EXPECT_EQ(largest_target(p), 25U);
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

TEST(Chunks, SlackIsAFractionOfTheLargestPart) {
  parameters p = make_parameters(1000, 2);
  p.epsilon = 0.1;
  p.source_counts = {1000, 0};
  EXPECT_EQ(epsilon_keys(p), 50U);
  p.target_counts = {200, 800};
  EXPECT_EQ(epsilon_keys(p), 80U);
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

TEST(Ownership, StepsOverRanksWithoutAPart) {
  parameters p = make_parameters(300, 7);
  p.source_counts = {300, 0, 0, 0, 0, 0, 0};
  p.target_counts = {0, 0, 100, 0, 0, 200, 0};
  p.epsilon = 0.025;  // 5 keys
  const auto begins = [&](const std::vector<std::uint64_t>& row) { return plan_of_first_pass(p, {row}).rank_begins; };
  EXPECT_EQ(begins({96, 5, 199}), (std::vector<std::uint64_t>{0, 0, 0, 101, 101, 101, 300, 300}));
  EXPECT_EQ(begins({95, 100, 105}), (std::vector<std::uint64_t>{0, 0, 0, 95, 95, 95, 300, 300}));
  EXPECT_EQ(begins({105, 195}), (std::vector<std::uint64_t>{0, 0, 0, 105, 105, 105, 300, 300}));
}

TEST(Ownership, SlackMayHoldAWholePart) {
  parameters p = make_parameters(210, 3);
  p.epsilon = 0.05;  // 10 keys
  p.source_counts = {0, 210, 0};
  p.target_counts = {5, 200, 5};
  const sort_plan plan = plan_of_first_pass(p, {{}, {210}});
  EXPECT_EQ(plan.rank_begins, (std::vector<std::uint64_t>{0, 0, 210, 210}));
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

TEST(EdgeCases, OneRankHoldsEverything) {
  for_each_seed(20, [](generator& random) {
    for (std::size_t holder = 0; holder < 4; ++holder) {
      parameters p = make_parameters(400, 4, 16, 5);
      const auto keys = random_keys(random, p);
      p.epsilon = 0;
      p.source_counts.resize(4);
      p.source_counts[holder] = 400;
      EXPECT_EQ(expect_sorted(p, keys), (std::vector<std::uint64_t>{0, 100, 200, 300, 400}));
      p.target_counts = p.source_counts;
      EXPECT_EQ(expect_sorted(p, keys)[holder + 1], 400U);
      EXPECT_EQ(expect_sorted(p, keys)[holder], 0U);
      p.source_counts.clear();
      EXPECT_EQ(expect_sorted(p, keys)[holder], 0U);
      p.epsilon = 0.1;  // there is no bound to move
      EXPECT_EQ(expect_sorted(p, keys)[holder + 1], 400U);
    }
  });
}

TEST(EdgeCases, AllRanksButTwoAreEmpty) {
  for_each_seed(20, [](generator& random) {
    parameters p = make_parameters(500, 6, 32, 8);
    const auto keys = random_keys(random, p);
    p.epsilon = 0;
    for (std::size_t first = 0; first < 5; ++first) {
      p.target_counts.assign(6, 0);
      p.target_counts[first] = 123;
      p.target_counts[5] = 377;
      p.source_counts.assign(6, 0);
      p.source_counts[first] = 377;
      p.source_counts[5] = 123;
      std::vector<std::uint64_t> begins(7, 123);
      std::fill_n(begins.begin(), first + 1, 0);
      begins.back() = 500;
      EXPECT_EQ(expect_sorted(p, keys), begins);
    }
  });
}

TEST(EdgeCases, EqualKeysAreCutWhereGivenPartsEnd) {
  const std::vector<std::uint64_t> keys(1000, 0xdeadbeef);
  parameters p = make_parameters(keys.size(), 5);
  p.epsilon = 0.01;
  p.source_counts = {0, 500, 0, 500, 0};
  p.target_counts = {0, 0, 1, 0, 999};  // the part of one key is less than the slack
  EXPECT_EQ(expect_sorted(p, keys), (std::vector<std::uint64_t>{0, 0, 0, 0, 0, 1000}));
  p.target_counts = {0, 100, 0, 0, 900};
  EXPECT_EQ(expect_sorted(p, keys), (std::vector<std::uint64_t>{0, 0, 100, 100, 100, 1000}));
  p.target_counts = {300, 0, 0, 700, 0};
  EXPECT_EQ(expect_sorted(p, keys), (std::vector<std::uint64_t>{0, 300, 300, 300, 1000, 1000}));
  p.target_counts.clear();
  EXPECT_EQ(expect_sorted(p, keys), (std::vector<std::uint64_t>{0, 200, 400, 600, 800, 1000}));
}

TEST(EdgeCases, GivenSizesAreInTheJsonOnlyThen) {
  const std::vector<std::uint64_t> keys(10, 1);
  parameters p = make_parameters(10, 2);
  EXPECT_EQ(to_json(simulation(p, keys).make_plan()).find("source_counts"), std::string::npos);
  p.source_counts = {0, 10};
  p.target_counts = {4, 6};
  const std::string text = to_json(simulation(p, keys).make_plan());
  EXPECT_NE(text.find(R"("source_counts":[0,10],"target_counts":[4,6])"), std::string::npos) << text;
  EXPECT_NE(text.find(R"({"rank":1,"chunk_begin":0,"chunk_count":10,"begin":4,"count":6})"), std::string::npos) << text;
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
  spansort::test::expect_golden("equal_keys.json", to_json(plan));
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

TEST(Misuse, OfSizesIsAnInternalError) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  using sizes = std::vector<std::uint64_t>;
  for (const sizes& bad : {sizes{10}, sizes{5, 5, 0}, sizes{5, 4}, sizes{5, 6}, sizes{most, 11}}) {
    parameters p = make_parameters(10, 2);
    p.source_counts = bad;
    EXPECT_THROW(planner{p}, internal_error);
    p.source_counts.clear();
    p.target_counts = bad;
    EXPECT_THROW(planner{p}, internal_error);
  }
}

}  // namespace
}  // namespace spansort::plan::test
