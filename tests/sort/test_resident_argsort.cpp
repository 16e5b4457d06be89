// SPDX-License-Identifier: Apache-2.0
// The stable order of keys that lie on devices: shards of any sizes, all types, ties, both widths of indices, against
// the oracle; and what is refused, limited or fails on the way.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/resident.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/select_check.hpp"
#include "support/shard_argsort.hpp"

namespace spansort::test {
namespace {

using sizes_of_shards = std::vector<std::uint64_t>;

sort_options argsort_options(const std::string& list, const test_tuning& tuning = {}) {
  sort_options options;
  options.devices = devices_under_test(list);
  options.tuning = tuning.options();
  return options;
}

/// Worlds that differ in what is partitioned, exchanged and sorted.
const std::vector<test_tuning>& argsort_worlds() {
  static const std::vector<test_tuning> all{
      {},
      {.radix_bits = 3},
      {.exchange_through_host = true},
      {.radix_bits = 4, .host_bucket_bytes = 512},
      {.radix_bits = 8, .fuse_threshold = 0, .host_separate_memory = true, .round_keys = 100}};
  return all;
}

class resident_argsort_test : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] sizes_of_shards some_sizes(std::uint64_t n) { return draw_sizes(n, num_shards, ++num_drawn_); }

  const std::string list = devices_under_test(GetParam());
  const std::size_t num_shards = devices_of_list(list).size();

 private:
  std::uint64_t num_drawn_ = 0;
};

TEST_P(resident_argsort_test, OrdersAllTypes) {
  std::uint64_t number = 0;
  for (const test_tuning& world : argsort_worlds()) {
    const base::test_hooks_scope hooks(world.hooks());
    resident_sorter s(argsort_options(GetParam(), world));
    for (const key_type type : all_key_types()) {
      for (const std::uint64_t n : {0U, 1U, 2U, 9U, 1000U, is_small_scale() ? 9'000U : 30'000U}) {
        ++number;
        const distribution d{number % 2 == 0 ? distribution_kind::special_floats : distribution_kind::uniform};
        const oracle expected = make_oracle(type, n, d, seed_for(n), number % 3 == 0);
        ASSERT_EQ(diagnose_argsort_of_shards(s, list, expected, some_sizes(n), number % 5 < 2 ? 4 : 8), "")
            << name(type) << ", n " << n;
      }
    }
  }
}

TEST_P(resident_argsort_test, KeysThatTieKeepTheirOrder) {
  const std::uint64_t n = is_small_scale() ? 10'000 : 40'000;
  resident_sorter s(argsort_options(GetParam()));
  for (const distribution& d : {distribution{distribution_kind::zero}, distribution{distribution_kind::zipf, 1.5},
                                distribution{distribution_kind::sorted}, distribution{distribution_kind::reverse},
                                distribution{distribution_kind::special_floats}}) {
    for (const key_type type : {key_type::u8, key_type::bf16, key_type::f32, key_type::f64}) {
      for (const bool descending : {false, true}) {
        const oracle expected = make_oracle(type, n, d, seed_for(7), descending);
        ASSERT_EQ(diagnose_argsort_of_shards(s, list, expected, some_sizes(n), 8), "") << name(type);
        ASSERT_EQ(diagnose_argsort_of_shards(s, list, expected, some_sizes(n), 4), "") << name(type);
      }
    }
  }
}

TEST_P(resident_argsort_test, OneShardMayHoldEverything) {
  const std::uint64_t n = 5'000;
  const oracle expected = make_oracle(key_type::f32, n, {distribution_kind::normal}, seed_for(3), true);
  for (std::size_t i = 0; i < num_shards; ++i) {
    sizes_of_shards sizes(num_shards, 0);
    sizes[i] = n;
    resident_sorter s(argsort_options(GetParam()));
    EXPECT_EQ(diagnose_argsort_of_shards(s, list, expected, sizes, 8), "") << "shard " << i;
  }
}

