// SPDX-License-Identifier: Apache-2.0
// Cuts found from samples are those of multisequence selection: random runs of random sizes, few and many equal keys,
// every rank of small inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "plan/sampled_cuts.hpp"
#include "plan/split_runs.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

using run_keys = std::vector<std::vector<std::uint64_t>>;

struct found_cut {
  std::vector<std::uint64_t> positions;
  unsigned num_rounds = 0;
};

found_cut cut_by_samples(const run_keys& runs, std::uint64_t num_first) {
  std::vector<std::uint64_t> sizes;
  for (const auto& run : runs) sizes.push_back(run.size());
  plan::cut_bracket bracket = plan::first_bracket(sizes, num_first);
  found_cut found;
  while (!bracket.is_closed() && found.num_rounds < 100) {
    run_keys sampled(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (const std::uint64_t at : plan::sample_positions(bracket.low[i], bracket.high[i])) {
        sampled[i].push_back(runs[i].at(at));
      }
    }
    plan::narrow(bracket, num_first, sampled);
    ++found.num_rounds;
  }
  found.positions = bracket.low;
  return found;
}

std::vector<std::uint64_t> cut_by_selection(const run_keys& runs, std::uint64_t num_first) {
  std::vector<plan::sorted_run> sorted;
  for (const auto& run : runs) sorted.push_back({run.data(), run.size()});
  return plan::split_runs({key_type::u64, false, keys::tie_rule::by_bits}, sorted, num_first);
}

run_keys draw_runs(random_words& random, std::size_t num_runs, std::uint64_t most_keys, std::uint64_t num_values) {
  run_keys runs(num_runs);
  for (auto& run : runs) {
    run.resize(random.below(4) == 0 ? 0 : random.below(most_keys + 1));
    for (std::uint64_t& key : run) key = random.below(num_values);
    std::ranges::sort(run);
  }
  return runs;
}

std::uint64_t total_of(const run_keys& runs) {
  std::uint64_t total = 0;
  for (const auto& run : runs) total += run.size();
  return total;
}

TEST(sampled_cuts, EveryRankOfSmallRuns) {
  for (std::uint64_t c = 0; c < num_cases(60); ++c) {
    random_words random(seed_for(c));
    const run_keys runs = draw_runs(random, 1 + random.below(5), 90, 1 + random.below(200));
    for (std::uint64_t num_first = 0; num_first <= total_of(runs); ++num_first) {
      ASSERT_EQ(cut_by_samples(runs, num_first).positions, cut_by_selection(runs, num_first))
          << "case " << c << ", rank " << num_first;
    }
  }
}

TEST(sampled_cuts, LargeRunsTakeFewRounds) {
  for (std::uint64_t c = 0; c < num_cases(60); ++c) {
    random_words random(seed_for(1000 + c));
    const std::uint64_t num_values = c % 3 == 0 ? 1 + random.below(3) : ~std::uint64_t{0};
    const run_keys runs = draw_runs(random, 1 + random.below(20), 20'000, num_values);
    const std::uint64_t num_first = random.below(total_of(runs) + 1);
    const found_cut found = cut_by_samples(runs, num_first);
    ASSERT_EQ(found.positions, cut_by_selection(runs, num_first)) << "case " << c << ", rank " << num_first;
    EXPECT_LE(found.num_rounds, 6U) << "case " << c << ", rank " << num_first;
  }
}

TEST(sampled_cuts, RunsOfVeryDifferentSizes) {
  run_keys runs{std::vector<std::uint64_t>(100'000, 7), {7}, {}, std::vector<std::uint64_t>(70, 7), {6, 8}};
  for (const std::uint64_t num_first : {0ULL, 1ULL, 2ULL, 50'000ULL, 100'001ULL, 100'002ULL, 100'072ULL, 100'073ULL}) {
    EXPECT_EQ(cut_by_samples(runs, num_first).positions, cut_by_selection(runs, num_first)) << num_first;
  }
}

}  // namespace
}  // namespace spansort::test
