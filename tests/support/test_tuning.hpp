// SPDX-License-Identifier: Apache-2.0
// Everything that a test changes about a sort, in one place: the public tuning, and the hooks of base/test_hooks.hpp.
#pragma once

#include <cstdint>

#include "base/test_hooks.hpp"
#include "spansort/options.hpp"
#include "spansort/sort.hpp"

namespace spansort::test {

struct test_tuning {
  unsigned radix_bits = 0;
  double epsilon = -1;
  double fuse_threshold = -1;
  std::uint64_t host_inline_keys = 0;
  std::uint64_t host_bucket_bytes = 0;
  unsigned host_radix_bits = 0;
  std::uint64_t host_tile_keys = 0;
  bool host_separate_memory = false;
  std::uint64_t copy_piece_bytes = 0;
  std::uint64_t device_chunk_keys = 0;
  std::uint64_t round_keys = 0;
  bool corrupt_peer_probes = false;
  bool cub_local_sort = false;
  bool exchange_through_host = false;
  std::uint64_t several_devices_keys = 0;
  std::uint64_t fail_allocation_at = 0;
  std::uint64_t fail_device_call_at = 0;
  int fail_device_call_with = 0;
  bool blocks_cannot_meet = false;
  base::gpu_buckets buckets = {};
  base::gpu_small_sort small_sort = {};
  base::key_packing packing = {};
  base::spanning_buckets spanning = {};

  [[nodiscard]] constexpr tuning_options options() const { return {radix_bits, epsilon, fuse_threshold}; }
  [[nodiscard]] constexpr base::test_hooks hooks() const {
    return {.host_inline_keys = host_inline_keys,
            .host_bucket_bytes = host_bucket_bytes,
            .host_radix_bits = host_radix_bits,
            .host_tile_keys = host_tile_keys,
            .host_separate_memory = host_separate_memory,
            .copy_piece_bytes = copy_piece_bytes,
            .device_chunk_keys = device_chunk_keys,
            .round_keys = round_keys,
            .several_devices_keys = several_devices_keys,
            .cub_local_sort = cub_local_sort,
            .exchange_through_host = exchange_through_host,
            .corrupt_peer_probes = corrupt_peer_probes,
            .fail_allocation_at = fail_allocation_at,
            .fail_device_call_at = fail_device_call_at,
            .fail_device_call_with = fail_device_call_with,
            .blocks_cannot_meet = blocks_cannot_meet,
            .buckets = buckets,
            .small_sort = small_sort,
            .packing = packing,
            .spanning = spanning};
  }
};

/// Options with a tuning that may hold hooks.
struct hooked_options : sort_options {
  test_tuning world = {};
};

/// Makes a sorter that has the hooks of `options.world` for its own.
[[nodiscard]] inline sorter make_sorter(const hooked_options& options) {
  const base::test_hooks_scope scope(options.world.hooks());
  sort_options plain = options;
  plain.tuning = options.world.options();
  return sorter(plain);
}

}  // namespace spansort::test
