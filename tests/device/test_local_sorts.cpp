// SPDX-License-Identifier: Apache-2.0
// The local sorts of host devices by name, as a device offers them: more threads than there are processors, several
// segments in one request, ranges of bits, results in either array.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/host/host_device.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

constexpr std::string_view names[] = {"lsd_reduce_then_scan", "satish_radix", "satish_merge", "msd_hybrid", "paradis"};

/// What is sorted: keys of 32 bits, with values of 8 bytes or none.
struct request_case {
  std::string_view algorithm;
  unsigned num_threads = 1;
  bool has_values = false;
  bool result_in_alternate = false;
  std::vector<sort_segment> segments;
};

std::string describe(const request_case& c) {
  return std::string(c.algorithm) + " on " + std::to_string(c.num_threads) + " threads, " +
         (c.has_values ? "pairs" : "keys") + ", " + std::to_string(c.segments.size()) + " segments of " +
         std::to_string(c.segments.front().count) + ", seed " + std::to_string(test::seed_for(1));
}

/// Fills each segment with keys that agree above its bits.
std::vector<std::uint32_t> keys_for(const request_case& c, std::uint64_t num_keys, std::uint32_t few) {
  std::mt19937_64 random(test::seed_for(1));
  std::vector<std::uint32_t> keys(num_keys, 77);
  for (const sort_segment& s : c.segments) {
    for (std::uint64_t i = s.begin; i < s.begin + s.count; ++i) {
      const auto drawn = static_cast<std::uint32_t>(few == 0 ? random() : random() % few * 0x01010101U);
      keys[i] = s.bits.end == 32 ? drawn : static_cast<std::uint32_t>(drawn & ((1U << s.bits.end) - 1));
    }
  }
  return keys;
}

void expect_sorted(const request_case& c, std::uint64_t num_keys, std::uint32_t few) {
  const std::unique_ptr<device> on = make_host_device(
      {.num_threads = c.num_threads, .limits = {.inline_keys = 1, .bucket_bytes = 1024, .piece_keys = 64}});
  on->prepare();
  const record_shape shape{{key_type::u32, false, keys::tie_rule::by_input_order}, c.has_values ? 8U : 0U};
  const local_sort_offer offer = on->offer_local_sort(c.algorithm, shape, num_keys);
  ASSERT_EQ(offer.why_not, "") << describe(c);
  const buffer scratch = on->allocate(offer.scratch_bytes);
  std::vector<std::uint32_t> keys = keys_for(c, num_keys, few);
  std::vector<std::uint64_t> values(num_keys);
  std::iota(values.begin(), values.end(), std::uint64_t{0});
  std::vector<std::uint64_t> order = values;
  for (const sort_segment& s : c.segments) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(s.begin);
    std::stable_sort(first, first + static_cast<std::ptrdiff_t>(s.count), [&](std::uint64_t l, std::uint64_t r) {
      return keys[l] >> s.bits.begin < keys[r] >> s.bits.begin;
    });
  }
  const std::vector<std::uint32_t> input = keys;
  std::vector<std::uint32_t> other_keys(num_keys);
  std::vector<std::uint64_t> other_values(num_keys);
  const std::unique_ptr<queue> work = on->make_queue();
  local_sort_outcome outcome;
  work->local_sort({.shape = shape,
                    .source = {keys.data(), c.has_values ? values.data() : nullptr},
                    .alternate = {other_keys.data(), c.has_values ? other_values.data() : nullptr},
                    .result_in_alternate = c.result_in_alternate,
                    .segments = c.segments,
                    .outcome = &outcome,
                    .algorithm = c.algorithm,
                    .scratch = scratch.data()});
  work->synchronize();
  const auto& sorted_keys = c.result_in_alternate ? other_keys : keys;
  const auto& sorted_values = c.result_in_alternate ? other_values : values;
  for (const sort_segment& s : c.segments) {
    for (std::uint64_t i = s.begin; i < s.begin + s.count; ++i) {
      ASSERT_EQ(sorted_keys[i] >> s.bits.begin, input[order[i]] >> s.bits.begin) << "key " << i << ", " << describe(c);
      if (!c.has_values) continue;
      ASSERT_EQ(sorted_values[i], order[i]) << "value " << i << ", " << describe(c);
      ASSERT_EQ(sorted_keys[i], input[order[i]]) << "key " << i << ", " << describe(c);
    }
  }
}

class host_local_sort_test : public testing::TestWithParam<std::string_view> {};

TEST_P(host_local_sort_test, SortsOneSegmentOnAnyNumberOfThreads) {
  const tbb::global_control more_than_processors(tbb::global_control::max_allowed_parallelism, 8);
  for (const unsigned num_threads : {1U, 2U, 3U, 8U}) {
    for (const bool has_values : {false, true}) {
      for (const std::uint64_t n : {1, 2, 255, 1024, 1025, 5000, 40'000}) {
        if (test::is_small_scale() && n > 5000) continue;
        for (const std::uint32_t few : {0U, 1U, 3U}) {
          ASSERT_NO_FATAL_FAILURE(
              expect_sorted({GetParam(), num_threads, has_values, has_values, {{0, n, {0, 32}}}}, n, few));
        }
      }
    }
  }
}

TEST_P(host_local_sort_test, SortsSegmentsByTheirOwnBits) {
  const std::vector<sort_segment> segments{{0, 3000, {0, 32}},  {3000, 0, {0, 32}},   {3000, 1, {3, 20}},
                                           {3010, 700, {0, 9}}, {3710, 1500, {5, 5}}, {5300, 2000, {11, 32}}};
  const tbb::global_control more_than_processors(tbb::global_control::max_allowed_parallelism, 8);
  for (const bool has_values : {false, true}) {
    for (const bool in_alternate : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(expect_sorted({GetParam(), 3, has_values, in_alternate, segments}, 8000, 0));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, host_local_sort_test, testing::ValuesIn(names),
                         [](const auto& param) { return std::string(param.param); });

TEST(HostLocalSorts, OthersAreRefusedWithAReason) {
  const std::unique_ptr<device> on = make_host_device({});
  const record_shape shape{{key_type::u32, false, keys::tie_rule::by_bits}, 0};
  EXPECT_NE(on->offer_local_sort("onesweep", shape, 10).why_not, "");
  EXPECT_NE(on->offer_local_sort("bubble", shape, 10).why_not, "");
}

TEST(HostLocalSorts, SayWhatTheyNeed) {
  const std::unique_ptr<device> on = make_host_device({});
  const record_shape keys_alone{{key_type::u32, false, keys::tie_rule::by_bits}, 0};
  const record_shape pairs{{key_type::u32, false, keys::tie_rule::by_input_order}, 4};
  EXPECT_FALSE(on->offer_local_sort("paradis", keys_alone, 1000).needs_alternate);
  EXPECT_EQ(on->offer_local_sort("paradis", keys_alone, 1000).scratch_bytes, 0U);
  EXPECT_EQ(on->offer_local_sort("paradis", pairs, 1000).scratch_bytes, 8000U);
  EXPECT_EQ(on->offer_local_sort("satish_radix", pairs, 1025).scratch_bytes, 2U * 16 * 8);
  EXPECT_EQ(on->offer_local_sort("satish_merge", pairs, 1025).scratch_bytes, 5U * 16);
  EXPECT_EQ(on->offer_local_sort("lsd_reduce_then_scan", pairs, 1000).scratch_bytes, 0U);
}

}  // namespace
}  // namespace spansort::device::host
