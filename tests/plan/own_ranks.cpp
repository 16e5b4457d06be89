// SPDX-License-Identifier: Apache-2.0
// Processes that plan for their own ranks alone, from sums: together they have the plan that one of them would make for
// all ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "random_input.hpp"
#include "simulation.hpp"

namespace spansort::plan::test {
namespace {

using counts = std::vector<std::uint64_t>;

void add(counts& sums, const counts& more) {
  sums.resize(more.size());
  std::ranges::transform(sums, more, sums.begin(), std::plus<>());
}

/// Neighbouring ranks in groups of random size.
std::vector<rank_group> random_groups(generator& random, unsigned num_ranks) {
  std::vector<rank_group> groups;
  const unsigned most = static_cast<unsigned>(pick(random, 1, num_ranks));
  for (unsigned first = 0; first < num_ranks; first = groups.back().end()) {
    groups.push_back({first, static_cast<unsigned>(pick(random, 1, std::min(most, num_ranks - first)))});
  }
  return groups;
}

/// Returns the counts by digit value of so many keys.
using histogram_of = std::function<counts(std::uint64_t num_keys, std::uint64_t num_buckets)>;

pass_histograms make_histograms(const histogram_of& make, const std::vector<refinement>& pending) {
  pass_histograms histograms;
  for (const refinement& r : pending) {
    auto& of_refinement = histograms.emplace_back();
    for (const slice& part : r.slices) of_refinement.push_back(make(part.count, r.digit.num_buckets()));
  }
  return histograms;
}

histogram_of random_ones(generator& random) {
  return [&random](std::uint64_t num_keys, std::uint64_t num_buckets) {
    return random_histogram(random, num_keys, num_buckets);
  };
}

/// Returns that of keys which are equal but for a few of each slice, which have the greatest digit.
histogram_of almost_equal_ones(std::uint64_t num_others) {
  return [num_others](std::uint64_t num_keys, std::uint64_t num_buckets) {
    counts histogram(num_buckets);
    histogram[num_buckets - 1] = std::min(num_keys, num_others);
    histogram[num_buckets / 2] += num_keys - std::min(num_keys, num_others);
    return histogram;
  };
}

/// Plans of the same counts: that of all ranks, and those of groups of ranks.
class planners {
 public:
  planners(const parameters& params, const std::vector<rank_group>& groups) : whole_(params), groups_(groups) {
    for (const rank_group& group : groups_) own_.emplace_back(params, group);
  }

  void add_passes(const histogram_of& make) {
    while (!whole_.pending().empty()) {
      add_pass(make_histograms(make, whole_.pending()));
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  [[nodiscard]] sort_plan finish_whole() { return std::move(whole_).finish(); }

  /// The planners have told each other what they have for each.
  [[nodiscard]] std::vector<sort_plan> finish_own() {
    std::vector<counts> incoming(groups_.size());
    for (const planner& source : own_) {
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        const counts its = source.counts_for(groups_[g]);
        incoming[g].insert(incoming[g].end(), its.begin(), its.end());
      }
    }
    std::vector<sort_plan> plans;
    for (std::size_t g = 0; g < groups_.size(); ++g) plans.push_back(std::move(own_[g]).finish(incoming[g]));
    return plans;
  }

 private:
  void add_pass(const pass_histograms& histograms) {
    std::vector<pass_histograms> of_groups;
    std::vector<pass_sums> sums(groups_.size());
    counts all;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      of_groups.push_back(part_of(histograms, groups_[g]));
      ASSERT_NO_FATAL_FAILURE(expect_same_pending(own_[g], groups_[g]));
      const counts mine = own_[g].sum(of_groups[g]);
      sums[g].before = all.empty() ? counts(mine.size()) : all;
      add(all, mine);
    }
    whole_.add_pass(histograms);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      sums[g].all = all;
      own_[g].add_pass(of_groups[g], sums[g]);
    }
  }

  [[nodiscard]] pass_histograms part_of(const pass_histograms& histograms, rank_group group) const {
    pass_histograms part(histograms.size());
    for (std::size_t i = 0; i < histograms.size(); ++i) {
      for (std::size_t j = 0; j < histograms[i].size(); ++j) {
        if (group.contains(whole_.pending()[i].slices[j].rank)) part[i].push_back(histograms[i][j]);
      }
    }
    return part;
  }

  void expect_same_pending(const planner& own, rank_group group) const {
    ASSERT_EQ(own.pending().size(), whole_.pending().size());
    for (std::size_t i = 0; i < own.pending().size(); ++i) {
      const refinement& expected = whole_.pending()[i];
      ASSERT_EQ(own.pending()[i].prefix, expected.prefix);
      std::vector<slice> slices = expected.slices;
      std::erase_if(slices, [&](const slice& s) { return !group.contains(s.rank); });
      ASSERT_EQ(own.pending()[i].slices, slices);
    }
  }

