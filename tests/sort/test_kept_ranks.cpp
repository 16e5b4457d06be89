// SPDX-License-Identifier: Apache-2.0
// Calls without a sorter leave their ranks to the next one, and nothing that would harm it.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "algorithms/workspace.hpp"
#include "sort/kept_ranks.hpp"
#include "sort/open_devices.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr sorting::rank_kind kind_of_two{2, true};
/// More than what the process sorts without a device.
constexpr std::uint64_t many_keys = (std::uint64_t{1} << 22) + (std::uint64_t{1} << 18);

std::vector<algorithms::rank> open_two_threads() {
  return sorting::open_ranks({}, {.across_nodes = true, .threads = 2});
}

std::vector<std::uint64_t> random_keys(std::uint64_t number, std::uint64_t num_keys = many_keys) {
  std::vector<std::uint64_t> keys(num_keys);
  generate(as_key_span(std::span(keys)), {}, seed_for(number));
  return keys;
}

/// Returns whether a call by these options sorts.
testing::AssertionResult sorts(std::uint64_t number, const sort_options& options = {.devices = "cpu", .threads = 2}) {
  std::vector<std::uint64_t> keys = random_keys(number);
  std::vector<std::uint64_t> expected = keys;
  std::ranges::sort(expected);
  spansort::sort(keys, options);
  return keys == expected ? testing::AssertionSuccess() : testing::AssertionFailure() << "the result is wrong";
}

/// Each test begins and ends with nothing kept.
class KeptRanks : public testing::Test {
 protected:
  void SetUp() override { sorting::release_kept_ranks(); }
  void TearDown() override { sorting::release_kept_ranks(); }
};

TEST_F(KeptRanks, GoToWhoeverWantsTheirKindOnce) {
  EXPECT_TRUE(sorting::take_kept_ranks(kind_of_two).empty());
  std::vector<algorithms::rank> left = open_two_threads();
  const device::device* const device = left.front().device.get();
  sorting::keep_ranks(kind_of_two, std::move(left));
  EXPECT_TRUE(sorting::take_kept_ranks({3, true}).empty());
  EXPECT_TRUE(sorting::take_kept_ranks({2, false}).empty());
  const std::vector<algorithms::rank> taken = sorting::take_kept_ranks(kind_of_two);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken.front().device.get(), device);
  EXPECT_TRUE(sorting::take_kept_ranks(kind_of_two).empty());
}

TEST_F(KeptRanks, HoldWorkspaceUpToALimit) {
  for (const std::uint64_t size_bytes : {std::uint64_t{1} << 20, sorting::most_kept_bytes() + 4096}) {
    std::vector<algorithms::rank> ranks = open_two_threads();
    // Of the larger one no page is ever written.
    ranks.front().slots.push_back(ranks.front().device->allocate(size_bytes));
    sorting::keep_ranks(kind_of_two, std::move(ranks));
    const std::vector<algorithms::rank> taken = sorting::take_kept_ranks(kind_of_two);
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(algorithms::held_bytes(taken) != 0, size_bytes <= sorting::most_kept_bytes()) << size_bytes;
  }
}

TEST_F(KeptRanks, KeepTheLastOnesAlone) {
  sorting::keep_ranks(kind_of_two, open_two_threads());
  sorting::keep_ranks({1, true}, sorting::open_ranks({}, {.across_nodes = true, .threads = 1}));
  EXPECT_TRUE(sorting::take_kept_ranks(kind_of_two).empty());
  EXPECT_TRUE(sorting::release_kept_ranks());
  EXPECT_FALSE(sorting::release_kept_ranks());
  EXPECT_TRUE(sorting::take_kept_ranks({1, true}).empty());
}

/// Returns whether a call by these options leaves its ranks.
bool leaves_ranks(const sort_options& options) {
  sorting::release_kept_ranks();
  EXPECT_TRUE(sorts(1, options));
  EXPECT_TRUE(sorts(2, options));  // the first call of all may sort in place
  return sorting::release_kept_ranks();
}

TEST_F(KeptRanks, AreLeftByCallsThatSetNoLimit) {
  EXPECT_TRUE(leaves_ranks({.devices = "cpu", .threads = 2}));
  EXPECT_TRUE(leaves_ranks({.devices = "cpu", .threads = 1}));
  EXPECT_TRUE(leaves_ranks({.devices = "cpu", .threads = 2, .on_progress = [](const progress&) { return true; }}));
  EXPECT_FALSE(leaves_ranks({.devices = "cpu", .threads = 2, .memory_limit_bytes = std::uint64_t{1} << 30}));
  EXPECT_FALSE(leaves_ranks({.devices = "host:2"}));
  sort_report report;
  EXPECT_FALSE(leaves_ranks({.devices = "cpu", .threads = 2, .report = &report}));
}

