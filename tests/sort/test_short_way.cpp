// SPDX-License-Identifier: Apache-2.0
// Small arrays of keys alone: every type, at sizes around the steps of their sort, the options that send a call another
// way, and what the short way may not change: the checks of arguments, and the workspace of a sorter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/threads.hpp"
#include "device/host/shared_sort.hpp"
#include "device/host/small_sort.hpp"
#include "sort/short_way.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/guarded_array.hpp"

namespace spansort::test {
namespace {

std::vector<std::uint64_t> sizes_of(key_type type) {
  std::vector<std::uint64_t> sizes{0,   1,   2,   3,    7,    8,    9,    15,   16,   17,   31,   32,   33,   48,
                                   63,  64,  65,  100,  127,  128,  129,  192,  255,  256,  257,  300,  511,  512,
                                   513, 700, 900, 1023, 1024, 1025, 1500, 2047, 2048, 2049, 3000, 4097, 8192, 10000};
  const std::uint64_t most = device::host::most_small_bytes / size_bytes(type);
  if (!is_small_scale()) sizes.insert(sizes.end(), {most - 1, most, most + 1});
  return sizes;
}

class short_way_test : public testing::TestWithParam<key_type> {};

TEST_P(short_way_test, SortsEverySizeAndDistribution) {
  const key_type type = GetParam();
  std::uint64_t round = 0;
  for (const distribution& d : all_distributions()) {
    for (const std::uint64_t n : sizes_of(type)) {
      const std::uint64_t seed = seed_for(++round);
      const oracle expected = make_oracle(type, n, d, seed, round % 2 == 0);
      guarded_array keys(expected.input(), 0);
      const key_span span(type, keys.data(), n);
      const direction way = keys::direction_of(expected.descending());
      if (round % 3 == 0) {
        spansort::sort(span, way, sort_options{.devices = "cpu"});
      } else {
        spansort::sort(span, way);
      }
      const std::string what = std::to_string(n) + " keys, " + to_string(d) + " of seed " + std::to_string(seed);
      ASSERT_EQ(diagnose_bytes("keys", expected.keys_alone(), keys.bytes(), size_bytes(type)), "") << what;
      ASSERT_EQ(keys.corruption(), "") << what;
    }
  }
}

/// Sorted keys to which others have been added: none, few, and as many as are sorted with all, or more.
TEST_P(short_way_test, SortsWhatIsInOrderButForATail) {
  const key_type type = GetParam();
  const std::uint64_t width = size_bytes(type);
  std::uint64_t round = 0;
  for (const std::uint64_t n : {257U, 300U, 1'000U, 5'000U, 20'000U, 300'000U}) {
    if (is_small_scale() && n > 20'000) continue;
    for (const std::uint64_t num_added : {std::uint64_t{1}, std::uint64_t{2}, n / 100, n / 24, n / 24 + 1, n / 10}) {
      const bool descending = ++round % 2 == 0;
      const std::vector<std::byte> all = make_keys(type, n, {distribution_kind::special_floats}, seed_for(round));
      const oracle front({type, all.data(), n - num_added}, descending);
      std::vector<std::byte> input(front.keys_alone().begin(), front.keys_alone().end());
      input.insert(input.end(), all.end() - static_cast<std::ptrdiff_t>(num_added * width), all.end());
      const oracle expected({type, input.data(), n}, descending);
      guarded_array keys(expected.input(), 0);
      spansort::sort(key_span(type, keys.data(), n), keys::direction_of(descending));
      ASSERT_EQ(diagnose_bytes("keys", expected.keys_alone(), keys.bytes(), width), "")
          << n << " keys, " << num_added << " of them added, of seed " << seed_for(round);
      ASSERT_EQ(keys.corruption(), "");
    }
  }
}

/// More than one thread takes alone.
TEST_P(short_way_test, SortsMiddleSizes) {
  const key_type type = GetParam();
  std::uint64_t round = 0;
  for (const distribution& d : all_distributions()) {
    if (++round % 3 != 0) continue;
    const std::uint64_t n = (is_small_scale() ? 140'000 : 290'000) + 1001 * round;
    const oracle expected = make_oracle(type, n, d, seed_for(round), round % 2 == 0);
    guarded_array keys(expected.input(), 0);
    sorter s(sort_options{.threads = static_cast<unsigned>(round % 4)});
    s.sort(key_span(type, keys.data(), n), keys::direction_of(expected.descending()));
    const std::string what =
        std::to_string(n) + " keys, " + to_string(d) + " of seed " + std::to_string(seed_for(round));
    ASSERT_EQ(diagnose_bytes("keys", expected.keys_alone(), keys.bytes(), size_bytes(type)), "") << what;
    ASSERT_EQ(keys.corruption(), "") << what;
  }
}

/// Calls without a sorter take memory of the process for more keys than threads share where they lie.
TEST_P(short_way_test, SortsMoreWithoutASorter) {
  const key_type type = GetParam();
  const std::uint64_t most = device::host::most_shared_bytes(4, size_bytes(type)) / size_bytes(type);
  std::uint64_t round = 0;
  for (const distribution& d : all_distributions()) {
    if (++round % (is_small_scale() ? 9 : 5) != 0) continue;
    const std::uint64_t n = most + 1 + 1001 * round;
    const oracle expected = make_oracle(type, n, d, seed_for(round), round % 2 == 0);
    guarded_array keys(expected.input(), 0);
    spansort::sort(key_span(type, keys.data(), n), keys::direction_of(expected.descending()),
                   {.devices = "cpu", .threads = 4});
    const std::string what =
        std::to_string(n) + " keys, " + to_string(d) + " of seed " + std::to_string(seed_for(round));
    ASSERT_EQ(diagnose_bytes("keys", expected.keys_alone(), keys.bytes(), size_bytes(type)), "") << what;
    ASSERT_EQ(keys.corruption(), "") << what;
  }
}

/// Returns keys that are all different, or of some 500 values.
std::vector<std::uint64_t> many_keys(std::uint64_t num_keys, bool are_few) {
  std::vector<std::uint64_t> keys(num_keys);
  for (std::uint64_t i = 0; i < num_keys; ++i) keys[i] = (are_few ? i * i % 1009 : i + 1) * 0x9E3779B97F4A7C15U;
  return keys;
}

/// Two threads share keys of 64 bits up to 24 MiB where they lie, and look at up to 32 MiB of keys and of pairs.
TEST(ShortWay, SortsAroundItsLargestSizes) {
  if (is_small_scale()) GTEST_SKIP() << "these take long under sanitizers";
  for (const std::uint64_t mib : {26, 34}) {
    for (const bool are_few : {false, true}) {
      std::vector<std::uint64_t> keys = many_keys((mib << 20) / 8, are_few);
      std::vector<std::uint64_t> expected = keys;
      std::ranges::sort(expected);
      spansort::sort(keys);
      EXPECT_TRUE(keys == expected) << mib << " MiB" << (are_few ? " of few values" : "");

      const std::vector<std::uint64_t> input = many_keys((mib << 20) / 16, are_few);
      std::vector<std::uint64_t> order(input.size());
      std::iota(order.begin(), order.end(), 0);
      std::vector<std::uint64_t> values = order;
      std::ranges::stable_sort(order, {}, [&](std::uint64_t i) { return input[i]; });
      keys = input;
      spansort::sort_pairs(keys, values);
      EXPECT_TRUE(values == order) << mib << " MiB" << (are_few ? " of few values" : "");
      std::vector<std::uint64_t> indices(input.size());
      spansort::argsort(input, indices);
      EXPECT_TRUE(indices == order) << mib << " MiB" << (are_few ? " of few values" : "");
    }
  }
}

/// Keys alone of up to 64 MiB are sorted in place on one thread and two, but for a few runs, which others merge.
TEST(ShortWay, SortsInPlaceWithoutASorter) {
  if (is_small_scale()) GTEST_SKIP() << "these take long under sanitizers";
  constexpr std::uint64_t most_keys = device::host::most_bytes_in_place / sizeof(std::uint64_t);
  const bool goes_in_place = device::host::has_shared_sort(sizeof(std::uint64_t));
  for (const unsigned threads : {1U, 2U}) {
    const sort_options options{.devices = "cpu", .threads = threads};
    for (const std::uint64_t num_keys : {most_keys / 2 + 1, most_keys, most_keys + 1}) {
      const std::string what = std::to_string(num_keys) + " keys on " + std::to_string(threads) + " threads";
      const std::vector<std::uint64_t> given = many_keys(num_keys, false);
      std::vector<std::uint64_t> expected = given;
      std::ranges::sort(expected);
      std::vector<std::uint64_t> keys = given;
      const bool is_sorted = sorting::sort_in_place(as_key_span(std::span(keys)), direction::ascending, options);
      EXPECT_EQ(is_sorted, goes_in_place && num_keys <= most_keys) << what;
      EXPECT_TRUE(keys == (is_sorted ? expected : given)) << what;
      keys = given;
      spansort::sort(keys, direction::ascending, options);
      EXPECT_TRUE(keys == expected) << what;
      std::ranges::rotate(keys, keys.begin() + static_cast<std::ptrdiff_t>(num_keys / 3));
      EXPECT_FALSE(sorting::sort_in_place(as_key_span(std::span(keys)), direction::ascending, options)) << what;
      spansort::sort(keys, direction::ascending, options);
      EXPECT_TRUE(keys == expected) << "two runs of " << what;
    }
  }
}

std::vector<std::uint32_t> random_keys(std::uint64_t num_keys, std::uint64_t number) {
  std::vector<std::uint32_t> keys(num_keys);
  generate(as_key_span(std::span(keys)), {}, seed_for(number));
  return keys;
}

/// Large keys of values that repeat are sorted where they lie on one thread and two, and others are left alone.
TEST(ShortWay, SettlesLargeKeysThatRepeat) {
  if (is_small_scale()) GTEST_SKIP() << "these take long under sanitizers";
  if (!device::host::has_shared_sort(sizeof(std::uint32_t))) GTEST_SKIP() << "this machine has no vectors";
  constexpr std::uint64_t num_keys = device::host::most_settled_bytes / sizeof(std::uint32_t) + 12'345;
  const std::vector<std::uint32_t> random = random_keys(num_keys, 7);
  const auto made_of = [&](auto change) {
    std::vector<std::uint32_t> keys = random;
    for (std::uint32_t& key : keys) key = change(key);
    return keys;
  };
  const std::vector<std::uint32_t> few = made_of([](std::uint32_t key) { return key % 16 * 0x1234567; });
  const std::vector<std::uint32_t> heavy = made_of([](std::uint32_t key) { return key % 8 != 0 ? 77 : key; });
  const std::vector<std::uint32_t> narrow = made_of([](std::uint32_t key) { return 0x40000000 + (key & 0xFFFF); });
  std::vector<std::uint32_t> ordered = few;
  std::ranges::sort(ordered);
  for (const direction d : {direction::ascending, direction::descending}) {
    const auto settles = [&](std::vector<std::uint32_t> keys, unsigned threads) {
      std::vector<std::uint32_t> expected = keys;
      const key_span all = as_key_span(std::span(keys));
      EXPECT_FALSE(sorting::sort_short(all, d, threads));
      const bool is_sorted = sorting::sort_repeats(all, d, threads, false);
      if (is_sorted) {
        std::ranges::sort(expected);
        if (d == direction::descending) std::ranges::reverse(expected);
      }
      EXPECT_TRUE(keys == expected) << threads << " threads, " << (is_sorted ? "sorted wrongly" : "touched");
      return is_sorted;
    };
    for (const unsigned threads : {1U, 2U}) {
      EXPECT_TRUE(settles(few, threads)) << "16 values on " << threads;
      EXPECT_TRUE(settles(heavy, threads)) << "a heavy value on " << threads;
      EXPECT_TRUE(settles(narrow, threads)) << "16 bits on " << threads;
      EXPECT_FALSE(settles(random, threads)) << threads;
    }
    if (base::resolve_threads(0) >= 4) {
      EXPECT_FALSE(settles(few, 4)) << "many threads have a device";
    }
    EXPECT_FALSE(settles(ordered, 2)) << "a device looks for order";
    std::vector<std::uint32_t> misplaced = narrow;
    std::ranges::sort(misplaced);
    misplaced.front() = 0xFFFFFFFF;
    EXPECT_FALSE(settles(misplaced, 2)) << "and for what is misplaced";
    std::vector<std::uint32_t> stretches = narrow;
    for (std::uint64_t i = 0; i < num_keys; ++i) stretches[i] = narrow[i / 4];
    EXPECT_FALSE(settles(stretches, 2)) << "counters would wait for themselves";
  }
}

INSTANTIATE_TEST_SUITE_P(Sort, short_way_test,
                         testing::Values(key_type::u8, key_type::i8, key_type::u16, key_type::i16, key_type::u32,
                                         key_type::i32, key_type::u64, key_type::i64, key_type::f16, key_type::bf16,
                                         key_type::f32, key_type::f64),
                         [](const testing::TestParamInfo<key_type>& type) { return std::string(name(type.param)); });

/// Sorts 5,000 keys and returns whether the sorter took workspace for them.
bool takes_workspace(const sort_options& options) {
  std::vector<std::uint32_t> keys = random_keys(5000, 1);
  sorter s(options);
  s.sort(keys);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  return s.workspace_bytes() != 0;
}

TEST(ShortWay, IsTakenWhereNothingSpeaksAgainstIt) {
  EXPECT_FALSE(takes_workspace({}));
  EXPECT_FALSE(takes_workspace({.devices = "cpu"}));
  EXPECT_FALSE(takes_workspace({.devices = "host:1", .threads = 1}));
  EXPECT_FALSE(takes_workspace({.algorithm = algorithm::single}));
  EXPECT_TRUE(takes_workspace({.devices = "host:2"}));
  EXPECT_TRUE(takes_workspace({.algorithm = algorithm::rmg}));
  EXPECT_TRUE(takes_workspace({.memory_limit_bytes = 1 << 30}));
  EXPECT_TRUE(takes_workspace({.device_memory_bytes = 1 << 30}));
  EXPECT_TRUE(takes_workspace({.tuning = {.radix_bits = 3}}));
  EXPECT_TRUE(takes_workspace({.tuning = {.epsilon = 0.1}}));
  EXPECT_TRUE(takes_workspace({.tuning = {.fuse_threshold = 0.1}}));
  const base::test_hooks_scope hooks({.host_inline_keys = 100});
  EXPECT_TRUE(takes_workspace({}));
}

TEST(ShortWay, IsNotTakenByReportsAndProgress) {
  sort_report report;
  EXPECT_TRUE(takes_workspace({.report = &report}));
  EXPECT_EQ(report.num_keys, 5000u);
  bool was_called = false;
  EXPECT_TRUE(takes_workspace({.on_progress = [&](const progress&) { return was_called = true; }}));
  EXPECT_TRUE(was_called);
}

TEST(ShortWay, RefusesWhatOtherWaysRefuse) {
  std::vector<std::uint32_t> keys{3, 1, 2};
  const key_span span = as_key_span(std::span(keys));
  EXPECT_THROW(spansort::sort(key_span(key_type::u32, nullptr, 3)), invalid_argument);
  EXPECT_THROW(spansort::sort(key_span(key_type::u32, reinterpret_cast<std::byte*>(keys.data()) + 1, 2)),
               invalid_argument);
  EXPECT_THROW(spansort::sort(key_span(key_type::f64, &keys, std::numeric_limits<std::uint64_t>::max())),
               invalid_argument);
  EXPECT_THROW(spansort::sort(span, {.threads = 1025}), invalid_argument);
  EXPECT_THROW(spansort::sort(span, {.tuning = {.epsilon = std::numeric_limits<double>::quiet_NaN()}}),
               invalid_argument);
  EXPECT_EQ(keys, (std::vector<std::uint32_t>{3, 1, 2}));
  spansort::sort(key_span(key_type::u32, nullptr, 0));
}

TEST(ShortWay, ThreadsHaveScratchOfTheirOwn) {
  std::vector<std::string> mistakes(4);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < mistakes.size(); ++t) {
    threads.emplace_back([t, &mistakes] {
      for (std::uint64_t round = 0; round < 50; ++round) {
        // Some are sorted with the threads that only one call at a time has.
        const std::uint64_t n = round % 10 == 9 ? 150'000 + round : 100 + 777 * round;
        std::vector<std::uint32_t> keys = random_keys(n, 1000 * t + round);
        std::vector<std::uint32_t> expected = keys;
        std::sort(expected.begin(), expected.end());
        spansort::sort(keys);
        if (keys != expected) mistakes[t] = "wrong in round " + std::to_string(round);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& mistake : mistakes) EXPECT_EQ(mistake, "");
}

}  // namespace
}  // namespace spansort::test
