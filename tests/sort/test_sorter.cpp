// SPDX-License-Identifier: Apache-2.0
// The reusable sorter: many calls of growing and shrinking size and changing type, moves, workspace; and sorts of
// several threads at once.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

operation random_operation(random_words& random) {
  constexpr unsigned widths[] = {1, 2, 4, 6, 8, 16, 20};
  switch (random.below(3)) {
    case 0: return {operation::kind::keys, 0};
    case 1: return {operation::kind::pairs, widths[random.below(std::size(widths))]};
    default: return {operation::kind::argsort, random.below(2) == 0 ? 4u : 8u};
  }
}

/// One random sort by `s`; "" or what is wrong.
std::string random_sort(sorter& s, bool descending, random_words& random, std::uint64_t max_keys) {
  const auto types = all_key_types();
  const auto distributions = all_distributions();
  const key_type type = types[random.below(types.size())];
  const distribution& d = distributions[random.below(distributions.size())];
  const std::uint64_t n = random.below(1 + random.below(max_keys));
  const operation op = random_operation(random);
  const std::string wrong = diagnose_sort(s, make_oracle(type, n, d, random(), descending), op);
  return wrong.empty() ? ""
                       : describe(op) + " of " + std::to_string(n) + " " + std::string(name(type)) + " keys, " +
                             to_string(d) + ": " + wrong;
}

class reuse_test : public testing::TestWithParam<std::size_t> {};

TEST_P(reuse_test, ManySortsOfChangingSizeAndType) {
  const engine& how = all_engines()[GetParam()];
  for (const bool descending : {false, true}) {
    sorter s = how.make_sorter();
    random_words random(seed_for(GetParam()));
    for (int i = 0; i < (is_small_scale() ? 10 : 40); ++i) {
      ASSERT_EQ(random_sort(s, descending, random, i % 10 == 9 ? 30'000 : 3000), "")
          << "call " << i << ", seed " << seed_for(GetParam()) << ", by " << how.describe();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sort, reuse_test, testing::Range(std::size_t{0}, all_engines().size()), [](const auto& param) {
  const engine& how = all_engines()[param.param];
  return test_name(std::to_string(param.param) + "_" + how.algorithm + "_" + how.devices);
});

TEST(Sorter, MovesTakeEverythingAlong) {
  sorter first(sort_options{.devices = "host:3", .algorithm = algorithm::rmg});
  random_words random(seed_for(1));
  ASSERT_EQ(random_sort(first, true, random, 3000), "");
  sorter second(std::move(first));
  ASSERT_EQ(random_sort(second, true, random, 3000), "");
  sorter third(sort_options{.devices = "cpu"});
  ASSERT_EQ(random_sort(third, false, random, 3000), "");
  third = std::move(second);
  ASSERT_EQ(random_sort(third, true, random, 3000), "");
  first = std::move(third);
  ASSERT_EQ(random_sort(first, true, random, 3000), "");
}

TEST(Sorter, KeepsWorkspaceUntilReleased) {
  for (const algorithm which : {algorithm::single, algorithm::rmg}) {
    sorter s(sort_options{.devices = "host:2", .algorithm = which});
    std::vector<std::uint64_t> keys(1 << 18);
    generate(as_key_span(std::span(keys)), {}, seed_for(1));
    auto again = keys;
    s.sort(keys);
    const std::uint64_t held = s.workspace_bytes();
    EXPECT_GT(held, 0u) << name(which);
    s.sort(again);
    EXPECT_EQ(s.workspace_bytes(), held) << name(which);
    EXPECT_EQ(again, keys);
    s.release_workspace();
    EXPECT_EQ(s.workspace_bytes(), 0u) << name(which);
    std::vector<float> more{2, 1};
    s.sort(more);
    EXPECT_EQ(more, (std::vector<float>{1, 2}));
  }
}

TEST(Sorter, WorkspaceGrowsAsDocumented) {
  // sort.hpp: n * (k + v), with several devices n * (k + v) * 1.01, + 1 MiB + 6 MiB a thread.
  for (const char* devices : {"cpu", "host:2", "host:5"}) {
    std::vector<std::uint64_t> keys(1 << 22);
    std::vector<std::uint64_t> values(keys.size());
    generate(as_key_span(std::span(keys)), {}, seed_for(1));
    sort_report report;
    sort_options options{.devices = devices};
    options.report = &report;
    sort_pairs(keys, values, options);
    std::uint64_t num_threads = 0;
    for (const rank_report& rank : report.ranks) num_threads += rank.num_threads;
    EXPECT_LE(report.workspace_bytes, keys.size() * 16 * 101 / 100 + (1 + 6 * num_threads) * (1u << 20)) << devices;
  }
}

TEST(Sorter, WorksAfterARefusedCall) {
  sorter s(sort_options{.devices = "host:2"});
  std::vector<int> keys{3, 1, 2};
  EXPECT_THROW(s.sort_pairs(as_key_span(std::span(keys)), keys.data(), 4), invalid_argument);
  s.sort(keys);
  EXPECT_EQ(keys, (std::vector<int>{1, 2, 3}));
}

/// Runs `num_threads` threads of random sorts at once, each with sorters of its own; reports the first mistake of each.
void run_threads(unsigned num_threads, int num_sorts, std::uint64_t max_keys) {
  std::vector<std::string> mistakes(num_threads);
  const auto work = [&](unsigned number) {
    random_words random(seed_for(number));
    for (int i = 0; i < num_sorts && mistakes[number].empty(); ++i) {
      const engine& how = all_engines()[random.below(all_engines().size())];
      const bool descending = random.below(2) == 1;
      sorter s = how.make_sorter();
      mistakes[number] = random_sort(s, descending, random, max_keys);
      if (!mistakes[number].empty()) mistakes[number] += ", by " + how.describe();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < num_threads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  for (unsigned i = 0; i < num_threads; ++i) EXPECT_EQ(mistakes[i], "") << "thread " << i << ", seed " << seed_for(i);
}

TEST(Concurrency, TwoThreadsSortLargeInputs) { run_threads(2, is_small_scale() ? 5 : 20, 400'000); }
TEST(Concurrency, EightThreadsOfRandomSorts) { run_threads(8, is_small_scale() ? 8 : 40, 5000); }

TEST(Concurrency, AThreadMayUseASorterThatAnotherMade) {
  auto s = std::make_unique<sorter>(sort_options{.devices = "host:3", .algorithm = algorithm::rmg});
  std::string mistake;
  std::thread([&] {
    random_words random(seed_for(1));
    mistake = random_sort(*s, false, random, 10'000);
  }).join();
  EXPECT_EQ(mistake, "");
  std::thread([&] { s.reset(); }).join();
}

}  // namespace
}  // namespace spansort::test
