// SPDX-License-Identifier: Apache-2.0
// The launches of partitions, for digits of either width that kernels are compiled for.
#pragma once

#include <algorithm>
#include <vector>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/partition.cuh"
#include "device/cuda/kernels/rearrange.cuh"
#include "device/cuda/kernels/unordered_partition.cuh"

namespace spansort::device::cuda {
namespace {

template <class Kernel>
void allow_shared_memory(Kernel* kernel, unsigned bytes) {
  if (bytes <= default_shared_bytes) return;
  SPANSORT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

/// The launch shape of a partition kernel.
struct tile_sizes {
  unsigned threads = 0;
  unsigned keys = 0;
  unsigned shared_bytes = 0;

  [[nodiscard]] std::uint64_t num_tiles(std::uint64_t num_keys) const {
    return base::ceil_div(num_keys, std::uint64_t{keys});
  }
};

/// Returns the sizes of the code that the site's GPU runs.
template <unsigned Bits, class K, class V>
tile_sizes tile_sizes_at(const launch_site& site) {
  return with_family(site.family(), []<kernel_family Family>(family_constant<Family>) {
    constexpr partition_policy policy = partition_policy_for(Family, sizeof(K), value_bytes_of<V>, Bits);
    using tile = partition_tile<K, V, identity_order<K>, policy, Bits>;
    return tile_sizes{tile::threads, tile::tile_keys, sizeof(typename tile::shared_memory)};
  });
}

/// Partitions keys alone in any order, in one launch.
template <unsigned Bits, class K, class Order>
void run_unordered_step(const launch_site& site, const Order& order, const partition_step& step) {
  const auto kernel = unordered_partition_kernel<K, Order, Bits>;
  const tile_sizes tile = with_family(site.family(), []<kernel_family Family>(family_constant<Family>) {
    using tile = unordered_tile<K, Order, unordered_partition_policy_for(Family, sizeof(K), Bits), Bits>;
    return tile_sizes{tile::threads, tile::tile_keys, sizeof(typename tile::shared_memory)};
  });
  allow_shared_memory(kernel, tile.shared_bytes);
  unordered_partition_arguments<K> a;
  a.keys = static_cast<const K*>(step.source.keys);
  a.num_keys = step.num_keys;
  a.shift = step.digit.shift;
  a.mask = static_cast<unsigned>(step.digit.num_buckets() - 1);
  a.targets = step.targets;
  a.decision = step.decision;
  const auto num_tiles = static_cast<unsigned>(tile.num_tiles(step.num_keys));
  kernel<<<num_tiles, tile.threads, tile.shared_bytes, site.stream>>>(order, a);
  check_done(cudaGetLastError(), "unordered_partition_kernel");
}

template <unsigned Bits, class K, class V, class Order>
void run_partition_step(const launch_site& site, const Order& order, const partition_step& step) {
  if constexpr (Bits == max_partition_bits && value_bytes_of<V> == 0 && Order::holds_encoded) {
    if (step.any_order) return run_unordered_step<Bits, K>(site, order, step);
  }
  constexpr unsigned buckets = 1U << Bits;
  const auto kernel = partition_kernel<K, V, Order, Bits>;
  const tile_sizes tile = tile_sizes_at<Bits, K, V>(site);
  allow_shared_memory(kernel, tile.shared_bytes);
  const std::uint64_t all_tiles = tile.num_tiles(step.num_keys);
  const std::uint64_t tile_capacity = site.memory.tile_capacity * max_partition_buckets / buckets;
  const std::uint64_t num_portions = std::max<std::uint64_t>(1, base::ceil_div(all_tiles, tile_capacity));
  const std::uint64_t portion_keys = base::ceil_div(all_tiles, num_portions) * tile.keys;
  unsigned half = 0;
  for (std::uint64_t begin = 0; begin < step.num_keys; begin += portion_keys, half ^= 1) {
    const std::uint64_t count = std::min(portion_keys, step.num_keys - begin);
    const auto num_tiles = static_cast<unsigned>(tile.num_tiles(count));
    partition_arguments<K> a;
    a.keys = static_cast<const K*>(step.source.keys) + begin;
    if constexpr (value_bytes_of<V> != 0) {
      if (!Order::makes_positions) a.values = static_cast<const V*>(step.source.values) + begin;
      a.first_position = begin;
      a.drops_keys = step.drops_keys;
    }
    a.num_keys = static_cast<std::uint32_t>(count);
    a.shift = step.digit.shift;
    a.mask = static_cast<unsigned>(step.digit.num_buckets() - 1);
    a.targets = step.targets + half * buckets;
    a.next_targets = step.targets + (half ^ 1) * buckets;
    a.tile_states = step.cleared_states;
    a.tile_counter = step.tile_counter;
    a.decision = step.decision;
    if (step.cleared_states == nullptr) {
      a.tile_states = site.memory.tile_states;
      SPANSORT_CUDA(cudaMemsetAsync(a.tile_states, 0, num_tiles * std::uint64_t{4} * buckets, site.stream));
      SPANSORT_CUDA(cudaMemsetAsync(a.tile_counter, 0, 4, site.stream));
    }
    kernel<<<num_tiles, tile.threads, tile.shared_bytes, site.stream>>>(order, a);
    check_done(cudaGetLastError(), "partition_kernel");
  }
}

template <unsigned Bits, class K, class V>
void run_bucket_targets(const launch_site& site, const std::vector<keys::digit_position>& digits, records source,
                        records alternate) {
  constexpr unsigned buckets = 1U << Bits;
  SPANSORT_ASSERT(digits.size() * buckets <= max_digits_together * max_partition_buckets);
  digit_widths widths;
  for (std::size_t i = 0; i < digits.size(); ++i) widths.bits[i] = static_cast<std::uint8_t>(digits[i].bits);
  bucket_targets_kernel<K, V, buckets><<<static_cast<unsigned>(digits.size()), buckets, 0, site.stream>>>(
      site.memory.sort_counts, widths, static_cast<K*>(source.keys), static_cast<V*>(source.values),
      static_cast<K*>(alternate.keys), static_cast<V*>(alternate.values), site.memory.targets);
  check_done(cudaGetLastError(), "bucket_targets_kernel");
}

template <unsigned Bits, class K>
void run_bucket_targets(const launch_site& site, unsigned value_bytes, const std::vector<keys::digit_position>& digits,
                        records source, records alternate) {
  with_value(value_bytes, [&]<class V>() { run_bucket_targets<Bits, K, V>(site, digits, source, alternate); });
}

}  // namespace
}  // namespace spansort::device::cuda
