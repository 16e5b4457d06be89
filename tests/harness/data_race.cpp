// SPDX-License-Identifier: Apache-2.0
// Two tasks of a parallel loop add to one plain counter: the thread sanitizer must report it, whatever cmake/tsan says
// about the order of tasks.
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <atomic>

TEST(harness, notices_a_data_race) {
  long counter = 0;
  std::atomic<int> arrived{0};
  tbb::parallel_for(
      0, 2,
      [&](int) {
        // Both tasks meet here where two threads are to be had; elsewhere the loop below gives up after a while.
        arrived.fetch_add(1, std::memory_order_relaxed);
        for (int spin = 0; spin < 100'000'000 && arrived.load(std::memory_order_relaxed) < 2; ++spin) {
        }
        for (int i = 0; i < 1000; ++i) counter = counter + 1;
      },
      tbb::simple_partitioner());
  EXPECT_GT(counter, 0);
}
