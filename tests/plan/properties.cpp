// SPDX-License-Identifier: Apache-2.0
// These tests are of what must hold for every plan, checked here without verify() and without the planner's own
// arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/math.hpp"
#include "plan/planner.hpp"
#include "random_input.hpp"
#include "simulation.hpp"

namespace spansort::plan::test {
namespace {

/// num_ranks + 1 positions.
std::vector<std::uint64_t> bounds_of(const parameters& p, const std::vector<std::uint64_t>& counts) {
  std::vector<std::uint64_t> bounds = {0};
  const std::uint64_t smallest = p.num_keys / p.num_ranks;
  for (unsigned rank = 0; rank < p.num_ranks; ++rank) {
    // Equal ones end at the whole part of (rank + 1) / num_ranks of the keys.
    const std::uint64_t equal_end = (rank + 1) * smallest + (rank + 1) * (p.num_keys % p.num_ranks) / p.num_ranks;
    bounds.push_back(counts.empty() ? equal_end : bounds.back() + counts[rank]);
  }
  return bounds;
}

std::uint64_t largest_part(const parameters& p) {
  if (!p.target_counts.empty()) return *std::max_element(p.target_counts.begin(), p.target_counts.end());
  return p.num_keys / p.num_ranks + (p.num_keys % p.num_ranks != 0 ? 1 : 0);
}

void expect_sources_are_read_once(const sort_plan& plan) {
  const parameters& p = plan.params;
  const std::vector<std::uint64_t> chunks = bounds_of(p, p.source_counts);
  std::uint64_t position = 0;  // in the input: chunks lie in rank order
  unsigned rank = 0;
  // A slice that is copied is read once by each of its bucket's ranks.
  std::set<std::tuple<unsigned, std::uint64_t, std::uint64_t>> copied;
  for (const transfer& t : plan.copied_transfers) copied.emplace(t.source_rank, t.source_offset, t.count);
  std::vector<transfer> read = plan.transfers;
  for (const auto& [source, offset, count] : copied) read.push_back({source, offset, 0, 0, count});
  std::ranges::sort(read, {}, [](const transfer& t) { return std::pair(t.source_rank, t.source_offset); });
  for (const transfer& t : read) {
    ASSERT_GT(t.count, 0U);
    ASSERT_GE(t.source_rank, rank);
    rank = t.source_rank;
    ASSERT_EQ(chunks[rank] + t.source_offset, position);
    position += t.count;
    ASSERT_LE(position, chunks[rank + 1]);
  }
  ASSERT_EQ(position, p.num_keys);
}

void expect_destinations_are_written_once(const sort_plan& plan) {
  std::map<std::pair<unsigned, std::uint64_t>, std::uint64_t> written;  // count by place
  for (const transfer& t : plan.transfers) {
    const bool is_new = written.emplace(std::pair{t.destination_rank, t.destination_offset}, t.count).second;
    ASSERT_TRUE(is_new);
  }
  for (const copied_sort& s : plan.copied_sorts) {
    const bool is_new = written.emplace(std::pair{s.rank, s.offset}, s.num_kept).second;
    ASSERT_TRUE(is_new);
  }
  std::vector<std::uint64_t> ends(plan.params.num_ranks);
  for (const auto& [place, count] : written) {
    ASSERT_EQ(place.second, ends[place.first]);
    ends[place.first] += count;
  }
  for (unsigned rank = 0; rank < plan.params.num_ranks; ++rank) ASSERT_EQ(ends[rank], plan.rank_count(rank));
}

void expect_balance(const sort_plan& plan) {
  const parameters& p = plan.params;
  const std::vector<std::uint64_t> parts = bounds_of(p, p.target_counts);
  if (p.epsilon == 0) {
    ASSERT_EQ(plan.rank_begins, parts);
    return;
  }
  const double slack = p.epsilon * static_cast<double>(largest_part(p));
  for (unsigned rank = 0; rank < p.num_ranks; ++rank) {
    const std::uint64_t part = parts[rank + 1] - parts[rank];
    const std::uint64_t count = plan.rank_count(rank);
    ASSERT_LE(static_cast<double>(count), static_cast<double>(part) + 2 * slack);
    ASSERT_GE(static_cast<double>(count), static_cast<double>(part) - 2 * slack);
    ASSERT_TRUE(part != 0 || count == 0) << "a rank without a part owns keys";
  }
}

void expect_bounds_of_the_paper(const sort_plan& plan) {
  const parameters& p = plan.params;
  const std::uint64_t saved_bits = p.second_bits == 0 ? 0 : p.radix_bits - p.second_bits;
  const std::uint64_t most_passes = base::ceil_div<std::uint64_t>(p.key_bits + saved_bits, p.radix_bits);
  ASSERT_LE(plan.passes.size(), most_passes);
  if (p.refine_keys == 0) {
    ASSERT_LE(plan.num_spanning_buckets, (p.num_ranks - 1) * (most_passes - 1) + 1);
  }
  for (const pass_view& view : plan.passes) {
    std::vector<unsigned> parts(p.num_ranks);
    unsigned num_spanning = 0;
    for (const bucket& b : view.buckets) {
      if (!b.spans()) continue;
      ++num_spanning;
      for (unsigned rank = b.first_rank; rank <= b.last_rank; ++rank) ++parts[rank];
    }
    ASSERT_LE(num_spanning, p.num_ranks - 1);
    ASSERT_LE(*std::max_element(parts.begin(), parts.end()), 2U);
  }
}

void expect_no_large_bucket_left(const sort_plan& plan) {
  if (plan.params.refine_keys == 0 || plan.passes.empty()) return;
  for (const bucket& b : plan.passes.back().buckets) {
    ASSERT_TRUE(b.count <= plan.params.refine_keys || b.prefix.bit_count == plan.params.key_bits);
  }
}

void expect_owners_ascend(const sort_plan& plan) {
  for (const pass_view& view : plan.passes) {
    unsigned rank = 0;
    for (const bucket& b : view.buckets) {
      ASSERT_GT(b.count, 0U);
      ASSERT_GE(b.first_rank, rank);
      ASSERT_GE(b.last_rank, b.first_rank);
      rank = b.last_rank;
    }
    ASSERT_LT(rank, plan.params.num_ranks);
  }
}

void expect_fused_as_in_the_paper(const sort_plan& plan) {
  const parameters& p = plan.params;
  const double threshold = p.fuse_threshold * static_cast<double>(largest_part(p));
  for (std::size_t i = 0; i < plan.local_sorts.size(); ++i) {
    const local_sort& sort = plan.local_sorts[i];
    ASSERT_LE(sort.bits.end, p.key_bits);
    const bool fused = sort.num_buckets > 1 && !sort.bits.empty();
    ASSERT_TRUE(!fused || static_cast<double>(sort.count) < 2 * threshold);
    if (i == 0 || plan.local_sorts[i - 1].rank != sort.rank) continue;
    ASSERT_FALSE(plan.local_sorts[i - 1].bits.empty() && sort.bits.empty()) << "neighbours in order are one range";
  }
}

void expect_all(const sort_plan& plan) {
  ASSERT_NO_FATAL_FAILURE(expect_sources_are_read_once(plan));
  ASSERT_NO_FATAL_FAILURE(expect_destinations_are_written_once(plan));
  ASSERT_NO_FATAL_FAILURE(expect_balance(plan));
  ASSERT_NO_FATAL_FAILURE(expect_bounds_of_the_paper(plan));
  ASSERT_NO_FATAL_FAILURE(expect_no_large_bucket_left(plan));
  ASSERT_NO_FATAL_FAILURE(expect_owners_ascend(plan));
  ASSERT_NO_FATAL_FAILURE(expect_fused_as_in_the_paper(plan));
  ASSERT_NO_THROW(verify(plan));
}

TEST(PlanProperties, HoldForRandomHistograms) {
  for_each_seed(3000, [](generator& random) {
    parameters p = random_parameters(random, pick(random, 0, 1) == 0 ? 5000 : std::uint64_t{1} << 45);
    p.num_ranks = std::min(p.num_ranks, 16U);
    if (p.radix_bits > 8) p.key_bits = std::min(p.key_bits, 32U);  // keeps the number of buckets small
    give_random_sizes(random, p);
    if (pick(random, 0, 2) == 0) p.refine_keys = pick(random, 1, p.num_keys / 2 + 1);
    if (pick(random, 0, 2) == 0) p.copied_keys = pick(random, 1, p.num_keys / 2 + 1);
    if (pick(random, 0, 2) == 0) p.second_bits = static_cast<unsigned>(pick(random, 1, p.radix_bits));
    expect_all(random_plan(random, p));
  });
}

TEST(PlanProperties, ExecutingThePlanSortsStably) {
  std::size_t num_copied = 0;
  for_each_seed(3000, [&](generator& random) {
    parameters p = random_parameters(random, 600);
    give_random_sizes(random, p);
    if (pick(random, 0, 1) == 0) p.copied_keys = pick(random, 1, p.num_keys / 2 + 1);
    if (pick(random, 0, 1) == 0) p.second_bits = static_cast<unsigned>(pick(random, 1, p.radix_bits));
    const auto keys = random_keys(random, p);
    simulation machine(p, keys);
    const sort_plan plan = machine.make_plan();
    expect_all(plan);
    EXPECT_EQ(machine.execute(plan), sorted_oracle(keys));
    num_copied += plan.copied_sorts.size();
  });
  EXPECT_GT(num_copied, 300U);
}

/// A bucket crosses the bound where there is no slack; it is copied to both ranks where it is small enough, and refined
/// else.
TEST(PlanProperties, SmallSpanningBucketsAreCopied) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 1000; ++i) keys.push_back(i * 7919 % 1024);
  parameters p;
  p.num_keys = keys.size();
  p.num_ranks = 3;
  p.key_bits = 10;
  p.radix_bits = 4;
  p.epsilon = 0;
  for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{10}, std::uint64_t{100}}) {
    p.copied_keys = most;
    simulation machine(p, keys);
    const sort_plan plan = machine.make_plan();
    ASSERT_NO_FATAL_FAILURE(expect_all(plan));
    EXPECT_EQ(machine.execute(plan), sorted_oracle(keys));
    EXPECT_EQ(plan.passes.size() == 1, most == 100) << most;
    EXPECT_EQ(plan.copied_sorts.empty(), most == 0) << most;
  }
}