/// The order is that of the free function, and sorts between two calls leave it as it is.
TEST_P(resident_argsort_test, ASorterServesManyCalls) {
  sort_report report;
  sort_options options = argsort_options(GetParam());
  options.report = &report;
  resident_sorter s(options);
  for (const std::uint64_t n : {20'000U, 100U, 30'000U}) {
    const oracle expected = make_oracle(key_type::u64, n, {distribution_kind::normal}, seed_for(n), false);
    const sizes_of_shards sizes = some_sizes(n);
    ASSERT_EQ(diagnose_argsort_of_shards(s, list, expected, sizes, 8), "");
    EXPECT_EQ(report.operation, "argsort");
    EXPECT_EQ(report.num_keys, n);
    EXPECT_EQ(report.value_bytes, 8U);
    EXPECT_EQ(report.algorithm, num_shards == 1 ? "single" : "rmg");
    const argsort_of_shards job(list, expected, sizes, 4);
    argsort({key_type::u64, std::span<const shard>(job.shards)}, job.indices, 4, argsort_options(GetParam()));
    EXPECT_EQ(job.diagnose(), "");
    argsort_of_shards sorted(list, expected, sizes, 4);
    s.sort({key_type::u64, sorted.shards});
    EXPECT_TRUE(s.is_sorted({key_type::u64, std::span<const shard>(sorted.shards)}));
  }
}

/// The limit counts the copy of the keys, and the bytes that are named are enough.
TEST_P(resident_argsort_test, KeepsWithinALimitOfMemory) {
  const std::uint64_t n = 40'000;
  const oracle expected = make_oracle(key_type::u32, n, {distribution_kind::uniform}, seed_for(4), false);
  const argsort_of_shards job(list, expected, some_sizes(n), 8);
  for (const auto limit : {&sort_options::memory_limit_bytes, &sort_options::device_memory_bytes}) {
    sort_options options = argsort_options(GetParam());
    options.*limit = 1000;
    std::uint64_t needed = 0;
    std::uint64_t num_refused = 0;
    // Of several devices the first that lacks memory is named.
    for (bool is_refused = true; is_refused && num_refused <= num_shards;) {
      is_refused = false;
      try {
        resident_sorter s(options);
        job.run(s);
      } catch (const out_of_memory& e) {
        is_refused = true;
        ++num_refused;
        needed = e.needed_bytes();
        options.*limit = needed;
        EXPECT_EQ(job.diagnose_keys(), "");
      }
    }
    EXPECT_GT(num_refused, 0U);
    if (num_shards == 1) {
      EXPECT_GE(needed, n * (2 * sizeof(std::uint32_t) + 8));
    }
    EXPECT_EQ(job.diagnose(), "");
  }
}

TEST_P(resident_argsort_test, AnyAllocationMayFail) {
  const std::uint64_t n = 3'000;
  const oracle expected = make_oracle(key_type::u32, n, {distribution_kind::zipf, 1}, seed_for(5), false);
  std::uint64_t num_failed = 0;
  for (bool is_done = false; !is_done; ++num_failed) {
    ASSERT_LT(num_failed, 1000U);
    const argsort_of_shards job(list, expected, some_sizes(n), 4);
    const base::test_hooks_scope hooks({.fail_allocation_at = num_failed + 1});
    resident_sorter s(argsort_options(GetParam()));
    try {
      job.run(s);
      is_done = true;
    } catch (const out_of_memory&) {
      EXPECT_EQ(job.diagnose_keys(), "");
      job.run(s);
    }
    ASSERT_EQ(job.diagnose(), "") << "allocation " << num_failed + 1;
  }
  // On one GPU the only allocation is asked for again without memory for buckets.
  EXPECT_GT(num_failed, list == "gpu:0" ? 0 : 2 * num_shards);
}

TEST_P(resident_argsort_test, IsCancelledAtAnyTime) {
  const std::uint64_t n = 30'000;
  const oracle expected = make_oracle(key_type::f32, n, {distribution_kind::uniform}, seed_for(6), false);
  const argsort_of_shards job(list, expected, some_sizes(n), 8);
  unsigned num_calls = 0;
  unsigned calls_left = 0;
  sort_options options = argsort_options(GetParam());
  options.on_progress = [&](const progress& p) {
    ++num_calls;
    EXPECT_GE(p.fraction, 0);
    return calls_left-- != 0;
  };
  resident_sorter s(options);
  EXPECT_THROW(job.run(s), cancelled);
  EXPECT_EQ(num_calls, 1U);
  EXPECT_EQ(job.diagnose_keys(), "");
  calls_left = 1;
  EXPECT_THROW(job.run(s), cancelled);
  EXPECT_EQ(job.diagnose_keys(), "");
  calls_left = 1'000'000;
  job.run(s);
  EXPECT_EQ(job.diagnose(), "");
}

INSTANTIATE_TEST_SUITE_P(Sort, resident_argsort_test, testing::Values("host:1", "host:2", "host:3", "host:7"),
                         [](const auto& param) { return test_name(param.param); });

