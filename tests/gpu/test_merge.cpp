// SPDX-License-Identifier: Apache-2.0
// Merges of two runs on a GPU: every type and width of value, both directions, lengths around tiles, equal keys and
// special floats, where stability shows.
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/tuning/merge_policy.hpp"
#include "gpu/gpu_test.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/merge_check.hpp"

namespace spansort::test {
namespace {

class gpu_merge_test : public gpu_test {};

struct lengths {
  std::uint64_t left = 0;
  std::uint64_t right = 0;
};

/// Lengths that are small, and those around the tiles of the family whose sizes the kernel may have.
std::vector<lengths> lengths_for(key_type type, unsigned value_bytes) {
  std::vector<lengths> all{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {5, 6}, {999, 1000}, {1, 70'000}, {70'000, 1}, {30'000, 0}};
  for (const device::cuda::kernel_family family : device::cuda::kernel_families) {
    const auto policy =
        device::cuda::merge_policy_of(family, static_cast<unsigned>(size_bytes(type)), value_bytes).sizes;
    const std::uint64_t tile = std::uint64_t{policy.threads} * policy.items;
    for (const std::uint64_t total : {tile - 1, tile, tile + 1, 2 * tile, 3 * tile + 7}) {
      all.push_back({total / 2, total - total / 2});
      all.push_back({total / 10, total - total / 10});
    }
  }
  return all;
}

TEST_F(gpu_merge_test, EveryTypeValueAndLength) {
  const auto gpu = device::cuda::make_cuda_device({.name = "gpu:0", .ordinal = 0});
  const distribution all_keys[] = {{distribution_kind::uniform},
                                   {distribution_kind::zero},
                                   {distribution_kind::special_floats},
                                   {distribution_kind::entropy, 3}};
  std::uint64_t number = 0;
  for (const key_type type : varied_key_types()) {
    for (const unsigned value_bytes : {0U, 4U, 8U, 16U}) {
      for (const lengths n : lengths_for(type, value_bytes)) {
        ++number;
        for (const bool descending : {false, true}) {
          const merge_case c{.type = type,
                             .descending = descending,
                             .value_bytes = value_bytes,
                             .num_left = n.left,
                             .num_right = n.right,
                             .keys = all_keys[(number + descending) % std::size(all_keys)],
                             .seed = seed_for(number),
                             .first_record = number % 5};
          ASSERT_EQ(diagnose_merge(*gpu, c), "") << c.describe();
        }
      }
    }
  }
}

TEST_F(gpu_merge_test, MillionsOfPairs) {
  const auto gpu = device::cuda::make_cuda_device({.name = "gpu:0", .ordinal = 0});
  for (const distribution& keys : {distribution{distribution_kind::uniform}, {distribution_kind::zipf, 1}}) {
    const merge_case c{.type = key_type::f32,
                       .value_bytes = 8,
                       .num_left = 3'000'001,
                       .num_right = 1'999'999,
                       .keys = keys,
                       .seed = seed_for(1)};
    EXPECT_EQ(diagnose_merge(*gpu, c), "") << c.describe();
  }
}

}  // namespace
}  // namespace spansort::test
