// SPDX-License-Identifier: Apache-2.0
// Few records are sorted by one block in one launch, with one read and one write of each (kernels/chip_sort.cuh). The
// block looks for order itself. An argsort reads the keys where they are and writes the places alone.
#include "device/cuda/kernels/small_sorts.hpp"
#include "device/cuda/local_sort/local_sort.hpp"
#include "device/cuda/tuning/small_sorts_limits.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {
namespace {

bool can_sort(const record_shape& shape, std::uint64_t num_keys, compute_capability code) {
  return num_keys <= most_block_sort_keys && has_small_sorts(family_of(code)) &&
         (shape.value_bytes != 0 || shape.codec.is_bijective());
}

bool pays(const record_shape&, std::uint64_t num_keys) { return num_keys <= most_paying_block_sort_keys; }

records enqueue(const launch_site& site, const segment_sort& segment, void*) {
  const small_sort_request request = small_request_of(segment);
  keys::with_width(segment.shape.codec.width_bytes(), [&]<class K>() { launch_block_sort<K>(site, request); });
  return request.sides[request.result_side];
}

sort_cost cost(const segment_sort& segment) { return {1, 2 * segment.count * segment.shape.bytes()}; }

}  // namespace

extern const local_sort_algorithm block_sort;
constexpr local_sort_algorithm block_sort{.name = "block_sort",
                                          .label = "local sort",
                                          .makes_positions = true,
                                          .sees_order = true,
                                          .runs_side_by_side = true,
                                          .can_sort = can_sort,
                                          .pays = pays,
                                          .enqueue = enqueue,
                                          .cost = cost};

}  // namespace spansort::device::cuda
