// SPDX-License-Identifier: Apache-2.0
// Calls without a sorter leave their ranks to the next one, and nothing that would harm it.
#include <gtest/gtest.h>

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <span>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "algorithms/workspace.hpp"
#include "base/available_memory.hpp"
#include "base/threads.hpp"
#include "device/host/host_memory.hpp"
#include "sort/kept_ranks.hpp"
#include "sort/open_devices.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

const sorting::rank_kind kind_of_one = sorting::kind_of_ranks(1, true);
const sorting::rank_kind kind_of_two = sorting::kind_of_ranks(2, true);
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

/// A sum over keys in any order: another sort of so many would take long under sanitizers.
std::uint64_t fingerprint(const std::vector<std::uint64_t>& keys) {
  std::uint64_t sum = 0;
  for (const std::uint64_t key : keys) sum += (key ^ key >> 29) * 0x9E3779B97F4A7C15U;
  return sum;
}

/// Returns whether a call by these options sorts.
testing::AssertionResult sorts(std::uint64_t number, const sort_options& options = {.devices = "cpu", .threads = 2}) {
  std::vector<std::uint64_t> keys = random_keys(number);
  const std::uint64_t before = fingerprint(keys);
  spansort::sort(keys, options);
  const bool is_right = std::ranges::is_sorted(keys) && fingerprint(keys) == before;
  return is_right ? testing::AssertionSuccess() : testing::AssertionFailure() << "the result is wrong";
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
  EXPECT_TRUE(sorting::take_kept_ranks(sorting::kind_of_ranks(3, true)).empty());
  EXPECT_TRUE(sorting::take_kept_ranks(sorting::kind_of_ranks(2, false)).empty());
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
  sorting::keep_ranks(kind_of_one, sorting::open_ranks({}, {.across_nodes = true, .threads = 1}));
  EXPECT_TRUE(sorting::take_kept_ranks(kind_of_two).empty());
  EXPECT_TRUE(sorting::release_kept_ranks());
  EXPECT_FALSE(sorting::release_kept_ranks());
  EXPECT_TRUE(sorting::take_kept_ranks(kind_of_one).empty());
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
  const unsigned num_rounds = is_small_scale() ? 1 : 2;
  for (unsigned round = 0; round < num_rounds; ++round) {
    const sort_options options{.devices = "cpu", .threads = 2};
    EXPECT_TRUE(sorts(6 + round));
    const std::vector<std::uint64_t> given = random_keys(8 + round);
    const std::vector<std::uint64_t> order = spansort::argsort(given, options);
    std::vector<bool> is_there(many_keys);
    std::uint64_t num_misplaced = 0;
    for (std::uint64_t i = 0; i < many_keys; ++i) {
      is_there[order[i]] = true;
      if (i == 0) continue;
      const std::uint64_t left = given[order[i - 1]];
      const std::uint64_t right = given[order[i]];
      num_misplaced += left > right || (left == right && order[i - 1] > order[i]) ? 1 : 0;
    }
    EXPECT_EQ(num_misplaced, 0U) << "argsort, round " << round;
    EXPECT_EQ(std::count(is_there.begin(), is_there.end(), false), 0) << "argsort, round " << round;
    std::vector<std::uint64_t> keys = given;
    std::vector<std::uint64_t> values = expected_order;
    spansort::sort_pairs(keys, values, options);
    EXPECT_TRUE(values == order) << "pairs, round " << round;
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

TEST_F(KeptRanks, AreThoseOfTheProcessorsThatTheCallerMayUse) {
  if (base::resolve_threads(0) < 2) GTEST_SKIP() << "one processor";
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
  const sorting::rank_kind before = sorting::kind_of_ranks(2, true);
  sorting::keep_ranks(before, open_two_threads());
  cpu_set_t first = all;
  for (unsigned i = 0, found = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all) && found++ != 0) CPU_CLR(i, &first);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof(first), &first), 0);
  const bool is_same = sorting::kind_of_ranks(2, true) == before;
  ASSERT_EQ(::sched_setaffinity(0, sizeof(all), &all), 0);
  EXPECT_FALSE(is_same);
  EXPECT_EQ(sorting::take_kept_ranks(sorting::kind_of_ranks(2, true)).size(), 1U);
}

