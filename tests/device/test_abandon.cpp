// SPDX-License-Identifier: Apache-2.0
// Local sorts whose arrays nobody wants any more: they stop between two tasks wherever they are, and what was done
// afterwards is counted, not timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <vector>

#include "device/host/host_device.hpp"
#include "device/host/sort_level.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

/// Is told of buckets that are sorted, and asks to abandon the sort at the first of them.
class abandoning_flow final : public base::record_flow {
 public:
  explicit abandoning_flow(monitor& watch) : watch_(watch) {}
  void wait_for(std::uint64_t /*count*/) override {}
  void finished(std::uint64_t /*begin*/, std::uint64_t /*count*/) noexcept override {
    ++num_finished;
    watch_.abandon_requested = true;
  }

  std::atomic<unsigned> num_finished{0};

 private:
  monitor& watch_;
};

class abandon_test : public testing::TestWithParam<unsigned> {
 protected:
  static constexpr std::uint64_t num_keys = 60'000;

  /// Sorts keys, with values of 8 bytes or none, in buckets of which each thread gets many.
  void sort(unsigned value_bytes, abandoning_flow* flow) {
    std::mt19937_64 random(test::base_seed());
    for (std::uint64_t& key : keys_) key = random();
    const auto on = make_host_device({.num_threads = GetParam(),
                                      .limits = {.inline_keys = 10,
                                                 .vector_inline_bytes = 0,
                                                 .word_inline_keys = 0,
                                                 .vector_alone_keys = 0,
                                                 .bucket_bytes = 4096,
                                                 .class_bytes = 4096,
                                                 .class_memory_parts = 0,
                                                 .radix_bits = 6}});
    on->prepare();
    const auto work = on->make_queue();
    work->set_monitor(&watch_);
    work->local_sort({.shape = {{.type = key_type::u64}, value_bytes},
                      .source = {keys_.data(), value_bytes == 0 ? nullptr : values_.data()},
                      .alternate = {other_keys_.data(), value_bytes == 0 ? nullptr : other_values_.data()},
                      .segments = {{0, num_keys, {0, 64}}},
                      .flow = flow});
    work->synchronize();
  }

  monitor watch_;
  std::vector<std::uint64_t> keys_ = std::vector<std::uint64_t>(num_keys);
  std::vector<std::uint64_t> values_ = keys_, other_keys_ = keys_, other_values_ = keys_;
};

TEST_P(abandon_test, NoTaskBeginsAfterwards) {
  for (const unsigned value_bytes : {0U, 8U}) {
    watch_.abandon_requested = false;
    abandoning_flow flow(watch_);
    EXPECT_THROW(sort(value_bytes, &flow), cancelled) << value_bytes;
    EXPECT_GE(flow.num_finished, 1U) << value_bytes;
    // Each thread ends the task that it is at.
    EXPECT_LE(flow.num_finished, GetParam()) << value_bytes;
  }
}

/// A large input is counted and partitioned in many pieces, also by one thread, which looks between them.
TEST_P(abandon_test, PiecesAreSmall) {
  constexpr std::uint64_t large = std::uint64_t{1} << 30;
  constexpr std::uint64_t most_piece_keys = std::uint64_t{1} << 23;
  EXPECT_LE(cut_into_pieces(large, GetParam(), sort_limits{}.piece_keys)[0].count, most_piece_keys);
}

TEST_P(abandon_test, TheNextSortIsWhole) {
  watch_.abandon_requested = true;
  EXPECT_THROW(sort(8, nullptr), cancelled);
  watch_.abandon_requested = false;
  sort(8, nullptr);
  EXPECT_TRUE(std::is_sorted(keys_.begin(), keys_.end()));
}

INSTANTIATE_TEST_SUITE_P(Threads, abandon_test, testing::Values(1U, 2U));

}  // namespace
}  // namespace spansort::device::host
