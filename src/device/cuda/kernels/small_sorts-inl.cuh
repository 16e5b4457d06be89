// SPDX-License-Identifier: Apache-2.0
// Bodies of what small_sorts.hpp declares. Only the instantiation units include this.
#pragma once

#include <algorithm>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/block_sort.cuh"
#include "device/cuda/kernels/blocks_at_once.hpp"
#include "device/cuda/kernels/grid_sort.cuh"
#include "device/cuda/kernels/small_sorts.hpp"

namespace spansort::device::cuda {
namespace {

/// Calls f(order) with one of two orders for `codec`: keys that are moved encoded, and keys that an encoding folds.
template <class K, bool HasValues, class F>
decltype(auto) with_small_order(const keys::codec_of<K>& codec, F&& f) {
  if constexpr (HasValues && sizeof(K) != 1) {
    if (codec.folds_ties) return f(folded_order<K>(codec));
  }
  SPANSORT_ASSERT(!codec.folds_ties);
  return f(encoded_order<K>(codec));
}

// ---- In one block

template <unsigned Shape, class K, bool KeepsPlaces, class Order>
void run_block_sort(const launch_site& site, const Order& order, const chip_job<K>& job) {
  constexpr block_sort_shape shape = block_sort_shapes[Shape];
  if constexpr (Shape + 1 < block_sort_shapes.size()) {
    if (job.count > shape.most_keys()) return run_block_sort<Shape + 1, K, KeepsPlaces>(site, order, job);
  }
  SPANSORT_ASSERT(job.count <= shape.most_keys());
  constexpr auto kernel = block_sort_kernel<K, Order, KeepsPlaces, shape.threads, shape.items>;
  constexpr unsigned shared_bytes =
      sizeof(typename chip_sort<K, Order, KeepsPlaces, shape.threads, shape.items>::shared_memory);
  grant_shared_memory<kernel>(shared_bytes);
  kernel<<<1, shape.threads, shared_bytes, site.stream>>>(order, job);
  check_done(cudaGetLastError(), "block_sort_kernel");
}

// ---- By blocks that meet

template <unsigned Shape, class K, class V, class Order>
[[nodiscard]] bool run_grid_sort(const launch_site& site, const Order& order, const small_sort_request& request) {
  using block = grid_sort_block<K, V, Order, Shape>;
  constexpr unsigned group_keys = grid_sort_threads * warp_striped<block::items>::group;
  constexpr auto kernel = grid_sort_kernel<K, V, Order, Shape>;
  constexpr unsigned shared_bytes = sizeof(typename block::shared_memory);
  const unsigned most = std::min(most_grid_sort_blocks, blocks_at_once<kernel>(grid_sort_threads, shared_bytes));
  if (most == 0) return false;
  if constexpr (Shape + 1 < num_grid_sort_shapes) {
    if (request.num_keys > std::uint64_t{most} * block::most_tile_keys) {
      return run_grid_sort<Shape + 1, K, V>(site, order, request);
    }
  }
  const std::uint64_t count = request.num_keys;
  grid_sort_arguments<K> a;
  a.makes_positions = request.argsort_keys != nullptr;
  a.given = static_cast<const K*>(a.makes_positions ? request.argsort_keys : request.sides[0].keys);
  for (unsigned side = 0; side < 2; ++side) {
    a.keys[side] = static_cast<K*>(request.sides[side].keys);
    a.values[side] = request.sides[side].values;
  }
  a.num_keys = request.num_keys;
  const auto groups = static_cast<unsigned>(base::ceil_div(count, std::uint64_t{most} * group_keys));
  a.items = std::min(groups * warp_striped<block::items>::group, block::items);
  const std::uint64_t tile_keys = std::uint64_t{grid_sort_threads} * a.items;
  a.tiles_each = static_cast<unsigned>(base::ceil_div(count, tile_keys * most));
  if (tile_keys * a.tiles_each > most_grid_sort_block_keys) return false;
  const auto blocks = static_cast<unsigned>(base::ceil_div(count, tile_keys * a.tiles_each));
  a.begin_bit = request.bits.begin;
  a.end_bit = request.bits.end;
  a.result_side = request.result_side;
  a.may_reverse = value_bytes_of<V> == 0 && request.bits.begin == 0;
  a.seen = site.memory.order;
  a.rows = reinterpret_cast<uint4*>(site.memory.counts);
  a.facts = reinterpret_cast<key_facts*>(a.rows + 2 * blocks * grid_row_words);
  static_assert(most_grid_sort_blocks * (2 * grid_row_words * sizeof(uint4) + sizeof(key_facts)) <=
                kernel_workspace::counts_bytes);
  Order of_kernel = order;
  void* arguments[] = {&of_kernel, &a};
  SPANSORT_CUDA(
      cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(grid_sort_threads), arguments, shared_bytes, site.stream));
  return true;
}

}  // namespace

template <class K>
void launch_block_sort(const launch_site& site, const small_sort_request& request) {
  const records from = request.sides[0];
  const records to = request.sides[request.result_side];
  chip_job<K> job;
  job.keys = static_cast<const K*>(from.keys);
  job.values = from.values;
  job.to_keys = static_cast<K*>(to.keys);
  job.to_values = to.values;
  job.count = request.num_keys;
  job.value_bytes = request.shape.value_bytes;
  job.begin_bit = request.bits.begin;
  job.looks_for_order = true;
  job.may_reverse = request.shape.value_bytes == 0 && request.bits.begin == 0;
  job.seen = site.memory.order;
  if (request.argsort_keys != nullptr) {
    // Places are all that is asked for.
    job.keys = static_cast<const K*>(request.argsort_keys);
    job.values = nullptr;
    job.to_keys = nullptr;
    job.value_bytes = 0;
    job.index_bytes = request.shape.value_bytes;
  }
  const keys::codec_of<K> codec = request.shape.codec.template of<K>();
  if (request.shape.value_bytes == 0) {
    with_small_order<K, false>(codec, [&](const auto& order) { run_block_sort<0, K, false>(site, order, job); });
  } else {
    with_small_order<K, true>(codec, [&](const auto& order) { run_block_sort<0, K, true>(site, order, job); });
  }
}

template <class K>
bool launch_grid_sort(const launch_site& site, const small_sort_request& request) {
  return with_value(request.shape.value_bytes, [&]<class V>() {
    return with_small_order<K, value_bytes_of<V> != 0>(request.shape.codec.template of<K>(), [&](const auto& order) {
      return run_grid_sort<0, K, V>(site, order, request);
    });
  });
}

/// Every instantiation unit has this once.
#define SPANSORT_INSTANTIATE_SMALL_SORTS(K)                                          \
  template void launch_block_sort<K>(const launch_site&, const small_sort_request&); \
  template bool launch_grid_sort<K>(const launch_site&, const small_sort_request&)

}  // namespace spansort::device::cuda
