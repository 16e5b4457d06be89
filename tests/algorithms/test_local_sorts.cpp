// SPDX-License-Identifier: Apache-2.0
// The published sorts of one device by the public interface: what they sort, what reports say of them, and what is
// refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/resident.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr algorithm on_host[] = {algorithm::lsd_reduce_then_scan, algorithm::satish_radix, algorithm::satish_merge,
                                 algorithm::msd_hybrid, algorithm::paradis};

/// Expects that f() is refused as an invalid argument whose text has `part` in it.
template <class F>
void expect_refusal(const F& f, const std::string& part) {
  try {
    f();
    FAIL() << "no exception; expected: " << part;
  } catch (const invalid_argument& refusal) {
    EXPECT_NE(std::string(refusal.what()).find(part), std::string::npos) << refusal.what();
  }
}

TEST(LocalSorts, SortEveryTypeInEitherDirection) {
  constexpr std::uint64_t seed = 20;
  const operation operations[] = {{},
                                  {operation::kind::pairs, 4},
                                  {operation::kind::pairs, 8},
                                  {operation::kind::pairs, 16},
                                  {operation::kind::pairs, 3},
                                  {operation::kind::argsort, 8}};
  for (const algorithm which : on_host) {
    sorter s({.devices = "cpu", .algorithm = which});
    for (const bool descending : {false, true}) {
      for (const key_type type : all_key_types()) {
        for (const std::uint64_t num_keys : {0, 1, 2, 1025, 30'000}) {
          if (is_small_scale() && num_keys > 2000) continue;
          const char* const shape = type == key_type::f32 || type == key_type::bf16 ? "special-floats" : "zipf:1";
          const oracle expected = make_oracle(type, num_keys, parse_distribution(shape), seed, descending);
          for (const operation& op : operations) {
            ASSERT_EQ(diagnose_sort(s, expected, op), "") << describe(op) << " of " << num_keys << " " << name(type)
                                                          << " by " << name(which) << ", seed " << seed;
          }
        }
      }
    }
  }
}

TEST(LocalSorts, SortEverySizeAroundTheirTiles) {
  const distribution uniform = parse_distribution("uniform");
  for (const algorithm which : on_host) {
    sorter s({.devices = "cpu", .algorithm = which});
    for (std::uint64_t n = 0; n <= 1100; n += is_small_scale() ? 31 : 1) {
      const oracle expected = make_oracle(key_type::u32, n, uniform, n, false);
      ASSERT_EQ(diagnose_sort(s, expected, {operation::kind::pairs, 4}), "") << n << " keys by " << name(which);
    }
  }
}

TEST(LocalSorts, AreNamedInTheReport) {
  for (const algorithm which : on_host) {
    sort_report report;
    std::vector<std::uint64_t> keys(20'000);
    std::iota(keys.rbegin(), keys.rend(), std::uint64_t{0});
    sort(keys, {.devices = "cpu", .algorithm = which, .report = &report});
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
    EXPECT_EQ(report.algorithm, name(which));
    EXPECT_EQ(report.picked, std::string(name(which)) + ": asked for");
    const std::string phase = "local sort by " + std::string(name(which));
    EXPECT_EQ(std::ranges::count(report.phases, phase, &phase_report::name), 1) << phase;
  }
}

TEST(LocalSorts, TakeTheDigitsThatAreAskedFor) {
  sort_report report;
  for (const unsigned radix_bits : {1U, 5U, 8U, 12U}) {
    std::vector<std::uint32_t> keys(5000);
    std::iota(keys.rbegin(), keys.rend(), 0U);
    sort(keys, {.devices = "cpu",
                .algorithm = algorithm::lsd_reduce_then_scan,
                .report = &report,
                .tuning = {.radix_bits = radix_bits}});
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
    EXPECT_EQ(report.num_passes, (32 + radix_bits - 1) / radix_bits);
  }
}

TEST(LocalSorts, AreRefusedWhereTheDeviceHasNone) {
  std::vector<int> keys{2, 1, 3};
  expect_refusal([&] { sort(keys, {.devices = "cpu", .algorithm = algorithm::onesweep}); },
                 "onesweep does not sort on host:0");
  expect_refusal([&] { sort(keys, {.devices = "host:3", .algorithm = algorithm::onesweep}); }, "thread blocks");
  EXPECT_EQ(keys, (std::vector<int>{2, 1, 3}));
}

TEST(LocalSorts, AreNeverWhatAutoTakes) {
  for (const std::uint64_t n : {0, 10, 100'000}) {
    sort_report report;
    std::vector<int> keys(n);
    sort(keys, {.devices = "cpu", .report = &report});
    EXPECT_EQ(report.algorithm, "single");
  }
}

TEST(LocalSorts, SortWhatLiesOnTheDevice) {
  for (const algorithm which : on_host) {
    std::vector<std::uint32_t> keys(10'000);
    std::iota(keys.rbegin(), keys.rend(), 0U);
    shard whole{.keys = keys.data(), .num_keys = keys.size()};
    sort(sharded_keys{key_type::u32, {&whole, 1}}, {.devices = "host:1", .algorithm = which});
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end())) << name(which);
  }
}

}  // namespace
}  // namespace spansort::test