  planner whole_;
  std::vector<rank_group> groups_;
  std::vector<planner> own_;
};

/// The whole plan's transfers that begin or end in the group, the offsets at other ranks as the group counts them.
std::vector<transfer> transfers_of(const sort_plan& whole, rank_group group) {
  std::vector<transfer> rows;
  std::map<unsigned, std::uint64_t> first_offsets;
  for (transfer t : whole.transfers) {
    if (!group.contains(t.source_rank) && !group.contains(t.destination_rank)) continue;
    if (!group.contains(t.source_rank)) {
      t.source_offset -= first_offsets.emplace(t.source_rank, t.source_offset).first->second;
    }
    rows.push_back(t);
  }
  return rows;
}

std::vector<local_sort> local_sorts_of(const sort_plan& whole, rank_group group) {
  std::vector<local_sort> sorts = whole.local_sorts;
  std::erase_if(sorts, [&](const local_sort& s) { return !group.contains(s.rank); });
  return sorts;
}

void expect_part_of(const sort_plan& own, const sort_plan& whole) {
  ASSERT_EQ(own.rank_begins, whole.rank_begins);
  ASSERT_EQ(own.num_spanning_buckets, whole.num_spanning_buckets);
  ASSERT_EQ(own.passes.size(), whole.passes.size());
  ASSERT_EQ(own.is_whole(), own.ranks.count == whole.params.num_ranks);
  ASSERT_EQ(own.transfers, transfers_of(whole, own.ranks));
  ASSERT_EQ(own.local_sorts, local_sorts_of(whole, own.ranks));
}

void expect_parts_of_the_whole(const parameters& p, const std::vector<rank_group>& groups, const histogram_of& make) {
  planners made(p, groups);
  ASSERT_NO_FATAL_FAILURE(made.add_passes(make));
  const sort_plan whole = made.finish_whole();
  ASSERT_NO_THROW(verify(whole));
  for (const sort_plan& own : made.finish_own()) ASSERT_NO_FATAL_FAILURE(expect_part_of(own, whole));
}

std::vector<rank_group> single_ranks(unsigned num_ranks) {
  std::vector<rank_group> groups;
  for (unsigned rank = 0; rank < num_ranks; ++rank) groups.push_back({rank, 1});
  return groups;
}

TEST(PlanOfOwnRanks, IsThePartOfTheWholePlan) {
  for_each_seed(3000, [](generator& random) {
    parameters p = random_parameters(random, pick(random, 0, 1) == 0 ? 5000 : std::uint64_t{1} << 45);
    p.num_ranks = std::min(p.num_ranks, 16U);
    if (p.radix_bits > 8) p.key_bits = std::min(p.key_bits, 32U);  // keeps the number of buckets small
    give_random_sizes(random, p);
    if (pick(random, 0, 2) == 0) p.refine_keys = pick(random, 1, p.num_keys / 2 + 1);
    expect_parts_of_the_whole(p, random_groups(random, p.num_ranks), random_ones(random));
  });
}

TEST(PlanOfOwnRanks, IsThePartOfThatOfManyRanks) {
  for_each_seed(20, [](generator& random) {
    parameters p = random_parameters(random, std::uint64_t{1} << 45);
    p.num_ranks = static_cast<unsigned>(pick(random, 17, 200));
    p.radix_bits = static_cast<unsigned>(pick(random, 1, 4));
    p.key_bits = std::min(p.key_bits, 16U);
    give_random_sizes(random, p);
    expect_parts_of_the_whole(p, single_ranks(p.num_ranks), random_ones(random));
  });
}

TEST(PlanOfOwnRanks, IsThePartOfThatOfEqualKeys) {
  for (const unsigned num_ranks : {1U, 2U, 7U, 64U, 300U}) {
    for (const std::uint64_t num_others : {0U, 1U, 3U}) {
      SCOPED_TRACE(testing::Message() << num_ranks << " ranks, " << num_others << " other keys in each digit");
      parameters p;
      p.num_ranks = num_ranks;
      p.key_bits = 12;
      p.radix_bits = 4;
      for (unsigned rank = 0; rank < num_ranks; ++rank) {  // every third is empty
        p.source_counts.push_back(rank % 3 == 1 ? 0 : 100 + rank);
        p.num_keys += p.source_counts.back();
      }
      p.target_counts.assign(p.source_counts.rbegin(), p.source_counts.rend());
      expect_parts_of_the_whole(p, single_ranks(num_ranks), almost_equal_ones(num_others));
    }
  }
}

TEST(PlanOfOwnRanks, HoldsNothingOfOtherRanks) {
  generator random(1);
  parameters p;
  p.num_keys = std::uint64_t{1} << 40;
  p.num_ranks = 64;
  p.radix_bits = 4;
  p.epsilon = 0;
  planners made(p, single_ranks(p.num_ranks));
  made.add_passes(random_ones(random));
  const std::size_t num_transfers = made.finish_whole().transfers.size();
  for (const sort_plan& own : made.finish_own()) {
    for (const pass_view& view : own.passes) EXPECT_TRUE(view.buckets.empty());
    EXPECT_LT(own.transfers.size(), num_transfers / 4);
    for (const transfer& t : own.transfers) {
      EXPECT_TRUE(own.ranks.contains(t.source_rank) || own.ranks.contains(t.destination_rank));
    }
  }
}

}  // namespace
}  // namespace spansort::plan::test