TEST_F(KeptRanks, AreNotLeftByASorter) {
  {
    sorter own({.devices = "cpu", .threads = 2});
    std::vector<std::uint64_t> keys = random_keys(3);
    own.sort(keys);
    EXPECT_TRUE(std::ranges::is_sorted(keys));
  }
  EXPECT_FALSE(sorting::release_kept_ranks());
}

TEST_F(KeptRanks, AreNotLeftByACallThatWasCancelled) {
  std::vector<std::uint64_t> keys = random_keys(4);
  const sort_options options{.devices = "cpu", .threads = 2, .on_progress = [](const progress&) { return false; }};
  EXPECT_THROW(spansort::sort(keys, options), cancelled);
  EXPECT_FALSE(sorting::release_kept_ranks());
  EXPECT_TRUE(sorts(5));
}

TEST_F(KeptRanks, ServeCallsOfOtherShapes) {
  std::vector<std::uint64_t> expected_order(many_keys);
  for (std::uint64_t i = 0; i < many_keys; ++i) expected_order[i] = i;
  for (unsigned round = 0; round < 2; ++round) {
    const sort_options options{.devices = "cpu", .threads = 2};
    EXPECT_TRUE(sorts(6 + round));
    const std::vector<std::uint64_t> given = random_keys(8 + round);
    std::vector<std::uint64_t> order = expected_order;
    std::ranges::stable_sort(order, {}, [&](std::uint64_t i) { return given[i]; });
    std::vector<std::uint64_t> keys = given;
    std::vector<std::uint64_t> values = expected_order;
    spansort::sort_pairs(keys, values, options);
    EXPECT_TRUE(values == order) << "pairs, round " << round;
    EXPECT_TRUE(spansort::argsort(given, options) == order) << "argsort, round " << round;
    // Values of 3 and of 24 bytes travel in scratch of the call: widened, and by an index.
    struct narrow {
      std::uint8_t bytes[3];
    };
    struct wide {
      std::uint64_t words[3];
    };
    std::vector<narrow> narrow_values(many_keys);
    std::vector<wide> wide_values(many_keys);
    for (std::uint64_t i = 0; i < many_keys; ++i) {
      narrow_values[i] = {
          {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i >> 16)}};
      wide_values[i] = {{i, i + 1, i + 2}};
    }
    keys = given;
    spansort::sort_pairs(keys, narrow_values, options);
    keys = given;
    spansort::sort_pairs(keys, wide_values, options);
    std::uint64_t num_wrong = 0;
    for (std::uint64_t i = 0; i < many_keys; ++i) {
      const auto& b = narrow_values[i].bytes;
      num_wrong += (b[0] | std::uint64_t{b[1]} << 8 | std::uint64_t{b[2]} << 16) != order[i] ? 1 : 0;
      num_wrong += wide_values[i].words[0] != order[i] || wide_values[i].words[2] != order[i] + 2 ? 1 : 0;
    }
    EXPECT_EQ(num_wrong, 0U) << "round " << round;
  }
}

TEST_F(KeptRanks, ServeOneCallAtATime) {
  std::vector<std::thread> callers;
  std::vector<int> are_right(3);
  for (unsigned caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&, caller] {
      bool is_right = true;
      for (unsigned round = 0; round < 3; ++round) {
        is_right &= static_cast<bool>(sorts(10 * caller + round, {.devices = "cpu", .threads = 1 + caller % 2}));
        if (caller == 2) release_kept_memory();
      }
      are_right[caller] = is_right ? 1 : 0;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(are_right, std::vector<int>(3, 1));
}

TEST_F(KeptRanks, StayBehindInAForkedProcess) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer allows no new threads behind a fork";
#endif
  ASSERT_TRUE(sorts(30));
  sorting::keep_ranks(kind_of_two, open_two_threads());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(sorting::take_kept_ranks(kind_of_two).empty() && sorts(31) && sorts(32) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(sorting::take_kept_ranks(kind_of_two).size(), 1U);
}

}  // namespace
}  // namespace spansort::test
