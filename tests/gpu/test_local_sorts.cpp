// SPDX-License-Identifier: Apache-2.0
// The published sorts of one device on a GPU: every name on all types, widths of values and directions, at sizes around
// their tiles and far above them, compared with the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "gpu/gpu_sort_test.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

using kind = operation::kind;

class gpu_local_sort_test : public gpu_sort_test, public testing::WithParamInterface<algorithm> {
 protected:
  algorithm which = GetParam();
  sorter sorter_of(sort_options options = {}) const {
    options.devices = "gpu:0";
    options.algorithm = which;
    return sorter(options);
  }
};

TEST_P(gpu_local_sort_test, SortsAllTypesAndWidths) {
  const operation operations[] = {{kind::keys, 0},   {kind::pairs, 4},   {kind::pairs, 8},
                                  {kind::pairs, 16}, {kind::argsort, 4}, {kind::argsort, 8}};
  sorter s = sorter_of();
  for (const key_type type : all_key_types()) {
    for (const bool descending : {false, true}) {
      for (const operation& op : operations) {
        for (const char* const shape : {"uniform", "zipf:1", "special-floats"}) {
          ASSERT_NO_FATAL_FAILURE(expect_sorted(s, type, 20'011, shape, op, descending));
        }
      }
    }
  }
}

TEST_P(gpu_local_sort_test, SortsSizesAroundItsTiles) {
  sorter s = sorter_of();
  const std::uint64_t sizes[] = {0,    1,    2,    3,    31,   32,   33,   255,  256,  257,  511,   512,    513,
                                 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 16385, 100'003};
  for (const std::uint64_t n : sizes) {
    for (const char* const shape : {"uniform", "zero", "sorted", "reverse"}) {
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u32, n, shape, {kind::pairs, 4}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u64, n, shape, {kind::keys, 0}, true));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u8, n, shape, {kind::pairs, 16}, false));
    }
  }
}

/// GPUs whose blocks can meet and those whose blocks cannot go different ways.
TEST_P(gpu_local_sort_test, SortsMoreTilesThanAGpuHoldsAtOnce) {
  for (const bool blocks_cannot_meet : {false, true}) {
    const base::test_hooks_scope hooks({.blocks_cannot_meet = blocks_cannot_meet});
    sorter s = sorter_of();
    for (const std::uint64_t n : {std::uint64_t{1} << 22, (std::uint64_t{1} << 23) + 12'345}) {
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::f32, n, "uniform", {kind::pairs, 8}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u32, n, "entropy:4", {kind::keys, 0}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::i16, n, "zipf:1", {kind::argsort, 4}, true));
    }
  }
}

TEST_P(gpu_local_sort_test, IsNamedInTheReport) {
  sorter s = sorter_of({.report = &report});
  ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u32, 50'000, "uniform", {kind::keys, 0}, false));
  EXPECT_EQ(report.algorithm, name(which));
  const std::string phase = "local sort by " + std::string(name(which));
  EXPECT_EQ(std::ranges::count(report.phases, phase, &phase_report::name), 1) << phase;
  EXPECT_GT(report.num_passes, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, gpu_local_sort_test,
                         testing::Values(algorithm::onesweep, algorithm::lsd_reduce_then_scan, algorithm::satish_radix,
                                         algorithm::satish_merge, algorithm::msd_hybrid),
                         [](const auto& param) { return std::string(name(param.param)); });

class gpu_local_sorts_test : public gpu_test {};

TEST_F(gpu_local_sorts_test, TakeDigitsOfAnyWidth) {
  for (const algorithm which : {algorithm::onesweep, algorithm::lsd_reduce_then_scan}) {
    for (unsigned radix_bits = 1; radix_bits <= 9; ++radix_bits) {
      for (const key_type type : {key_type::u32, key_type::u64, key_type::i64, key_type::f64, key_type::f16}) {
        sort_report report;
        sorter s({.devices = "gpu:0", .algorithm = which, .report = &report, .tuning = {.radix_bits = radix_bits}});
        for (const char* const shape : {"uniform", "special-floats"}) {
          const oracle expected = make_oracle(type, 30'001, parse_distribution(shape), seed_for(radix_bits), false);
          for (const operation& op : {operation{kind::pairs, 8}, operation{kind::keys, 0}}) {
            ASSERT_EQ(diagnose_sort(s, expected, op), "") << describe(op) << " by " << name(which) << ", digits of "
                                                          << radix_bits << " bits, " << name(type) << ", " << shape;
            EXPECT_EQ(report.num_passes, (8 * size_bytes(type) + radix_bits - 1) / radix_bits);
          }
        }
      }
    }
  }
}

/// Buckets that stay large on every level, that fall into bins which crowd, and that have one key: the sizes are around
/// those of the finish's blocks and the partition's tiles, and far above them.
TEST_F(gpu_local_sorts_test, MsdHybridSortsWhatDoesNotSpread) {
  sorter s({.devices = "gpu:0", .algorithm = algorithm::msd_hybrid});
  const operation operations[] = {{kind::keys, 0}, {kind::pairs, 4}, {kind::pairs, 8}, {kind::pairs, 16}};
  const char* const shapes[] = {"uniform",   "zero",       "sorted", "reverse", "nearly-sorted", "entropy:2",
                                "entropy:4", "entropy:16", "zipf:1", "zipf:2",  "special-floats"};
  for (const std::uint64_t n : {2'304U, 2'305U, 4'609U, 8'193U, 9'217U, 17'409U, 300'007U, 1'200'007U}) {
    for (const char* const shape : shapes) {
      for (const key_type type : {key_type::u64, key_type::f64, key_type::u32, key_type::i32}) {
        const operation& op = operations[(n + static_cast<std::uint64_t>(shape[0]) + size_bytes(type)) % 4];
        const oracle expected = make_oracle(type, n, parse_distribution(shape), seed_for(n), n % 2 == 0);
        ASSERT_EQ(diagnose_sort(s, expected, op), "")
            << describe(op) << " of " << n << " " << name(type) << ", " << shape << ", seed " << seed_for(n);
      }
    }
  }
}

TEST_F(gpu_local_sorts_test, AreRefusedWithAReason) {
  std::vector<int> keys{2, 1, 3};
  const auto refuses = [&](const sort_options& options, const std::string& part) {
    try {
      sort(keys, options);
      FAIL() << "no exception; expected: " << part;
    } catch (const invalid_argument& refusal) {
      EXPECT_NE(std::string(refusal.what()).find(part), std::string::npos) << refusal.what();
    }
  };
  refuses({.devices = "gpu:0", .algorithm = algorithm::paradis}, "paradis does not sort on gpu:0");
  refuses({.devices = "gpu:0", .algorithm = algorithm::onesweep, .tuning = {.radix_bits = 10}}, "at most 9 bits");
  EXPECT_EQ(keys, (std::vector<int>{2, 1, 3}));
}

}  // namespace
}  // namespace spansort::test
