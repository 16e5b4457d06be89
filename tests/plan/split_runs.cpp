// SPDX-License-Identifier: Apache-2.0
// Cuts of sorted runs, against a stable merge of them all.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/shares.hpp"
#include "keys/codec.hpp"
#include "plan/split_runs.hpp"
#include "random_input.hpp"

namespace spansort::plan::test {
namespace {

using u32 = std::uint32_t;
using cuts = std::vector<std::uint64_t>;

constexpr keys::key_codec u32_codec{key_type::u32};

/// Runs of keys below `num_values`, some empty; each offset by as much of its number as makes the runs overlap little,
/// much or not at all.
std::vector<std::vector<u32>> random_runs(generator& random) {
  const std::uint64_t num_values = std::uint64_t{1} << pick(random, 0, 31);
  const std::uint64_t step = pick(random, 0, 2) * num_values / 2;
  std::vector<std::vector<u32>> runs(pick(random, 1, 9));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].resize(pick(random, 0, 3) == 0 ? 0 : pick(random, 1, 60));
    for (u32& key : runs[i]) key = static_cast<u32>(i * step + pick(random, 0, num_values - 1));
    std::ranges::sort(runs[i]);
  }
  return runs;
}

template <class K>
std::vector<sorted_run> views(const std::vector<std::vector<K>>& runs) {
  std::vector<sorted_run> all;
  for (const std::vector<K>& run : runs) all.push_back({run.data(), run.size()});
  return all;
}

/// Element i: of which run the i-th key of the stable merge is.
std::vector<std::size_t> run_of_each(const std::vector<std::vector<u32>>& runs) {
  struct element {
    u32 key;
    std::size_t run;
  };
  std::vector<element> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const u32 key : runs[i]) all.push_back({key, i});
  }
  std::ranges::stable_sort(all, {}, &element::key);
  std::vector<std::size_t> found;
  for (const element& e : all) found.push_back(e.run);
  return found;
}

TEST(SplitRuns, EveryRankIsCutWhereAStableMergeWouldBe) {
  for_each_seed(200, [](generator& random) {
    const std::vector<std::vector<u32>> runs = random_runs(random);
    const std::vector<std::size_t> merged = run_of_each(runs);
    cuts expected(runs.size());
    for (std::uint64_t rank = 0; rank <= merged.size(); ++rank) {
      ASSERT_EQ(split_runs(u32_codec, views(runs), rank), expected) << "rank " << rank;
      if (rank < merged.size()) ++expected[merged[rank]];
    }
  });
}

TEST(SplitRuns, CutsFromALowerRankOnAreTheSame) {
  for_each_seed(200, [](generator& random) {
    const std::vector<std::vector<u32>> runs = random_runs(random);
    std::uint64_t num_keys = 0;
    for (const std::vector<u32>& run : runs) num_keys += run.size();
    const std::uint64_t num_parts = pick(random, 1, 8);
    cuts from(runs.size());
    for (std::uint64_t part = 0; part < num_parts; ++part) {
      const std::uint64_t rank = base::share_begin(num_keys, num_parts, part + 1);
      const cuts ends = split_runs(u32_codec, views(runs), rank, from);
      ASSERT_EQ(ends, split_runs(u32_codec, views(runs), rank)) << "rank " << rank;
      from = ends;
    }
    ASSERT_EQ(std::accumulate(from.begin(), from.end(), std::uint64_t{0}), num_keys);
  });
}

/// Keys that are equal by the codec are cut in run order, whatever their bits; descending runs are cut as such.
TEST(SplitRuns, FollowsTheCodec) {
  const std::vector<std::vector<float>> runs{{3, 0.0F, -0.0F, -1}, {2, -0.0F, 0.0F}, {0.0F}};
  const keys::key_codec codec{key_type::f32, true, keys::tie_rule::by_input_order};
  const std::vector<cuts> expected{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0},
                                   {3, 2, 0}, {3, 3, 0}, {3, 3, 1}, {4, 3, 1}};
  for (std::uint64_t rank = 0; rank < expected.size(); ++rank) {
    EXPECT_EQ(split_runs(codec, views(runs), rank), expected[rank]) << "rank " << rank;
  }
}

/// Expects that no key before the cuts is more than one behind them, and of equal keys none before is of a later run.
void expect_cuts_order(const std::vector<std::vector<u32>>& runs, const cuts& cut) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = 0; j < runs.size(); ++j) {
      if (cut[i] == 0 || cut[j] == runs[j].size()) continue;
      const u32 last_before = runs[i][cut[i] - 1];
      const u32 first_behind = runs[j][cut[j]];
      ASSERT_TRUE(last_before < first_behind || (last_before == first_behind && i <= j)) << "runs " << i << ", " << j;
    }
  }
}

TEST(SplitRuns, LargeRunsAreCutExactly) {
  for_each_seed(4, [](generator& random) {
    std::vector<std::vector<u32>> runs(16, std::vector<u32>(std::size_t{1} << 16));
    const u32 step = static_cast<u32>(pick(random, 0, 2));  // 0: all equal
    for (std::size_t i = 0; i < runs.size(); ++i) {
      u32 key = static_cast<u32>(pick(random, 0, 1000));
      for (u32& k : runs[i]) k = key += step * static_cast<u32>(pick(random, 0, i));
    }
    for (std::uint64_t part = 0; part <= 100; ++part) {
      const std::uint64_t rank = base::share_begin(std::uint64_t{1} << 20, 100, part);
      const cuts found = split_runs(u32_codec, views(runs), rank);
      ASSERT_EQ(std::accumulate(found.begin(), found.end(), std::uint64_t{0}), rank);
      expect_cuts_order(runs, found);
    }
  });
}

}  // namespace
}  // namespace spansort::plan::test
