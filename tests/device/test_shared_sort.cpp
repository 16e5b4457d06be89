// SPDX-License-Identifier: Apache-2.0
// The sort that threads share, on more threads than there may be processors: random keys, keys that crowd, keys that
// repeat, and the threads that help with it, which come or do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "device/host/parked_threads.hpp"
#include "device/host/shared_sort.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class K>
void expect_sorts(key_type type, std::uint64_t num_keys, unsigned num_threads, unsigned kind, std::mt19937_64& random) {
  const keys::key_codec codec{.type = type, .descending = kind % 2 == 1};
  const auto of_width = codec.of<K>();
  std::vector<K> keys(num_keys);
  for (K& key : keys) {
    key = static_cast<K>(random());
    if (kind == 1) key &= static_cast<K>(random() & random() & random());
    if (kind == 2) key = static_cast<K>(key % 1000 * 0x10001);
    if (kind == 3) key = key % 50 == 0 ? key : K{7};
    if (kind == 4) key = static_cast<K>(key % 100);
  }
  if (kind == 5 && num_keys > 3) std::sort(keys.begin(), keys.end() - 3);
  std::vector<K> expected = keys;
  std::sort(expected.begin(), expected.end(),
            [&](K left, K right) { return of_width.encode(left) < of_width.encode(right); });
  sort_shared(codec, keys.data(), num_keys, num_threads);
  EXPECT_TRUE(keys == expected) << num_keys << " keys of kind " << kind << " on " << num_threads << " threads";
}

TEST(SharedSort, SortsOnAnyNumberOfThreads) {
  if (!has_shared_sort(4)) GTEST_SKIP() << "vectors of this machine are too narrow";
  std::mt19937_64 random(test::base_seed());
  for (const unsigned num_threads : {1U, 2U, 3U, 4U, 9U}) {
    for (const std::uint64_t num_keys : {1U, 63U, 1000U, 20'000U, 100'003U, 300'000U}) {
      for (unsigned kind = 0; kind < 6; ++kind) {
        expect_sorts<std::uint32_t>(key_type::f32, num_keys, num_threads, kind, random);
        expect_sorts<std::uint64_t>(key_type::i64, num_keys, num_threads, kind, random);
      }
    }
  }
}

struct count_of_threads {
  std::atomic<unsigned> begun = 0;
  std::atomic<bool> is_over = false;
  std::atomic<unsigned> late = 0;  ///< began when it was over

  static void run(void* argument, unsigned number) {
    auto& self = *static_cast<count_of_threads*>(argument);
    if (self.is_over) ++self.late;
    if (number >= 1) ++self.begun;
  }
};

TEST(ParkedThreads, BeginWhileTheyMayAndNoLater) {
  // They stay, like those of the library.
  static auto* const threads = new parked_threads;
  threads->start(3);
  unsigned most = 0;
  for (unsigned round = 0; round < 200; ++round) {
    count_of_threads counted;
    threads->open({count_of_threads::run, &counted});
    if (round % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    threads->close();
    counted.is_over = true;
    most = std::max(most, counted.begun.load());
    EXPECT_LE(counted.begun, 3U);
    EXPECT_EQ(counted.late, 0U);
  }
  EXPECT_GE(most, 1U);
}

}  // namespace
}  // namespace spansort::device::host
