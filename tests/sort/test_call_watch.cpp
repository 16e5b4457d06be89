// SPDX-License-Identifier: Apache-2.0
// Loops that ask their caller whether they go on: who asks, how often, and what becomes of what the callback throws.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/available_memory.hpp"
#include "base/call_watch.hpp"
#include "base/threads.hpp"
#include "spansort/abandon.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

using base::call_watch;
using base::stop_rule;

constexpr std::uint64_t num_elements = std::uint64_t{1} << 21;

/// Counts the elements that a loop over blocks comes by while `watch` is asked.
std::uint64_t num_visited(const call_watch& watch) {
  std::atomic<std::uint64_t> num = 0;
  base::for_blocks(num_elements, watch, [&](std::uint64_t begin, std::uint64_t end) { num += end - begin; });
  return num;
}

/// Does so on the thread that made the watch alone. With others it may come too late to ask: they take all blocks.
std::uint64_t num_visited_alone(const call_watch& watch) {
  std::uint64_t num = 0;
  base::with_threads(1, [&] { num = num_visited(watch); });
  return num;
}

/// Other threads come by a watch while its own asks; none of them calls the callback.
TEST(CallWatch, IsAskedByOneThreadAlone) {
  unsigned num_calls = 0;  // of a callback that is no other thread's
  const progress_callback fails = [&](const progress&) -> bool {
    ++num_calls;
    throw std::runtime_error("late");
  };
  const call_watch watch(fails, "gather", 1, stop_rule::when_abandoned);
  const auto ask_often = [&] {
    for (int i = 0; i < 1000; ++i) watch.ask();
  };
  std::thread other(ask_often);
  ask_often();
  other.join();
  EXPECT_EQ(num_calls, 1U);
}

/// A loop that must not be left half done keeps what its callback throws, does not call it again, and gives the
/// exception out when asked for it. All threads come by the watch that has it.
TEST(CallWatch, KeepsAnExceptionUntilTheEnd) {
  unsigned num_calls = 0;
  const progress_callback fails = [&](const progress&) -> bool {
    ++num_calls;
    throw std::runtime_error("late");
  };
  const call_watch watch(fails, "gather", 1, stop_rule::when_abandoned);
  EXPECT_EQ(num_visited_alone(watch), num_elements);
  EXPECT_EQ(num_visited(watch), num_elements);
  EXPECT_EQ(num_calls, 1U);
  EXPECT_THROW(watch.raise_late(), std::runtime_error);
}

TEST(CallWatch, StopsLoopsThatAreAbandoned) {
  const progress_callback leaves = [](const progress&) -> bool { throw abandoned("no more"); };
  for (const stop_rule rule : {stop_rule::at_once, stop_rule::when_abandoned}) {
    const call_watch watch(leaves, "gather", 1, rule);
    EXPECT_THROW(num_visited_alone(watch), abandoned);
    EXPECT_NO_THROW(watch.raise_late());
  }
}

TEST(CallWatch, ACallbackThatReturnsFalseStopsWhatMayBeStopped) {
  const progress_callback refuses = [](const progress&) { return false; };
  EXPECT_THROW(num_visited_alone(call_watch(refuses)), cancelled);
  const call_watch late(refuses, "gather", 1, stop_rule::when_abandoned);
  EXPECT_EQ(num_visited_alone(late), num_elements);
  EXPECT_NO_THROW(late.raise_late());
}

TEST(CallWatch, DoesNotAskWhoHasThrown) {
  unsigned num_calls = 0;
  const progress_callback counts = [&](const progress&) { return ++num_calls == 0; };
  const call_watch watch(counts, "gather", 1, stop_rule::unasked);
  EXPECT_EQ(num_visited(watch), num_elements);
  watch.in_parts(10, 8, [](std::uint64_t, std::uint64_t) {});
  EXPECT_EQ(num_calls, 0U);
}

