// SPDX-License-Identifier: Apache-2.0
// Sorts of data larger than the devices: limits on device memory from the least that is enough to more than is needed,
// and who sorts then; what a limit that is too small is answered with.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

const operation all_operations[] = {{operation::kind::keys, 0},   {operation::kind::pairs, 1},
                                    {operation::kind::pairs, 4},  {operation::kind::pairs, 8},
                                    {operation::kind::pairs, 16}, {operation::kind::pairs, 40},
                                    {operation::kind::argsort, 4}};

hooked_options limited(const std::string& devices, const std::string& algorithm, std::uint64_t device_memory_bytes,
                       sort_report* report = nullptr) {
  hooked_options options;
  options.devices = devices_under_test(devices);
  options.algorithm = parse_algorithm(algorithm);
  options.device_memory_bytes = device_memory_bytes;
  options.report = report;
  options.world.host_inline_keys = 1;
  return options;
}

/// Sorts, and says what is wrong with the result.
std::string diagnose(const hooked_options& options, const oracle& expected, const operation& op) {
  sorter s = make_sorter(options);
  return diagnose_sort(s, expected, op);
}

/// The bytes that an out_of_memory asks for where `options` allow too few.
std::uint64_t asked_for(const hooked_options& options, const oracle& expected, const operation& op) {
  sort_job job(op, expected);
  sorter s = make_sorter(options);
  try {
    job.run(s);
  } catch (const out_of_memory& failure) {
    EXPECT_EQ(job.diagnose_untouched(), "");
    EXPECT_NE(std::string(failure.what()).find(std::to_string(failure.needed_bytes())), std::string::npos)
        << failure.what();
    EXPECT_EQ(failure.available_bytes(), options.device_memory_bytes);
    return failure.needed_bytes();
  }
  ADD_FAILURE() << options.device_memory_bytes << " bytes were enough: " << describe(op);
  return 0;
}

class device_limit_test : public testing::TestWithParam<const char*> {
 protected:
  std::uint64_t n = is_small_scale() ? 100'000 : 400'000;
};

/// Limits from the least that is enough, by steps, to where nothing needs to be cut give the same bytes, `auto` and
/// asked for.
TEST_P(device_limit_test, EveryLimitGivesTheSameBytes) {
  unsigned case_number = 0;
  for (const operation& op : all_operations) {
    const key_type type = all_key_types()[case_number++ % 12];
    const oracle expected = make_oracle(type, n / 8, {distribution_kind::zipf, 0.7}, seed_for(1), false);
    const std::uint64_t least = asked_for(limited(GetParam(), "out_of_core", 1), expected, op);
    for (const std::uint64_t spare : {0, 1 << 14, 1 << 18, 1 << 22}) {
      for (const char* algorithm : {"out_of_core", "auto", "het_merge"}) {
        ASSERT_EQ(diagnose(limited(GetParam(), algorithm, least + spare), expected, op), "")
            << describe(op) << " of " << name(type) << ", " << algorithm << ", limit " << least << " + " << spare;
      }
    }
  }
}

