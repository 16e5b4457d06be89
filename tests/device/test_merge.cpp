// SPDX-License-Identifier: Apache-2.0
// Merges of two runs on host devices: every type and width of value, both directions, lengths from nothing to more than
// a piece, equal keys and special floats, where stability shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "device/host/host_device.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/merge_check.hpp"

namespace spansort::test {
namespace {

struct lengths {
  std::uint64_t left = 0;
  std::uint64_t right = 0;
};
constexpr lengths all_lengths[] = {{0, 0},    {0, 1},      {1, 0},     {1, 1}, {0, 1000},   {777, 0},    {1, 1000},
                                   {1000, 1}, {999, 1000}, {63, 4097}, {5, 6}, {3000, 100}, {2048, 2048}};
const distribution all_keys[] = {{distribution_kind::uniform},
                                 {distribution_kind::zero},
                                 {distribution_kind::special_floats},
                                 {distribution_kind::entropy, 3}};

void expect_merges(device::device& device, bool takes_any_alignment) {
  std::uint64_t number = 0;
  for (const key_type type : varied_key_types()) {
    for (const unsigned value_bytes : {0U, 4U, 8U, 16U}) {
      for (const lengths n : all_lengths) {
        for (const distribution& keys : all_keys) {
          ++number;
          const merge_case c{.type = type,
                             .descending = number % 2 == 0,
                             .value_bytes = value_bytes,
                             .num_left = n.left,
                             .num_right = n.right,
                             .keys = keys,
                             .seed = seed_for(number),
                             .first_record = number % 5,
                             .value_misalignment_bytes = takes_any_alignment ? number % 3 : 0};
          ASSERT_EQ(diagnose_merge(device, c), "") << c.describe();
        }
      }
    }
  }
}

TEST(merge_test, OneThread) {
  const auto one = device::host::make_host_device({.num_threads = 1});
  expect_merges(*one, true);
}

TEST(merge_test, InPieces) {
  const auto many = device::host::make_host_device({.num_threads = 3, .limits = {.piece_keys = 50}});
  expect_merges(*many, true);
}

TEST(merge_test, RunsThatDoNotOverlap) {
  const auto device = device::host::make_host_device({.num_threads = 2, .limits = {.piece_keys = 16}});
  const std::array<std::uint32_t, 64> low{};
  std::array<std::uint32_t, 64> high{};
  high.fill(1);
  std::array<std::uint32_t, 128> merged{};
  const auto queue = device->make_queue();
  const auto merge = [&](const auto& left, const auto& right) {
    // Requests are copied, and runs are only read.
    queue->merge({.shape = {{key_type::u32, false, keys::tie_rule::by_bits}, 0},
                  .left = {const_cast<std::uint32_t*>(left.data()), nullptr},
                  .num_left = left.size(),
                  .right = {const_cast<std::uint32_t*>(right.data()), nullptr},
                  .num_right = right.size(),
                  .destination = {merged.data(), nullptr}});
    queue->synchronize();
    return std::ranges::is_sorted(merged) && std::ranges::count(merged, 1U) == 64;
  };
  EXPECT_TRUE(merge(low, high));
  EXPECT_TRUE(merge(high, low));
}

}  // namespace
}  // namespace spansort::test