TEST(ResidentArgsort, ArgumentsAreChecked) {
  const std::string list = devices_under_test("host:2");
  const oracle expected = make_oracle(key_type::u32, 100, {distribution_kind::uniform}, seed_for(3), false);
  resident_sorter s(argsort_options("host:2"));
  const auto failure = [&](const auto& spoil) -> std::string {
    argsort_of_shards job(list, expected, {50, 50}, 8);
    spoil(job);
    try {
      job.run(s);
    } catch (const invalid_argument& e) {
      return e.what();
    }
    return "no exception";
  };
  using job = argsort_of_shards;
  const auto moved = [](void* memory, std::uint64_t bytes) -> void* { return static_cast<std::byte*>(memory) + bytes; };
  EXPECT_EQ(failure([](job&) {}), "no exception");
  EXPECT_EQ(failure([](job& j) {
              j.shards.pop_back();
              j.indices.pop_back();
            }),
            "1 shards for 2 devices: expected one a device");
  EXPECT_EQ(failure([](job& j) { j.indices.pop_back(); }), "1 arrays of indices for 2 shards: expected one a shard");
  EXPECT_EQ(failure([](job& j) { j.index_bytes = 3; }), "indices: expected 4 or 8 bytes each, found 3");
  EXPECT_EQ(failure([](job& j) { j.index_bytes = 16; }), "indices: expected 4 or 8 bytes each, found 16");
  EXPECT_EQ(failure([](job& j) {
              j.index_bytes = 4;
              j.shards[0].num_keys = std::uint64_t{1} << 32;
            }),
            "4294967346 keys need 64-bit indices");
  EXPECT_EQ(failure([](job& j) { j.shards[0].keys = nullptr; }), "shard 0: null pointer for its keys");
  EXPECT_EQ(failure([](job& j) { j.indices[1] = nullptr; }), "shard 1: null pointer for its indices");
  EXPECT_EQ(failure([&](job& j) { j.shards[0].keys = moved(j.shards[0].keys, 2); }),
            "shard 0: keys are not aligned to 4 bytes");
  EXPECT_EQ(failure([&](job& j) { j.indices[0] = moved(j.indices[0], 4); }),
            "shard 0: indices are not aligned to 8 bytes");
  EXPECT_EQ(failure([](job& j) { j.indices[0] = j.shards[0].keys; }), "memory of the shards overlaps");
  EXPECT_EQ(failure([&](job& j) { j.indices[0] = moved(j.shards[0].keys, 8); }), "memory of the shards overlaps");
  // Room and values of the shards are of no interest.
  EXPECT_EQ(failure([](job& j) {
              j.shards[0].capacity = 1;
              j.shards[1].values = j.shards[1].keys;
            }),
            "no exception");
  EXPECT_EQ(failure([](job& j) {
              j.shards[0].num_keys = 0;
              j.shards[0].keys = nullptr;
              j.indices[0] = nullptr;
            }),
            "no exception");
  EXPECT_THROW(argsort({key_type::u32, std::span<const shard>()}, {}, 8, {.devices = "auto"}), invalid_argument);
}

TEST(ResidentArgsort, AnAlgorithmOfOneDeviceSortsOneShard) {
  sort_options options = argsort_options("host:2");
  options.algorithm = algorithm::single;
  resident_sorter s(options);
  const oracle expected = make_oracle(key_type::u32, 100, {distribution_kind::uniform}, seed_for(3), false);
  const argsort_of_shards job(devices_under_test("host:2"), expected, {50, 50}, 8);
  EXPECT_THROW(job.run(s), invalid_argument);
}

TEST(ResidentArgsort, GoesByAnyAlgorithmForOneDevice) {
  const std::string list = devices_under_test("host:1");
  const oracle expected = make_oracle(key_type::f32, 20'000, {distribution_kind::zipf, 1}, seed_for(8), false);
  for (const algorithm a : {algorithm::single, algorithm::rmg, algorithm::lsd_reduce_then_scan, algorithm::satish_radix,
                            algorithm::satish_merge, algorithm::paradis}) {
    if (!is_offered(a)) continue;
    sort_options options = argsort_options("host:1");
    options.algorithm = a;
    resident_sorter s(options);
    EXPECT_EQ(diagnose_argsort_of_shards(s, list, expected, {20'000}, 8), "") << name(a);
  }
}

}  // namespace
}  // namespace spansort::test