/// Parts of wide elements are as short in time as those of narrow ones.
TEST(CallWatch, PartsAreOfSoManyBytes) {
  const progress_callback goes_on = [](const progress&) { return true; };
  const call_watch watch(goes_on);
  const std::uint64_t total = (std::uint64_t{1} << 22) + 3;
  for (const std::uint64_t width : {0ULL, 1ULL, 8ULL, 1024ULL, 1ULL << 16, 1ULL << 30}) {
    std::uint64_t next = 0;
    std::uint64_t most = 0;
    const std::uint64_t count = width < (1U << 30) ? total : 5;
    watch.in_parts(count, width, [&](std::uint64_t begin, std::uint64_t in_part) {
      EXPECT_EQ(begin, next);
      next += in_part;
      most = std::max(most, in_part);
    });
    EXPECT_EQ(next, count) << width;
    EXPECT_LT(most, count) << width;
    EXPECT_TRUE(most == 1 || most * width <= std::uint64_t{64} << 20) << width;
  }
}

/// Blocks of wide elements are small, so that all threads get some of a part.
TEST(CallWatch, BlocksAreOfSoManyBytes) {
  EXPECT_EQ(base::block_elements(1), base::most_block_elements);
  EXPECT_EQ(base::block_elements(16), base::most_block_elements);
  EXPECT_LT(base::block_elements(1024) * 1024, std::uint64_t{1} << 20);
  EXPECT_EQ(base::block_elements(std::uint64_t{1} << 40), 1U);
  std::vector<std::atomic<int>> seen(1000);
  base::for_blocks(
      seen.size(),
      [&](std::uint64_t begin, std::uint64_t end) {
        EXPECT_LE(end - begin, 7U);
        for (std::uint64_t i = begin; i < end; ++i) ++seen[i];
      },
      7);
  EXPECT_TRUE(std::ranges::all_of(seen, [](const std::atomic<int>& n) { return n == 1; }));
}

/// The process has grown by so many bytes where a sort itself begins, and where it has ended.
struct growth {
  std::uint64_t at_begin = 0;
  std::uint64_t at_end = 0;
};

growth growth_of_sort(std::vector<std::uint64_t> keys) {
  const std::uint64_t before = base::resident_memory_bytes();
  const auto grown = [&] { return std::max(base::resident_memory_bytes(), before) - before; };
  growth seen;
  sorter own({.devices = "cpu", .on_progress = [&](const progress& p) {
                if (p.phase == "start") seen.at_begin = grown();
                return true;
              }});
  own.sort(keys);
  seen.at_end = grown();
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  return seen;
}

/// Workspace is cleared before the sort, which is asked meanwhile, and only where the sort will write to it.
TEST(NewMemory, IsTouchedBeforeAPartitionAndNotWhereNoneIsNeeded) {
  if (is_small_scale()) GTEST_SKIP() << "sanitizers take memory of their own";
  constexpr std::uint64_t num_keys = std::uint64_t{9} << 20;
  constexpr std::uint64_t workspace_bytes = num_keys * sizeof(std::uint64_t);
  std::vector<std::uint64_t> keys(num_keys);
  for (std::uint64_t i = 0; i < num_keys; ++i) keys[i] = i << 20;
  EXPECT_LT(growth_of_sort(keys).at_end, workspace_bytes / 4) << "in order";
  std::ranges::reverse(keys);
  EXPECT_LT(growth_of_sort(keys).at_end, workspace_bytes / 4) << "descending";
  for (std::uint64_t i = 0; i < num_keys; ++i) keys[i] = i * 7919 % 5 << 40;
  EXPECT_LT(growth_of_sort(keys).at_end, workspace_bytes / 4) << "of few values";
  for (std::uint64_t i = 0; i < num_keys; ++i) keys[i] = i * 0x9E3779B97F4A7C15U;
  const growth partitioned = growth_of_sort(keys);
  EXPECT_GT(partitioned.at_end, workspace_bytes / 2);
  EXPECT_GE(partitioned.at_begin, workspace_bytes / 2);
}

TEST(NewMemory, IsNotTouchedOnceTheCallIsCancelled) {
  std::vector<std::uint64_t> keys(std::uint64_t{9} << 20);
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = i * 0x9E3779B97F4A7C15U;
  const std::vector<std::uint64_t> input = keys;
  unsigned num_calls = 0;
  sorter own({.devices = "cpu", .on_progress = [&](const progress&) {
                ++num_calls;
                return false;
              }});
  EXPECT_THROW(own.sort(keys), cancelled);
  EXPECT_EQ(num_calls, 1U);
  EXPECT_EQ(keys, input);
}

}  // namespace
}  // namespace spansort::test