TEST_P(device_limit_test, IsKeptToAndReported) {
  const oracle expected = make_oracle(key_type::u64, n, {}, seed_for(2), false);
  const operation keys = all_operations[0];
  const std::uint64_t least = asked_for(limited(GetParam(), "auto", 1), expected, keys);
  sort_report report;
  ASSERT_EQ(diagnose(limited(GetParam(), "auto", least + 100'000, &report), expected, keys), "");
  EXPECT_EQ(report.algorithm, "out_of_core");
  EXPECT_NE(report.picked.find(std::to_string(least + 100'000)), std::string::npos) << report.picked;
  EXPECT_EQ(report.num_passes, 2u);
  const std::uint64_t runs_bytes = n * 8 + 4096;
  EXPECT_LE(report.workspace_bytes, report.ranks.size() * (least + 100'000) + runs_bytes);
  std::uint64_t num_out = 0;
  for (const rank_report& rank : report.ranks) {
    num_out += rank.num_keys_out;
    EXPECT_EQ(rank.num_keys_in, rank.num_keys_out);
    EXPECT_GT(rank.num_keys_in, 0u);
  }
  EXPECT_EQ(num_out, n);

  ASSERT_EQ(diagnose(limited(GetParam(), "auto", std::uint64_t{1} << 40, &report), expected, keys), "");
  EXPECT_NE(report.algorithm, "out_of_core") << report.picked;
}

TEST_P(device_limit_test, OtherAlgorithmsRefuseWhatExceedsIt) {
  const oracle expected = make_oracle(key_type::u32, n, {}, seed_for(3), false);
  for (const char* algorithm : {"single", "rmg"}) {
    const std::uint64_t needed = asked_for(limited(GetParam(), algorithm, 1), expected, all_operations[0]);
    EXPECT_EQ(diagnose(limited(GetParam(), algorithm, needed), expected, all_operations[0]), "");
    EXPECT_EQ(asked_for(limited(GetParam(), algorithm, needed - 1), expected, all_operations[0]), needed);
  }
}

/// Large and small, keys and pairs in turn: slots kept from one call do not keep the next above the limit.
TEST_P(device_limit_test, AReusedSorterKeepsToIt) {
  const oracle large = make_oracle(key_type::u64, n, {}, seed_for(4), true);
  const oracle small = make_oracle(key_type::u16, n / 5, {}, seed_for(5), true);
  const operation pairs = all_operations[4];
  const std::uint64_t least = asked_for(limited(GetParam(), "out_of_core", 1), large, pairs);
  sort_report report;
  hooked_options options = limited(GetParam(), "auto", least + (1 << 20), &report);
  sorter s = make_sorter(options);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(diagnose_sort(s, large, pairs), "");
    EXPECT_EQ(report.algorithm, "out_of_core");
    const std::uint64_t most = report.ranks.size() * options.device_memory_bytes + n * 24 + 4096;
    EXPECT_LE(s.workspace_bytes(), most);
    ASSERT_EQ(diagnose_sort(s, small, all_operations[0]), "");
    EXPECT_NE(report.algorithm, "out_of_core") << report.picked;
    EXPECT_LE(s.workspace_bytes(), most);
  }
}

INSTANTIATE_TEST_SUITE_P(Sort, device_limit_test, testing::Values("host:1", "host:3", "host:7"),
                         [](const auto& param) { return test_name(param.param); });

/// Chunks as large as the input, of a few keys, of one; every distribution.
TEST(OutOfCore, EveryChunkSizeSortsEveryDistribution) {
  const std::uint64_t n = 300;
  std::uint64_t case_number = 0;
  for (const distribution& d : all_distributions()) {
    const key_type type = all_key_types()[case_number % 12];
    const bool descending = case_number % 2 == 1;
    const oracle expected = make_oracle(type, n, d, seed_for(case_number), descending);
    for (const std::uint64_t chunk : {1, 2, 31, 100, 299, 300, 5000}) {
      hooked_options options = limited("host:" + std::to_string(1 + case_number % 4), "out_of_core", 0);
      options.world.device_chunk_keys = chunk;
      options.world.host_separate_memory = case_number % 3 != 0;
      const operation& op = all_operations[case_number++ % std::size(all_operations)];
      ASSERT_EQ(diagnose(options, expected, op), "")
          << describe(op) << " of " << name(type) << ", " << to_string(d) << ", chunks of " << chunk;
    }
  }
}

/// Keys that all lie in the same range, or are in order, are only carried: no range is sorted.
TEST(OutOfCore, RangesInOrderAreNotSorted) {
  for (const distribution_kind kind : {distribution_kind::zero, distribution_kind::sorted}) {
    sort_report report;
    hooked_options options = limited("host:2", "out_of_core", 0, &report);
    options.world.device_chunk_keys = 100;
    const oracle expected = make_oracle(key_type::u32, 1000, {kind}, seed_for(1), false);
    ASSERT_EQ(diagnose(options, expected, all_operations[0]), "");
    for (const phase_report& phase : report.phases) {
      if (phase.name != "local sort") continue;
      EXPECT_EQ(phase.num_activities, 10u) << "those of the chunks alone";
    }
  }
}

}  // namespace
}  // namespace spansort::test
