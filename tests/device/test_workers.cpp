// SPDX-License-Identifier: Apache-2.0
// A team that helpers serve, of which calls use more threads or fewer: which threads work, and the memory they have.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/host/parked_threads.hpp"
#include "device/host/workers.hpp"

namespace spansort::device::host {
namespace {

TEST(Workers, OfATeamNoMoreWorkThanAreUsed) {
  static auto* const helpers = new parked_threads;  // which stay until the process ends
  constexpr unsigned most = 6;
  workers team(most, *helpers);
  EXPECT_EQ(team.most_threads(), most);
  for (const unsigned num_threads : {most, 2U, 1U, 4U, 2U, most}) {
    team.use_threads(num_threads);
    team.prepare_scratch();
    EXPECT_EQ(team.num_threads(), num_threads);
    constexpr std::uint64_t num_tasks = 200;
    std::atomic<std::uint64_t> num_done = 0;
    std::atomic<std::uint64_t> greatest = 0;
    team.for_each(num_tasks, [&](std::uint64_t, worker_scratch& scratch, std::size_t thread) {
      scratch.combining[0] = std::byte{1};
      std::uint64_t seen = greatest;
      while (seen < thread && !greatest.compare_exchange_weak(seen, thread)) {
      }
      ++num_done;
    });
    EXPECT_EQ(num_done, num_tasks);
    EXPECT_LT(greatest, num_threads);
    EXPECT_GE(team.scratch_bytes(), most * worker_scratch::size_bytes) << "those of others are kept";
  }
}

TEST(Workers, HaveSpareBlocksHoweverManyAreUsed) {
  static auto* const helpers = new parked_threads;
  workers team(5, *helpers);
  for (const std::uint64_t size_bytes : {std::uint64_t{64} << 10, std::uint64_t{100} << 10}) {
    for (const unsigned num_threads : {5U, 2U, 5U, 1U}) {
      team.use_threads(num_threads);
      std::memset(team.spare_blocks(size_bytes), 1, num_threads * size_bytes);  // a sanitizer sees what is not there
    }
  }
  EXPECT_GE(team.scratch_bytes(), 5 * (std::uint64_t{100} << 10));
}

TEST(Workers, HaveMemoryOfAnySize) {
  constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;
  for (const std::uint64_t size_bytes : {std::uint64_t{1}, std::uint64_t{4096}, huge_page_bytes + 64,
                                         2 * huge_page_bytes, 2 * huge_page_bytes + 64, 3 * huge_page_bytes - 1}) {
    const aligned_array<std::byte> memory = make_aligned<std::byte>(size_bytes);
    const std::uint64_t alignment = size_bytes < 2 * huge_page_bytes ? 4096 : huge_page_bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % alignment, 0U) << size_bytes;
    std::memset(memory.get(), 1, size_bytes);
  }
}

}  // namespace
}  // namespace spansort::device::host