TEST(PlanProperties, TheSamePlanTwice) {
  for_each_seed(50, [](generator& random) {
    parameters p = random_parameters(random, 2000);
    give_random_sizes(random, p);
    const auto keys = random_keys(random, p);
    EXPECT_EQ(to_json(simulation(p, keys).make_plan()), to_json(simulation(p, keys).make_plan()));
  });
}

/// Spreads evenly with a little noise, so that without slack a bucket crosses every bound in every pass.
sort_plan plan_of_even_histograms(const parameters& params) {
  generator random(1);
  planner p(params);
  while (!p.pending().empty()) {
    pass_histograms histograms;
    for (const refinement& r : p.pending()) {
      auto& of_refinement = histograms.emplace_back();
      for (const slice& part : r.slices) {
        std::vector<std::uint64_t> histogram(r.digit.num_buckets(), part.count / r.digit.num_buckets());
        histogram[0] += part.count % r.digit.num_buckets();
        for (std::size_t i = 1; i < histogram.size(); ++i) {
          const std::uint64_t moved = pick(random, 0, histogram[i] / 4);
          histogram[i] -= moved;
          histogram[i - 1] += moved;
        }
        of_refinement.push_back(std::move(histogram));
      }
    }
    p.add_pass(histograms);
  }
  return std::move(p).finish();
}

