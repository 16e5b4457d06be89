// SPDX-License-Identifier: Apache-2.0
// Processors within the quotas of control groups, of files that tests make up; threads that loops take.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/threads.hpp"
#include "spansort/errors.hpp"

namespace spansort::base {
namespace {

using files = std::map<std::string, std::string>;

unsigned processors_of(unsigned num_schedulable, const files& there) {
  return processors_within_quota(num_schedulable, [&](const std::string& path) {
    const auto file = there.find(path);
    return file == there.end() ? std::string() : file->second;
  });
}

/// A process in one group of version 2 whose file cpu.max holds `text`.
unsigned processors_with(const std::string& text) {
  return processors_of(16, {{"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", text}});
}

TEST(Processors, QuotaIsRoundedUp) {
  EXPECT_EQ(processors_with("200000 100000\n"), 2u);
  EXPECT_EQ(processors_with("200001 100000\n"), 3u);
  EXPECT_EQ(processors_with("1000 100000\n"), 1u);
  EXPECT_EQ(processors_with("50000 25000\n"), 2u);
}

TEST(Processors, SchedulableOnesAreTheMost) {
  EXPECT_EQ(processors_with("1700000 100000\n"), 16u);
  EXPECT_EQ(processors_with("18446744073709551615 1\n"), 16u);
  EXPECT_EQ(processors_with("0 100000\n"), 1u);
  EXPECT_EQ(processors_of(0, {}), 1u);
}

TEST(Processors, WhatIsNoQuotaIsIgnored) {
  for (const char* text : {"max 100000\n", "", "\n", "200000", "200000 \n", "200000 0\n", "x y\n", "-1 100000\n",
                           "99999999999999999999999 100000\n", "200000 x"}) {
    EXPECT_EQ(processors_with(text), 16u) << text;
  }
  for (const char* groups : {"", "\n", "0", "0:", "0::", "nonsense\n:\n", "1:memory:/a\n"}) {
    EXPECT_EQ(processors_of(16, {{"/proc/self/cgroup", groups}, {"/sys/fs/cgroup/a/cpu.max", "1 1"}}), 16u) << groups;
  }
}

TEST(Processors, EveryAncestorCounts) {
  const files there{{"/proc/self/cgroup", "0::/pod/box/\n"},
                    {"/sys/fs/cgroup/pod/box/cpu.max", "max 100000"},
                    {"/sys/fs/cgroup/pod/cpu.max", "300000 100000"},
                    {"/sys/fs/cgroup/cpu.max", "800000 100000"}};
  EXPECT_EQ(processors_of(16, there), 3u);
  EXPECT_EQ(processors_of(2, there), 2u);
}

TEST(Processors, ContainerSeesItsOwnGroupAsTheMountedFolder) {
  EXPECT_EQ(processors_of(16, {{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "250000 100000"}}), 3u);
  EXPECT_EQ(processors_of(16, {{"/proc/self/cgroup", "2:memory:/docker/1\n3:cpuacct,cpu:/docker/1\n"},
                               {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n"},
                               {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}),
            2u);
}

TEST(Processors, VersionOneKeepsQuotaAndPeriodApart) {
  const std::string folder = "/sys/fs/cgroup/cpu/a/";
  files there{{"/proc/self/cgroup", "1:name=systemd:/a\n4:cpu:/a\n5:cpuset:/b\n"},
              {folder + "cpu.cfs_quota_us", "400000\n"},
              {folder + "cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(processors_of(16, there), 4u);
  there[folder + "cpu.cfs_quota_us"] = "-1\n";
  EXPECT_EQ(processors_of(16, there), 16u);
  there[folder + "cpu.cfs_quota_us"] = "400000\n";
  there.erase(folder + "cpu.cfs_period_us");
  EXPECT_EQ(processors_of(16, there), 16u);
}

TEST(Processors, OfBothVersionsTheSmallerQuotaCounts) {
  EXPECT_EQ(processors_of(16, {{"/proc/self/cgroup", "4:cpu:/a\n0::/a\n"},
                               {"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "400000"},
                               {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000"},
                               {"/sys/fs/cgroup/a/cpu.max", "200000 100000"}}),
            2u);
}

TEST(Processors, ThisProcessHasSome) {
  EXPECT_GE(num_processors(), 1u);
  EXPECT_EQ(resolve_threads(0), num_processors());
  EXPECT_EQ(resolve_threads(1), 1u);
  EXPECT_EQ(resolve_threads(1024), num_processors()) << "more threads than processors are never had";
  EXPECT_THROW(static_cast<void>(resolve_threads(1025)), invalid_argument);
}

TEST(Threads, LoopsTakeNoMoreThanAsked) {
  const auto width = [] { return tbb::this_task_arena::max_concurrency(); };
  const auto processors = static_cast<int>(num_processors());
  tbb::task_arena wide(7);
  wide.execute([&] {
    EXPECT_EQ(with_threads(1, width), 1);
    EXPECT_EQ(with_threads(5, width), std::min(5, processors));
    EXPECT_EQ(with_threads(9, width), std::min(7, processors));
  });
}

}  // namespace
}  // namespace spansort::base
