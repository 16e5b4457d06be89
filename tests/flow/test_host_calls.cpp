// SPDX-License-Identifier: Apache-2.0
// Calls of the host in a queue's order: later work waits for them, they come after earlier work, and what they throw
// fails the queue.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/record_flow.hpp"
#include "device/host/host_device.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

TEST(HostCalls, AreInTheQueuesOrder) {
  const auto device = device::host::make_host_device({.num_threads = 2});
  const auto queue = device->make_queue();
  std::vector<char> from(1 << 20, 'x');
  std::vector<char> to(from.size());
  std::atomic<bool> may_copy{false};
  bool was_empty = false;
  bool was_full = false;
  queue->wait_for_host([&] {
    while (!may_copy) std::this_thread::yield();
    was_empty = to.back() == 0;
  });
  queue->copy(to.data(), from.data(), to.size(), "copy");
  queue->tell_host([&] { was_full = to == from; });
  may_copy = true;
  queue->synchronize();
  EXPECT_TRUE(was_empty);
  EXPECT_TRUE(was_full);
}

TEST(HostCalls, WhatTheyThrowFailsTheQueueOnce) {
  const auto device = device::host::make_host_device({.num_threads = 1});
  const auto queue = device->make_queue();
  bool was_told = false;
  queue->wait_for_host([] { throw std::runtime_error("it never came"); });
  queue->tell_host([&] { was_told = true; });
  EXPECT_THROW(queue->synchronize(), std::runtime_error);
  EXPECT_FALSE(was_told);
  queue->tell_host([&] { was_told = true; });
  queue->synchronize();
  EXPECT_TRUE(was_told);
}

/// Notes what a local sort says is finished, and whether that was so.
class noted_flow final : public base::record_flow {
 public:
  explicit noted_flow(const std::vector<std::uint32_t>& keys, const std::vector<std::uint32_t>& sorted)
      : keys_(keys), sorted_(sorted), is_finished_(keys.size()) {}

  void wait_for(std::uint64_t) override {}
  void finished(std::uint64_t begin, std::uint64_t count) noexcept override {
    const std::lock_guard lock(mutex_);
    for (std::uint64_t i = begin; i < begin + count; ++i) {
      is_finished_[i] = true;
      num_wrong += keys_[i] == sorted_[i] ? 0 : 1;
    }
  }
  [[nodiscard]] auto num_finished() const { return std::ranges::count(is_finished_, true); }

  std::uint64_t num_wrong = 0;

 private:
  const std::vector<std::uint32_t>& keys_;
  const std::vector<std::uint32_t>& sorted_;
  std::mutex mutex_;
  std::vector<bool> is_finished_;
};

TEST(HostCalls, ALocalSortTellsOfBucketsThatAreDone) {
  for (const unsigned crowded_bits : {32U, 12U, 3U}) {  // the last: buckets that are partitioned again, and equal keys
    std::vector<std::uint32_t> keys(100'003);
    random_words words(seed_for(crowded_bits));
    for (std::uint32_t& key : keys) key = static_cast<std::uint32_t>(words()) >> (32 - crowded_bits);
    keys[77] = 0xffffffff;
    std::vector<std::uint32_t> sorted = keys;
    std::ranges::sort(sorted);
    std::vector<std::uint32_t> alternate(keys.size());
    const auto device = device::host::make_host_device({.num_threads = 3,
                                                        .limits = {.inline_keys = 10,
                                                                   .vector_inline_bytes = 0,
                                                                   .vector_alone_keys = 0,
                                                                   .bucket_bytes = 1024,
                                                                   .piece_keys = 1000}});
    device->prepare();
    const auto queue = device->make_queue();
    noted_flow flow(keys, sorted);
    queue->local_sort({.shape = {{key_type::u32, false, keys::tie_rule::by_bits}, 0},
                       .source = {keys.data(), nullptr},
                       .alternate = {alternate.data(), nullptr},
                       .segments = {{0, keys.size(), {0, 32}}},
                       .flow = &flow});
    queue->synchronize();
    EXPECT_EQ(keys, sorted);
    EXPECT_EQ(flow.num_wrong, 0u) << crowded_bits;
    if (crowded_bits != 32) continue;
    EXPECT_EQ(flow.num_finished(), static_cast<std::ptrdiff_t>(keys.size()));
  }
}

}  // namespace
}  // namespace spansort::test