TEST_F(KeptRanks, AreGoneWhereACeilingIsPlanned) {
  sorting::keep_ranks(kind_of_two, open_two_threads());
  EXPECT_GT(sorting::resident_bytes_with_nothing_kept(), 0U);
  EXPECT_TRUE(sorting::take_kept_ranks(kind_of_two).empty());
}

/// Bytes of private memory that the kernel may take, as the file of the process says; 0 where it does not tell.
std::uint64_t reclaimable_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::stringstream text;
  text << file.rdbuf();
  return base::field_bytes(text.str(), "LazyFree", 0);
}

TEST_F(KeptRanks, HaveWorkspaceThatTheKernelMayTake) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers' memory is their own";
#endif
  constexpr std::uint64_t size_bytes = std::uint64_t{16} << 20;
  const auto workspace_that_was_written = [&] {
    std::vector<algorithms::rank> ranks = open_two_threads();
    ranks.front().slots.push_back(ranks.front().device->allocate(size_bytes));
    std::memset(ranks.front().slots.back().data(), 1, size_bytes);
    return ranks;
  };
  {
    std::vector<algorithms::rank> ranks = workspace_that_was_written();
    if (!device::host::make_reclaimable(ranks.front().slots.back().data(), size_bytes) ||
        reclaimable_bytes() < size_bytes) {
      GTEST_SKIP() << "this kernel has no such memory, or does not tell";
    }
  }
  {
    std::vector<algorithms::rank> ranks = open_two_threads();
    device::buffer slot = ranks.front().device->allocate(size_bytes);
    EXPECT_FALSE(device::host::seems_resident(slot.data(), size_bytes)) << "nothing has been written";
    std::memset(slot.data(), 1, size_bytes / 2);
    EXPECT_TRUE(device::host::seems_resident(slot.data(), size_bytes / 2));
    EXPECT_FALSE(device::host::seems_resident(slot.data(), size_bytes)) << "half of it has";
  }
  const std::uint64_t before = reclaimable_bytes();
  sorting::keep_ranks(kind_of_two, workspace_that_was_written());
  EXPECT_GE(reclaimable_bytes(), before + size_bytes);
  // Who takes it writes to it as to any other.
  const std::vector<algorithms::rank> taken = sorting::take_kept_ranks(kind_of_two);
  ASSERT_EQ(taken.size(), 1U);
  std::memset(taken.front().slots.back().data(), 2, size_bytes);
  EXPECT_LT(reclaimable_bytes(), before + size_bytes);
}

TEST_F(KeptRanks, GoWithAllElseThatFreeFunctionsKeep) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep what is freed";
#endif
  const sort_options options{.devices = "cpu", .threads = 2};
  std::vector<std::uint64_t> keys = random_keys(40, std::uint64_t{1} << 20);
  std::vector<std::uint64_t> values(keys.size());
  spansort::sort_pairs(keys, values, options);  // 16 MiB beside the arrays, in the memory of shared pairs
  EXPECT_TRUE(sorts(41, options));
  EXPECT_TRUE(sorts(42, options));  // 34 MiB in kept ranks
  const std::uint64_t before = base::resident_memory_bytes();
  release_kept_memory();
  EXPECT_LT(base::resident_memory_bytes() + (std::uint64_t{40} << 20), before);
  EXPECT_FALSE(sorting::release_kept_ranks());
  EXPECT_TRUE(sorts(43, options));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(KeptRanks, MakeRoomWhereMemoryIsScarce) {
  const sort_options options{.devices = "cpu", .threads = 2};
  EXPECT_TRUE(sorts(50, options));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // What a call on one thread has left is in the way of pairs on two, unless it goes.
    bool is_right =
        static_cast<bool>(sorts(51, options)) && static_cast<bool>(sorts(52, {.devices = "cpu", .threads = 1}));
    std::vector<std::uint64_t> keys = random_keys(53, many_keys * 3 / 4);
    std::vector<std::uint64_t> values = keys;
    std::ifstream sizes("/proc/self/statm");
    std::uint64_t num_pages = 0;
    sizes >> num_pages;
    const std::uint64_t used = num_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const rlimit limit{used + (std::uint64_t{56} << 20), RLIM_INFINITY};
    is_right &= ::setrlimit(RLIMIT_AS, &limit) == 0;
    try {
      spansort::sort_pairs(keys, values, options);
    } catch (const std::exception&) {
      ::_exit(2);
    }
    ::_exit(is_right && std::ranges::is_sorted(keys) && keys == values ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

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
