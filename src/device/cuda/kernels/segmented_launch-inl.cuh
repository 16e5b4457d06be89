// SPDX-License-Identifier: Apache-2.0
// Bodies of what segmented_launch.hpp declares. Only segmented_u8.cu ... segmented_u64.cu include this.
#pragma once

#include <algorithm>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/blocks_at_once.hpp"
#include "device/cuda/kernels/msd_launch.hpp"
#include "device/cuda/kernels/segment_blocks.cuh"
#include "device/cuda/kernels/segment_threads.cuh"
#include "device/cuda/kernels/segment_warps.cuh"
#include "device/cuda/kernels/segmented_launch.hpp"

namespace spansort::device::cuda {
namespace {

/// The least and the longest that a segment can be, as far as the host knows.
struct length_range {
  std::uint64_t least = 0;
  std::uint64_t most = 0;

  [[nodiscard]] bool reaches(std::uint64_t from, std::uint64_t to) const { return least <= to && from <= most; }
};

template <class K, bool KeepsPlaces>
void launch_threads(const launch_site& site, const segment_arguments<K>& a) {
  const unsigned warp_bytes = segment_threads_warp<K, KeepsPlaces>::shared_bytes(a.value_bytes);
  unsigned threads = segment_thread_block;
  while (threads / 32 * warp_bytes > most_shared_bytes(site.family())) threads /= 2;
  constexpr auto kernel = segment_threads_kernel<K, KeepsPlaces>;
  grant_shared_memory<kernel>(most_shared_bytes(site.family()));
  const auto blocks = base::ceil_div(a.bounds.num_segments, std::uint64_t{threads});
  kernel<<<static_cast<unsigned>(blocks), threads, threads / 32 * warp_bytes, site.stream>>>(a);
  check_done(cudaGetLastError(), "segment_threads_kernel");
}

template <class K, bool KeepsPlaces>
void launch_warps(const launch_site& site, const segment_arguments<K>& a) {
  constexpr unsigned warps = segment_warp_block / 32;
  constexpr unsigned blocks_each = segment_warp_blocks_each(segment_items<K, KeepsPlaces>::item_bytes);
  const unsigned block_bytes = warps * segment_warp_memory<K, KeepsPlaces>::bytes_with_values(a.value_bytes);
  const std::uint64_t most = std::min(a.bounds.num_segments, a.num_keys / (std::uint64_t{most_thread_keys} + 1));
  const std::uint64_t all = std::uint64_t{site.num_multiprocessors} * blocks_each;
  const auto blocks = static_cast<unsigned>(std::min(all, base::ceil_div(most, std::uint64_t{warps})));
  if (blocks == 0) return;
  constexpr auto kernel = segment_warps_kernel<K, KeepsPlaces>;
  grant_shared_memory<kernel>(most_shared_bytes(site.family()));
  kernel<<<blocks, segment_warp_block, block_bytes, site.stream>>>(a);
  check_done(cudaGetLastError(), "segment_warps_kernel");
}

/// Launches blocks for the jobs of one size, of which none has more than `most` records. `FewItems`: threads take
/// few_segment_items at most, which is chosen where that is enough for `most`.
template <unsigned Size, bool FewItems, class K, bool KeepsPlaces, class Order>
void launch_blocks(const launch_site& site, const Order& order, const segment_arguments<K>& a,
                   const segment_sides<K>& sides, std::uint64_t most) {
  constexpr block_sort_shape given = segment_block_shape_of(Size, sizeof(K), KeepsPlaces);
  constexpr block_sort_shape shape{given.threads, FewItems ? few_segment_items : given.items};
  if constexpr (shape.items > few_segment_items) {
    if (most <= shape.threads * few_segment_items) {
      return launch_blocks<Size, true, K, KeepsPlaces>(site, order, a, sides, most);
    }
  }
  constexpr auto kernel = segment_blocks_kernel<K, Order, KeepsPlaces, shape.threads, shape.items>;
  constexpr unsigned shared_bytes =
      sizeof(typename chip_sort<K, Order, KeepsPlaces, shape.threads, shape.items>::shared_memory);
  static_assert(shared_bytes <= most_shared_bytes(kernel_family::ampere));
  grant_shared_memory<kernel>(shared_bytes);
  const std::uint64_t all = std::uint64_t{site.num_multiprocessors} * segment_blocks_each(shape.threads);
  const auto blocks = static_cast<unsigned>(std::min(all, a.num_keys / std::uint64_t{most_warp_keys} + 1));
  kernel<<<blocks, shape.threads, shared_bytes, site.stream>>>(order, a, sides, Size);
  check_done(cudaGetLastError(), "segment_blocks_kernel");
}

template <class K, bool KeepsPlaces, class Order>
void launch_blocks_of_all_sizes(const launch_site& site, const Order& order, const segment_arguments<K>& a,
                                const segment_sides<K>& sides, const length_range& lengths) {
  const bool has_parts = lengths.most > a.limits.most_finished();
  if (has_parts || lengths.reaches(a.limits.finish_keys[1] + 1, a.limits.finish_keys[2])) {
    launch_blocks<2, false, K, KeepsPlaces>(site, order, a, sides, lengths.most);
  }
  if (has_parts || lengths.reaches(a.limits.finish_keys[0] + 1, a.limits.finish_keys[1])) {
    launch_blocks<1, false, K, KeepsPlaces>(site, order, a, sides, lengths.most);
  }
  if (has_parts || lengths.reaches(most_warp_keys + 1, a.limits.finish_keys[0])) {
    launch_blocks<0, false, K, KeepsPlaces>(site, order, a, sides, lengths.most);
  }
}

/// Partitions segments that are too long for a block.
template <class K>
void launch_partitions(const launch_site& site, const segment_arguments<K>& a, const segmented_request& request) {
  if (a.index_bytes != 0) {
    const unsigned blocks = 4 * site.num_multiprocessors;
    launch_msd_ready(site, a.memory.msd, a.limits);
    segment_positions_kernel<K>
        <<<blocks, segment_positions_threads, 0, site.stream>>>(a, static_cast<K*>(request.data.keys));
    check_done(cudaGetLastError(), "segment_positions_kernel");
  }
  launch_msd_levels<K>(site, {.shape = request.shape,
                              .sides = {request.data, request.alternate},
                              .num_keys = request.num_keys,
                              .limits = a.limits,
                              .memory = a.memory.msd,
                              .are_ready = a.index_bytes != 0});
}

template <class K, bool KeepsPlaces>
void run_segmented_sort(const launch_site& site, const segment_arguments<K>& a, const segmented_request& request) {
  length_range lengths{0, request.num_keys};
  if (request.bounds.offsets == nullptr) lengths = {request.bounds.row_length, request.bounds.row_length};
  launch_threads<K, KeepsPlaces>(site, a);
  if (lengths.most <= most_thread_keys) return;
  if (lengths.least <= most_warp_keys) launch_warps<K, KeepsPlaces>(site, a);
  if (lengths.most <= most_warp_keys) return;
  segment_limit_kernel<K><<<1, 1, 0, site.stream>>>(a);
  check_done(cudaGetLastError(), "segment_limit_kernel");
  if (lengths.most > a.limits.most_finished()) launch_partitions(site, a, request);
  segment_sides<K> sides;
  for (unsigned i = 0; i < 2; ++i) {
    const records& side = i == 0 ? request.data : request.alternate;
    sides.keys[i] = static_cast<const K*>(side.keys);
    sides.values[i] = side.values;
  }
  if constexpr (KeepsPlaces && sizeof(K) != 1) {
    if (a.codec.folds_ties) {
      return launch_blocks_of_all_sizes<K, true>(site, folded_order<K>(a.codec), a, sides, lengths);
    }
  }
  launch_blocks_of_all_sizes<K, KeepsPlaces>(site, encoded_order<K>(a.codec), a, sides, lengths);
}

}  // namespace

template <class K>
void launch_segmented_sort(const launch_site& site, const segmented_request& request) {
  SPANSORT_ASSERT(has_segmented_sort(site.family()));
  const bool is_argsort = request.argsort_keys != nullptr;
  segment_arguments<K> a;
  a.codec = request.shape.codec.template of<K>();
  a.keys = static_cast<const K*>(is_argsort ? request.argsort_keys : request.data.keys);
  a.to_keys = is_argsort ? nullptr : static_cast<K*>(request.data.keys);
  a.values = a.to_values = request.data.values;
  a.value_bytes = is_argsort ? 0 : request.shape.value_bytes;
  a.index_bytes = is_argsort ? request.shape.value_bytes : 0;
  a.num_keys = request.num_keys;
  a.bounds.num_segments = request.bounds.num_segments;
  a.bounds.row_length = request.bounds.row_length;
  if (request.bounds.offset_bytes == 4) {
    a.bounds.narrow = static_cast<const std::uint32_t*>(request.bounds.offsets);
  } else {
    a.bounds.wide = static_cast<const std::uint64_t*>(request.bounds.offsets);
  }
  a.limits = segment_limits_of(sizeof(K), request.shape.value_bytes);
  a.memory = segment_memory::in(request.memory, request.num_keys, request.bounds.num_segments, a.limits);
  SPANSORT_CUDA(cudaMemsetAsync(a.memory.control, 0, segment_memory::zeroed_bytes, site.stream));
  if (request.shape.value_bytes == 0) {
    run_segmented_sort<K, false>(site, a, request);
  } else {
    run_segmented_sort<K, true>(site, a, request);
  }
}

}  // namespace spansort::device::cuda
