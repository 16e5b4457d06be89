// SPDX-License-Identifier: Apache-2.0
// The two ways of a GPU's own local sort of 8-byte keys, by buckets and by passes: each forced, and each chosen by a
// look at the keys. The number of passes in the report tells which one it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "device/cuda/tuning/even_keys_policy.hpp"
#include "gpu/gpu_sort_test.hpp"

namespace spansort::test {
namespace {

using base::gpu_buckets;
using kind = operation::kind;

constexpr unsigned num_lsd_passes = 8;

TEST(even_keys_test, AreWhatChanceMakes) {
  using device::cuda::are_even;
  constexpr std::uint64_t n = std::uint64_t{1} << 28;
  constexpr std::uint64_t samples = device::cuda::even_keys_sizes_of(n).samples;
  EXPECT_TRUE(are_even(n, 131'072, 2'080));
  EXPECT_TRUE(are_even(n, 131'072 + 4 * 362, 2'080 + 4 * 46));
  EXPECT_FALSE(are_even(n, 170'000, 2'080));            // buckets are uneven
  EXPECT_FALSE(are_even(n, 131'072, 2'048 + 16 * 32));  // 16 keys a bin
  EXPECT_FALSE(are_even(n, samples * (samples - 1) / 2, samples * (samples - 1) / 2));
  EXPECT_TRUE(are_even(64, 0, 40));
  constexpr std::uint64_t few = std::uint64_t{1} << 22;
  EXPECT_TRUE(are_even(few, 8'192 + 4 * 90, 640 + 4 * 25));
  EXPECT_FALSE(are_even(few, 11'000, 640));
  EXPECT_FALSE(are_even(few, 8'192, 512 + 16 * 128));  // 16 keys a bin
}

/// All levels of so few keys are one launch, but where blocks cannot meet.
struct bucket_case {
  gpu_buckets buckets = {};
  bool blocks_cannot_meet = false;
};

class gpu_bucket_sort_test : public gpu_sort_test, public testing::WithParamInterface<bucket_case> {
 protected:
  sorter sorter_of() {
    return reporting_sorter({.blocks_cannot_meet = GetParam().blocks_cannot_meet, .buckets = GetParam().buckets});
  }
};

TEST_P(gpu_bucket_sort_test, SortsAllTypesAndWidths) {
  const operation operations[] = {{kind::keys, 0},   {kind::pairs, 4},   {kind::pairs, 8},
                                  {kind::pairs, 16}, {kind::argsort, 4}, {kind::argsort, 8}};
  sorter s = sorter_of();
  for (const key_type type : {key_type::u64, key_type::i64, key_type::f64, key_type::u32}) {
    for (const bool descending : {false, true}) {
      for (const operation& op : operations) {
        for (const char* const shape : {"uniform", "zipf:1", "special-floats", "sorted", "reverse", "zero"}) {
          ASSERT_NO_FATAL_FAILURE(expect_sorted(s, type, 20'011, shape, op, descending));
        }
      }
    }
  }
}

TEST_P(gpu_bucket_sort_test, SortsSizesAroundItsLimits) {
  sorter s = sorter_of();
  for (const std::uint64_t n :
       {2U, 31U, 63U, 64U, 65U, 95U, 2'304U, 2'305U, 4'609U, 9'216U, 9'217U, 131'071U, 131'072U, 131'105U, 600'011U}) {
    for (const char* const shape : {"uniform", "entropy:4", "nearly-sorted", "reverse", "zero"}) {
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u64, n, shape, {kind::keys, 0}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::i64, n, shape, {kind::pairs, 8}, true));
    }
  }
}

/// Bins are small, and every sixteenth key is there twice.
TEST_P(gpu_bucket_sort_test, KeepsTheOrderOfFewTies) {
  sorter s = sorter_of();
  for (const std::uint64_t n : {20'011U, 600'011U}) {
    std::vector<std::uint64_t> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t x = (i % (n - n / 16) + 1) * 0x9e3779b97f4a7c15ULL;
      keys[i] = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL;
    }
    for (const direction d : {direction::ascending, direction::descending}) {
      std::vector<std::uint64_t> order(n);
      std::iota(order.begin(), order.end(), std::uint64_t{0});
      std::vector<std::uint64_t> expected = order;
      std::ranges::stable_sort(expected, [&](std::uint64_t a, std::uint64_t b) {
        return d == direction::ascending ? keys[a] < keys[b] : keys[b] < keys[a];
      });
      std::vector<std::uint64_t> sorted = keys;
      s.sort_pairs(sorted, order, d);
      EXPECT_EQ(order, expected) << n;
      for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(sorted[i], keys[expected[i]]) << i;
    }
  }
}

TEST_P(gpu_bucket_sort_test, GoesTheWayThatIsAskedFor) {
  constexpr std::uint64_t n = 300'000;
  sorter s = sorter_of();
  const bool by_look = GetParam().buckets == gpu_buckets::where_even;
  const auto expect_passes = [&](const char* shape, bool by_buckets) {
    ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u64, n, shape, {kind::keys, 0}, false));
    if (by_buckets) {
      EXPECT_LT(report.num_passes, num_lsd_passes) << shape;
    } else {
      EXPECT_EQ(report.num_passes, num_lsd_passes) << shape;
    }
  };
  expect_passes("uniform", by_look || GetParam().buckets == gpu_buckets::always);
  for (const char* const shape : {"zipf:1", "entropy:2", "entropy:4", "entropy:8"}) {
    expect_passes(shape, GetParam().buckets == gpu_buckets::always);
  }
  ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u64, n, "sorted", {kind::keys, 0}, false));
  EXPECT_EQ(report.num_passes, 0U);
}

std::string name_of(const testing::TestParamInfo<bucket_case>& info) {
  constexpr const char* names[] = {"by_size", "where_even", "always", "never"};
  return std::string(names[static_cast<std::size_t>(info.param.buckets)]) +
         (info.param.blocks_cannot_meet ? "_level_by_level" : "");
}
INSTANTIATE_TEST_SUITE_P(All, gpu_bucket_sort_test,
                         testing::Values(bucket_case{gpu_buckets::by_size}, bucket_case{gpu_buckets::where_even},
                                         bucket_case{gpu_buckets::always}, bucket_case{gpu_buckets::never},
                                         bucket_case{gpu_buckets::always, true}),
                         name_of);

class gpu_bucket_choice_test : public gpu_test {};

/// Large keys are looked at without being told to. Keys of few values are spread evenly over the buckets, but not over
/// their bins. Who limits the memory has none for buckets.
TEST_F(gpu_bucket_choice_test, IsMadeForLargeInputs) {
  constexpr std::uint64_t n = device::cuda::least_bucket_sort_bytes / 8;
  const auto passes_of = [&](std::uint64_t num_values, const sort_options& given) {
    std::vector<std::uint64_t> keys(n);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t x = (i * 0x9e3779b97f4a7c15ULL >> 7) % num_values + 1;
      x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
      x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
      keys[i] = x ^ x >> 31;
      sum += keys[i];
    }
    sort_report report;
    sort_options options = given;
    options.report = &report;
    sort(keys, options);
    EXPECT_TRUE(std::ranges::is_sorted(keys));
    for (const std::uint64_t key : keys) sum -= key;
    EXPECT_EQ(sum, 0U);
    return report.num_passes;
  };
  sort_options options{.devices = "gpu:0", .algorithm = algorithm::single};
  EXPECT_LT(passes_of(~std::uint64_t{0}, options), num_lsd_passes);
  EXPECT_EQ(passes_of(1'000'000, options), num_lsd_passes);
  options.memory_limit_bytes = std::uint64_t{1} << 40;
  EXPECT_EQ(passes_of(~std::uint64_t{0}, options), num_lsd_passes);
}

}  // namespace
}  // namespace spansort::test
