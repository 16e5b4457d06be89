// SPDX-License-Identifier: Apache-2.0
// Pairs of 32 bits that are sorted tile by tile are compared with a stable sort: in tiles of a thousand pairs, in
// arrays that begin nowhere in particular, with keys that repeat or deceive the sample, and where results are taken.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>
#include <vector>

#include "device/host/heavy_pairs.hpp"
#include "device/host/host_device.hpp"
#include "device/host/tiled_pairs.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

using key = std::uint32_t;

enum class kind { uniform, crowded, repeated, any_length, narrow, special, nearly_all_one };
constexpr kind all_kinds[] = {kind::uniform, kind::crowded, kind::repeated,      kind::any_length,
                              kind::narrow,  kind::special, kind::nearly_all_one};

std::vector<key> make_keys(kind what, std::uint64_t num_keys, std::mt19937_64& random) {
  std::vector<key> keys(num_keys);
  for (key& k : keys) {
    const key x = static_cast<key>(random());
    switch (what) {
      case kind::crowded: k = x & static_cast<key>(random()); break;
      case kind::repeated: k = random() % 8 == 0 ? x : x % 50 * 0x1234567; break;
      case kind::any_length: k = x >> random() % 32; break;
      case kind::narrow: k = 0x40000000 + x % 6000; break;
      case kind::special: k = random() % 8 == 0 ? x : x % 4 == 0 ? x >> 8 << 31 : ~(x & 3); break;
      case kind::nearly_all_one: k = x % 8 == 0 ? static_cast<key>(random()) : 77; break;
      default: k = x; break;
    }
  }
  return keys;
}

/// This holds pairs that begin nowhere in particular, between red zones.
struct pairs {
  explicit pairs(const std::vector<key>& given) : num_pairs(given.size()) {
    std::memcpy(keys.data() + before, given.data(), num_pairs * sizeof(key));
    for (std::uint64_t i = 0; i < num_pairs; ++i) values[before + i].word = static_cast<std::uint32_t>(i);
  }
  [[nodiscard]] split_records<key, value4> records() { return {keys.data() + before, values.data() + before}; }
  [[nodiscard]] bool has_red_zones() const {
    const auto is_whole = [&](std::uint64_t i) { return keys[i] == untouched && values[i].word == untouched; };
    for (std::uint64_t i = 0; i < before; ++i) {
      if (!is_whole(i)) return false;
    }
    for (std::uint64_t i = before + num_pairs; i < keys.size(); ++i) {
      if (!is_whole(i)) return false;
    }
    return true;
  }

  static constexpr std::uint64_t before = 3;
  static constexpr std::uint64_t behind = 70;
  static constexpr key untouched = 0xDEADBEEF;
  std::uint64_t num_pairs;
  std::vector<key> keys = std::vector<key>(before + num_pairs + behind, untouched);
  std::vector<value4> values = std::vector<value4>(before + num_pairs + behind, value4{untouched});
};

/// Notes which records have been handed over.
class noting_flow : public base::record_flow {
 public:
  explicit noting_flow(std::uint64_t num_records) : times_(num_records) {}
  void wait_for(std::uint64_t) override {}
  void finished(std::uint64_t begin, std::uint64_t count) noexcept override {
    const std::scoped_lock lock(one_at_a_time_);
    for (std::uint64_t i = begin; i < begin + count; ++i) ++times_.at(i);
  }
  [[nodiscard]] const std::vector<int>& times() const { return times_; }

 private:
  std::mutex one_at_a_time_;
  std::vector<int> times_;
};

class tiled_pairs_test : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_packed_buckets()) GTEST_SKIP() << "vectors of this machine are too narrow";
  }

  [[nodiscard]] static std::vector<std::uint32_t> stable_order(const keys::codec_of<key>& codec,
                                                               const std::vector<key>& given) {
    std::vector<std::uint32_t> order(given.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
      return codec.encode(given[left]) < codec.encode(given[right]);
    });
    return order;
  }

  static void expect_sorted(const keys::codec_of<key>& codec, const std::vector<key>& given, pairs& sorted) {
    const std::vector<std::uint32_t> order = stable_order(codec, given);
    const split_records<key, value4> found = sorted.records();
    for (std::uint64_t i = 0; i < given.size(); ++i) {
      ASSERT_EQ(std::uint32_t{found.values[i].word}, order[i]) << "value " << i << " of " << given.size();
      ASSERT_EQ(found.keys[i], given[order[i]]) << "key " << i << " of " << given.size();
    }
    ASSERT_TRUE(sorted.has_red_zones());
  }

  /// Sorts by the class itself; large buckets, if any, are left to a stable sort. Returns how many there are.
  static std::size_t sort_tiles(const keys::codec_of<key>& codec, pairs& all, unsigned num_threads,
                                const sort_limits& limits) {
    workers team(num_threads, -1);
    team.prepare_scratch();
    const split_records<key, value4> from = all.records();
    pairs beside(std::vector<key>(all.num_pairs));
    noting_flow flow(all.num_pairs);
    const sort_watch watch(nullptr, &flow);
    tiled_pairs_sorter sorter(team, codec, limits);
    EXPECT_TRUE(sorter.choose(from.keys, all.num_pairs));
    sorter.partition(from, beside.records(), all.num_pairs, watch, true);
    EXPECT_TRUE(beside.has_red_zones());
    sorter.sort_buckets(from, watch, 0);
    std::vector<int> expected(all.num_pairs, 1);
    for (const sort_segment& s : sorter.large_buckets()) {
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(s.begin), s.count, 0);
      sort_large(codec, from + s.begin, s.count);
    }
    EXPECT_EQ(flow.times(), expected) << "not every record was handed over once";
    return sorter.large_buckets().size();
  }

  std::mt19937_64 random_{test::base_seed()};

 private:
  static void sort_large(const keys::codec_of<key>& codec, split_records<key, value4> bucket, std::uint64_t count) {
    const std::vector<key> given(bucket.keys, bucket.keys + count);
    const std::vector<value4> values(bucket.values, bucket.values + count);
    const std::vector<std::uint32_t> order = stable_order(codec, given);
    for (std::uint64_t i = 0; i < count; ++i) bucket.put(i, {given[order[i]], values[order[i]]});
  }
};

