// SPDX-License-Identifier: Apache-2.0
// Shards in the memory of GPUs that are made up are sorted here: by the short way of one GPU and where it is not taken,
// where memory ends, where GPUs fail, and with lists of GPUs that a machine has or lacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "made_up_gpus/made_up_gpus.hpp"
#include "memory/fail_every_allocation.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/resident.hpp"

namespace spansort::test {
namespace {

using words = std::vector<std::uint32_t>;

constexpr std::uint64_t record_bytes = 8;  // a key of 4 bytes and a value of 4

words shuffled(std::uint64_t count) {
  words keys(count);
  for (std::uint64_t i = 0; i < count; ++i) keys[i] = static_cast<std::uint32_t>(i * 0x9E3779B9U >> 4);
  return keys;
}

words sorted(words keys) {
  std::ranges::sort(keys);
  return keys;
}

words positions(std::uint64_t count) {
  words all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

/// Shards of keys, and of values that count the records, each in the memory of a GPU.
class shards_on_gpus {
 public:
  explicit shards_on_gpus(const std::vector<words>& parts) {
    std::uint32_t first = 0;
    for (const words& part : parts) {
      words counted = positions(part.size());
      for (std::uint32_t& position : counted) position += first;
      first += static_cast<std::uint32_t>(part.size());
      keys_.push_back(std::make_unique<gpu_array<std::uint32_t>>(part));
      values_.push_back(std::make_unique<gpu_array<std::uint32_t>>(counted));
      shards_.push_back({.keys = keys_.back()->data(), .values = values_.back()->data(), .num_keys = part.size()});
    }
  }

  [[nodiscard]] sharded_keys sharded() { return {key_type::u32, shards_}; }
  [[nodiscard]] std::vector<shard>& shards() { return shards_; }
  [[nodiscard]] words keys() const { return all_of(keys_); }
  [[nodiscard]] words values() const { return all_of(values_); }
  [[nodiscard]] std::vector<void*> places_of_values() const {
    std::vector<void*> places;
    for (const auto& part : values_) places.push_back(part->data());
    return places;
  }

 private:
  using arrays = std::vector<std::unique_ptr<gpu_array<std::uint32_t>>>;
  [[nodiscard]] static words all_of(const arrays& parts) {
    words all;
    for (const auto& part : parts) {
      const words own = part->read();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  arrays keys_;
  arrays values_;
  std::vector<shard> shards_;
};

/// Returns what a device_error says, or "" where the call goes through.
std::string device_error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const device_error& failure) {
    return failure.what();
  }
  return "";
}

sort_options on(const char* devices) {
  sort_options options;
  options.devices = devices;
  return options;
}

TEST(ShardsOnMadeUpGpus, OneShardTakesTheShortWayOnItsStream) {
  const machine_scope scope(made_up_machine{});
  const words input = shuffled(1000);
  shards_on_gpus data({input});
  int stream = 0;
  data.shards()[0].stream = &stream;
  resident_sorter s(on("gpu:0"));
  s.argsort({key_type::u32, data.shards()}, data.places_of_values(), 4);
  words order = positions(1000);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return input[i]; });
  EXPECT_EQ(data.values(), order);
  EXPECT_EQ(data.keys(), input);
  s.sort_pairs(data.sharded(), 4);
  EXPECT_EQ(data.keys(), sorted(input));
  s.sort(data.sharded(), direction::descending);
  EXPECT_TRUE(std::ranges::is_sorted(data.keys(), std::greater{}));
  ASSERT_EQ(machine().calls.size(), 3u);
  for (const stream_call& call : machine().calls) {
    EXPECT_EQ(call.stream, &stream);
    EXPECT_EQ(call.keys, data.shards()[0].keys);
    EXPECT_TRUE(call.has_wishes);
  }
  EXPECT_EQ(machine().num_allocations, 1u) << "the workspace of the first call is large enough for the others";
}

TEST(ShardsOnMadeUpGpus, WhatIsToldOrLimitedGoesByADriver) {
  const machine_scope scope(made_up_machine{});
  const words input = shuffled(1000);
  sort_report report;
  unsigned num_told = 0;
  std::vector<std::function<void(sort_options&)>> changes{
      [&](sort_options& o) { o.report = &report; },
      [&](sort_options& o) { o.on_progress = [&](const progress&) { return ++num_told != 0; }; },
      [](sort_options& o) { o.memory_limit_bytes = std::uint64_t{1} << 29; },
      [](sort_options& o) { o.device_memory_bytes = std::uint64_t{1} << 29; },
      [](sort_options& o) { o.algorithm = algorithm::lsd_reduce_then_scan; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    sort_options options = on("gpu:0");
    changes[i](options);
    shards_on_gpus data({input});
    sort(data.sharded(), options);
    EXPECT_EQ(data.keys(), sorted(input)) << i;
    shards_on_gpus other({input});
    argsort({key_type::u32, other.shards()}, other.places_of_values(), 4, options);
    EXPECT_EQ(other.keys(), input) << i;
    EXPECT_EQ(input[other.values().front()], sorted(input).front()) << i;
  }
  EXPECT_TRUE(machine().calls.empty());
  EXPECT_GT(num_told, 0u);
  EXPECT_EQ(report.operation, "argsort");
  ASSERT_EQ(report.ranks.size(), 1u);
  EXPECT_EQ(report.ranks[0].device, "gpu:0");
}

TEST(ShardsOnMadeUpGpus, TheShortWayMakesDoWithoutWhatItWishesFor) {
  const words input = shuffled(1000);
  const machine_scope scope({.most_allocation_bytes = 1000 * record_bytes / 2});
  shards_on_gpus data({input});
  resident_sorter s(on("gpu:0"));
  s.sort_pairs(data.sharded(), 4);
  EXPECT_EQ(data.keys(), sorted(input));
  ASSERT_EQ(machine().calls.size(), 1u);
  EXPECT_FALSE(machine().calls[0].has_wishes);
  EXPECT_EQ(machine().num_allocations, 2u);
}

TEST(ShardsOnMadeUpGpus, TheShortWayWithoutMemoryTouchesNothing) {
  const words input = shuffled(1000);
  const machine_scope scope({.most_allocation_bytes = 1000 * record_bytes / 2 - 1});
  shards_on_gpus data({input});
  resident_sorter s(on("gpu:0"));
  try {
    s.sort_pairs(data.sharded(), 4);
    ADD_FAILURE() << "there was no memory";
  } catch (const out_of_memory& failure) {
    EXPECT_STREQ(failure.what(), "gpu:0: no room");
    EXPECT_EQ(failure.needed_bytes(), 1000 * record_bytes / 2);
    EXPECT_EQ(failure.device(), "gpu:0");
  }
  EXPECT_EQ(data.keys(), input);
  EXPECT_EQ(data.values(), positions(1000));
  EXPECT_TRUE(machine().calls.empty());
  machine().most_allocation_bytes = std::numeric_limits<std::uint64_t>::max();
  s.sort_pairs(data.sharded(), 4);
  EXPECT_EQ(data.keys(), sorted(input)) << "the sorter serves on";
}

TEST(ShardsOnMadeUpGpus, AFailureOnTheStreamSaysWhatIsLost) {
  const machine_scope scope({.fails_on_stream = true});
  shards_on_gpus data({shuffled(1000)});
  resident_sorter s(on("gpu:0"));
  EXPECT_EQ(device_error_of([&] { s.sort(data.sharded()); }),
            "gpu:0: a kernel failed; the result was being written: the data is neither input nor result");
  EXPECT_EQ(device_error_of([&] {
              s.argsort({key_type::u32, data.shards()}, data.places_of_values(), 4);
            }),
            "gpu:0: a kernel failed; the result was being written: the indices are neither input nor result, the keys "
            "are untouched");
  EXPECT_EQ(data.keys(), shuffled(1000));
}

TEST(ShardsOnMadeUpGpus, HostMemoryIsNoShardOfAGpu) {
  const machine_scope scope(made_up_machine{});
  words keys = shuffled(10);
  std::array<shard, 1> shards{{{.keys = keys.data(), .values = nullptr, .num_keys = keys.size()}}};
  const auto refusal_of = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const invalid_argument& refused) {
      return refused.what();
    }
    return "";
  };
  const std::string keys_elsewhere = "shard 0: its keys do not lie in the memory of gpu:0";
  EXPECT_EQ(refusal_of([&] { sort({key_type::u32, shards}, on("gpu:0")); }), keys_elsewhere);
  EXPECT_EQ(refusal_of([&] { static_cast<void>(is_sorted({key_type::u32, shards}, on("gpu:0"))); }), keys_elsewhere);
  shards_on_gpus data({keys});
  words values = positions(10);
  data.shards()[0].values = values.data();
  EXPECT_EQ(refusal_of([&] { sort_pairs(data.sharded(), 4, on("gpu:0")); }),
            "shard 0: its values do not lie in the memory of gpu:0");
  const std::array<void*, 1> indices{values.data()};
  EXPECT_EQ(refusal_of([&] {
              argsort({key_type::u32, data.shards()}, indices, 4, on("gpu:0"));
            }),
            "shard 0: its indices do not lie in the memory of gpu:0");
  EXPECT_EQ(data.keys(), shuffled(10));
  EXPECT_EQ(keys, shuffled(10));
}