TEST(PlanProperties, TheBoundOfThePaperIsReached) {
  parameters p;
  p.num_keys = (std::uint64_t{1} << 63) + 12345;
  p.num_ranks = 8;
  p.key_bits = 64;
  p.epsilon = 0;
  const sort_plan plan = plan_of_even_histograms(p);
  ASSERT_NO_THROW(verify(plan));
  EXPECT_EQ(plan.num_spanning_buckets, 7U * 7U + 1U);
  // Each refinement makes up to 256 buckets of one; in the last pass some hundred keys are left for them.
  EXPECT_LE(plan.passes.back().buckets.size(), 50U * 255U + 1U);
  EXPECT_GE(plan.passes.back().buckets.size(), 43U * 255U);
}

TEST(PlanProperties, TimeIsLinearInBucketsTimesRanks) {
  parameters p;
  p.num_keys = (std::uint64_t{1} << 62) + 12345;
  p.num_ranks = 64;
  p.key_bits = 16;
  p.epsilon = 0;
  const auto begin = std::chrono::steady_clock::now();
  const sort_plan plan = plan_of_even_histograms(p);
  verify(plan);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(plan.passes.back().buckets.size(), 12545U);
  // A million slices and as many transfers: some 0.2 s with the making of histograms. The limit leaves room for
  // sanitizers and busy machines, and fails when anything grows with buckets x buckets.
  EXPECT_LT(elapsed.count(), 5.0);
}

}  // namespace
}  // namespace spansort::plan::test