TEST_F(tiled_pairs_test, AreSortedStably) {
  const tbb::global_control more_than_processors(tbb::global_control::max_allowed_parallelism, 3);
  const sort_limits limits{.tiled_pairs = 0, .tile_pairs = 1000, .stream_pairs_bytes = 1};
  for (const key_type type : {key_type::u32, key_type::i32, key_type::f32}) {
    for (const bool descending : {false, true}) {
      const auto codec = keys::key_codec{type, descending, keys::tie_rule::by_input_order}.of<key>();
      for (const std::uint64_t num_keys : {4096, 4097, 70'001, 300'000}) {
        for (const kind what : all_kinds) {
          SCOPED_TRACE(testing::Message()
                       << "seed " << test::base_seed() << ", type " << static_cast<int>(type)
                       << (descending ? " descending" : " ascending") << ", kind " << static_cast<int>(what));
          const std::vector<key> given = make_keys(what, num_keys, random_);
          pairs all(given);
          EXPECT_EQ(sort_tiles(codec, all, num_keys % 2 == 0 ? 1 : 3, limits), 0U);
          expect_sorted(codec, given, all);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

/// The samples of any number of keys that a test asks for are lower than all others.
std::vector<key> deceiving_keys(std::uint64_t num_keys, std::mt19937_64& random) {
  std::vector<key> keys = make_keys(kind::uniform, num_keys, random);
  for (key& k : keys) k |= 1U << 24;
  for (std::uint64_t num_samples = 512; num_samples <= 8192; num_samples *= 2) {
    const key_sampler<key> sampled(keys.data(), num_keys, num_samples);
    for (std::uint64_t i = 0; i < num_samples; ++i)
      keys[sampled.place_of(i)] = i % 2 == 0 ? 3 : static_cast<key>(random() % 65'536);
  }
  return keys;
}

TEST_F(tiled_pairs_test, BucketsThatFindNoRoomAreLeft) {
  const auto codec = keys::key_codec{key_type::u32, false, keys::tie_rule::by_input_order}.of<key>();
  const std::vector<key> given = deceiving_keys(300'001, random_);
  for (const unsigned num_threads : {1U, 2U}) {
    pairs all(given);
    EXPECT_EQ(sort_tiles(codec, all, num_threads, {}), 1U);
    expect_sorted(codec, given, all);
  }
}

TEST_F(tiled_pairs_test, WhatIsInOrderOrTooFewOrOfFewKeysIsNotTheirs) {
  const auto codec = keys::key_codec{key_type::u32, false, keys::tie_rule::by_input_order}.of<key>();
  workers team(1, -1);
  team.prepare_scratch();
  const sort_limits limits{.tiled_pairs = 5000};
  std::vector<key> keys = make_keys(kind::crowded, 5000, random_);
  EXPECT_TRUE(tiled_pairs_sorter(team, codec, limits).choose(keys.data(), keys.size()));
  EXPECT_FALSE(tiled_pairs_sorter(team, codec, limits).choose(keys.data(), keys.size() - 1));
  std::vector<key> few = keys;
  for (key& k : few) k %= 30;
  EXPECT_FALSE(tiled_pairs_sorter(team, codec, limits).choose(few.data(), few.size()));
  std::sort(keys.begin(), keys.end());
  EXPECT_FALSE(tiled_pairs_sorter(team, codec, limits).choose(keys.data(), keys.size()));
  std::reverse(keys.begin(), keys.end());
  EXPECT_FALSE(tiled_pairs_sorter(team, codec, limits).choose(keys.data(), keys.size()));
}

/// The whole sort of a device sorts large buckets, too. Tiles move fewer bytes than levels do.
TEST_F(tiled_pairs_test, ADeviceSortsThem) {
  const keys::key_codec codec{.type = key_type::u32, .descending = false};
  for (const unsigned num_threads : {1U, 2U}) {
    const auto bytes_moved = [&](const std::vector<key>& given, std::uint64_t fewest_pairs) {
      const auto on = make_host_device(
          {.num_threads = num_threads, .limits = {.few_values_keys = 1U << 30, .tiled_pairs = fewest_pairs}});
      on->prepare();
      const auto work = on->make_queue();
      pairs all(given);
      pairs beside(given);
      local_sort_outcome outcome;
      work->local_sort({.shape = {codec, sizeof(value4)},
                        .source = {all.records().keys, all.records().values},
                        .alternate = {beside.records().keys, beside.records().values},
                        .segments = {{0, all.num_pairs, {0, 32}}},
                        .outcome = &outcome});
      work->synchronize();
      expect_sorted(codec.of<key>(), given, all);
      EXPECT_TRUE(beside.has_red_zones());
      return outcome.bytes_moved;
    };
    for (const bool deceives : {false, true}) {
      const std::vector<key> given =
          deceives ? deceiving_keys(300'001, random_) : make_keys(kind::any_length, 300'001, random_);
      const std::uint64_t in_tiles = bytes_moved(given, sort_limits{}.tiled_pairs);
      const std::uint64_t by_levels = bytes_moved(given, given.size() + 1);
      if (has_packed_buckets() && !deceives) {
        EXPECT_LT(in_tiles, by_levels);
      }
    }
  }
}

}  // namespace
}  // namespace spansort::device::host