TEST(ShardsOnMadeUpGpus, ListsNameGpusThatTheMachineHas) {
  const machine_scope scope({.num_gpus = 2});
  const words input = shuffled(2000);
  for (const char* const devices : {"gpu", "gpu:0,1", "gpu:1,0"}) {
    shards_on_gpus data({words(input.begin(), input.begin() + 700), words(input.begin() + 700, input.end())});
    sort(data.sharded(), on(devices));
    EXPECT_EQ(data.keys(), sorted(input)) << devices;
    EXPECT_TRUE(is_sorted({key_type::u32, data.shards()}, on(devices))) << devices;
  }
  EXPECT_EQ(device_error_of([] { resident_sorter(on("gpu:0,2")); }),
            "device list 'gpu:0,2': there is no GPU 2; this machine has 2");
  machine().num_gpus = 0;
  EXPECT_EQ(device_error_of([] { resident_sorter(on("gpu")); }),
            "device list 'gpu': no GPU can be used: none is made up");
}

/// Shards of two GPUs are sorted with each allocation of the host failing.
void fail_allocations_of_sorts(bool can_be_copied, std::uint64_t& num_said_to_be_lost) {
  const words input = shuffled(3000);
  const std::vector<words> parts{words(input.begin(), input.begin() + 1500), words(input.begin() + 1500, input.end())};
  std::unique_ptr<shards_on_gpus> data;
  resident_sorter s(on("gpu:0,1"));
  std::string said;
  fail_every_allocation(
      [&] {
        machine().cannot_be_copied_at_once = !can_be_copied;
        said.clear();
        data = std::make_unique<shards_on_gpus>(parts);
      },
      [&] {
        try {
          s.sort_pairs(data->sharded(), 4);
        } catch (const device_error& failure) {
          said = failure.what();
          throw;
        }
      },
      [&](bool has_thrown) -> std::string {
        // There may be no memory to say more than what failed.
        if (said.find("neither input nor result") != std::string::npos ||
            said == "no memory for the rest of the sort") {
          ++num_said_to_be_lost;
          return can_be_copied ? "said to be lost" : "";
        }
        if (data->keys() == sorted(input)) return "";
        if (!has_thrown) return "not sorted";
        return data->keys() == input && data->values() == positions(3000) ? "" : "neither input nor result: " + said;
      },
      failing_allocations::of_new);
}

TEST(ShardsOnMadeUpGpus, MemoryThatEndsInTheMidstLosesNothing) {
  if (!can_fail_memory()) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  const machine_scope scope({.num_gpus = 2});
  std::uint64_t num_lost = 0;
  fail_allocations_of_sorts(true, num_lost);
  EXPECT_EQ(num_lost, 0u);
}

TEST(ShardsOnMadeUpGpus, WhatCannotBeReadAnyMoreIsSaidToBeLost) {
  if (!can_fail_memory()) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  const machine_scope scope({.num_gpus = 2});
  std::uint64_t num_lost = 0;
  fail_allocations_of_sorts(false, num_lost);
  EXPECT_GT(num_lost, 0u);
}

}  // namespace
}  // namespace spansort::test
