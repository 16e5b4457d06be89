// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/local_sort/in_order.hpp"

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/positions.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {

const order_action* look_for_order(const launch_site& site, const segment_sort& segment) {
  keys::with_width(segment.shape.codec.width_bytes(), [&]<class K>() {
    // Keys that tie on the range asked for must not change places, so only whole keys can be reversed.
    look_manner manner{.may_reverse = segment.bits.begin == 0, .equal_may_turn = segment.shape.value_bytes == 0};
    if (manner.equal_may_turn && !segment.result_in_alternate) manner.turned_keys = segment.source.keys;
    launch_look<K>(site, segment.shape.codec.template of<K>(), segment.given_keys(), segment.count, manner);
  });
  return site.memory.decision;
}

void copy_where(order_action wanted, const launch_site& site, const segment_sort& segment, records to, records from) {
  keys::with_width(segment.shape.codec.width_bytes(), [&]<class K>() {
    launch_copy<K>(site, segment.shape.value_bytes, {segment.decision, wanted}, to, from, segment.count);
  });
}

void use_order(const launch_site& site, const segment_sort& segment, records result) {
  if (segment.argsort_keys != nullptr) {
    return launch_ordered_positions(site, segment.decision, result.values, segment.shape.value_bytes, segment.count);
  }
  if (segment.source.keys != result.keys) copy_where(order_action::keep, site, segment, result, segment.source);
  keys::with_width(segment.shape.codec.width_bytes(), [&]<class K>() {
    launch_reverse<K>(site, segment.shape.value_bytes, {segment.decision, order_action::reverse}, result,
                      segment.source, segment.count);
  });
}

bool is_in_order(const sort_segment& segment) noexcept { return segment.bits.empty() || segment.count == 1; }

std::uint64_t move_in_order(const launch_site& site, const local_sort_request& request, const sort_segment& segment) {
  if (!request.result_in_alternate) return 0;
  const records from = advance(request.shape, request.source, segment.begin);
  const records to = advance(request.shape, request.alternate, segment.begin);
  const std::uint64_t key_bytes = segment.count * request.shape.codec.width_bytes();
  SPANSORT_CUDA(cudaMemcpyAsync(to.keys, from.keys, key_bytes, cudaMemcpyDefault, site.stream));
  if (request.shape.value_bytes != 0) {
    const std::uint64_t value_bytes = segment.count * request.shape.value_bytes;
    SPANSORT_CUDA(cudaMemcpyAsync(to.values, from.values, value_bytes, cudaMemcpyDefault, site.stream));
  }
  return 2 * segment.count * request.shape.bytes();
}

}  // namespace spansort::device::cuda
