// SPDX-License-Identifier: Apache-2.0
// A number of records that all multiprocessors hold on chip together is sorted in one launch, by blocks that run at
// once and meet at barriers (kernels/grid_sort.cuh). The blocks look for order themselves. Side by side such launches
// would wait for each other, for each starts only when there is room for all of its blocks.
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/small_sorts.hpp"
#include "device/cuda/local_sort/local_sort.hpp"
#include "device/cuda/tuning/small_sorts_limits.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {
namespace {

bool can_sort(const record_shape& shape, std::uint64_t num_keys, compute_capability code) {
  return num_keys <= most_grid_sort_keys && has_small_sorts(family_of(code)) &&
         (shape.value_bytes != 0 || shape.codec.is_bijective());
}

bool pays(const record_shape& shape, std::uint64_t num_keys) {
  return num_keys <= most_paying_grid_sort_keys(shape.codec.width_bytes(), shape.value_bytes);
}

records enqueue(const launch_site& site, const segment_sort& segment, void*) {
  const small_sort_request request = small_request_of(segment);
  const bool is_launched = keys::with_width(segment.shape.codec.width_bytes(),
                                            [&]<class K>() { return launch_grid_sort<K>(site, request); });
  if (is_launched) return request.sides[request.result_side];
  // Blocks cannot meet on this GPU, or it has few multiprocessors. Nothing has been seen of the order then.
  SPANSORT_CUDA(
      cudaMemsetAsync(site.memory.order, seen_descent | seen_ascent, sizeof(*site.memory.order), site.stream));
  return onesweep_sort.enqueue(site, segment, nullptr);
}

/// Returns what keys take that crowd in few buckets and so go by digits; the host does not learn what these ones take.
sort_cost cost(const segment_sort& segment) {
  const unsigned passes = num_local_sort_passes(segment.bits);
  const record_shape& shape = segment.shape;
  return {passes, segment.count * (passes * shape.codec.width_bytes() + std::uint64_t{2} * passes * shape.bytes())};
}

}  // namespace

extern const local_sort_algorithm grid_sort;
constexpr local_sort_algorithm grid_sort{.name = "grid_sort",
                                         .label = "local sort",
                                         .makes_positions = true,
                                         .sees_order = true,
                                         .can_sort = can_sort,
                                         .pays = pays,
                                         .enqueue = enqueue,
                                         .cost = cost};

}  // namespace spansort::device::cuda
