// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/enqueue_segmented.hpp"

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/cuda/workspace_layout.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {
namespace {

[[nodiscard]] std::uint64_t lists_bytes(const segmented_manner& manner) {
  const record_shape& shape = manner.shape;
  const msd_limits limits = segment_limits_of(shape.codec.width_bytes(), shape.value_bytes);
  return segment_memory::in(nullptr, manner.num_records, manner.bounds.num_segments, limits).size_bytes;
}

/// Returns whether a segment may have two records.
[[nodiscard]] bool is_needed(const segmented_manner& manner) {
  return manner.num_records != 0 && manner.bounds.num_segments != 0;
}

/// Fills the parts of a request that lie in the workspace.
void lay_out(const segmented_manner& manner, workspace_layout& parts, segmented_request& request) {
  request.alternate.keys = parts.take(manner.num_records * manner.shape.codec.width_bytes());
  request.alternate.values = parts.take(manner.num_records * manner.shape.value_bytes);
  request.memory = parts.take(lists_bytes(manner));
}

void launch(const segmented_manner& manner, segmented_request request, cudaStream_t stream) {
  SPANSORT_ASSERT(manner.num_records <= most_segmented_records);
  request.shape = manner.shape;
  request.num_keys = static_cast<std::uint32_t>(manner.num_records);
  request.bounds = manner.bounds;
  const launch_site site = make_launch_site(stream);
  keys::with_width(manner.shape.codec.width_bytes(), [&]<class K>() { launch_segmented_sort<K>(site, request); });
}

}  // namespace

bool can_sort_segments() { return has_segmented_sort(make_launch_site(nullptr).family()); }

std::uint64_t segmented_workspace_bytes(const segmented_manner& manner) {
  if (!is_needed(manner)) return 0;
  workspace_layout parts(nullptr);
  segmented_request request;
  lay_out(manner, parts, request);
  return parts.end();
}

std::uint64_t segmented_argsort_workspace_bytes(const segmented_manner& manner) {
  if (!is_needed(manner)) return 0;
  const std::uint64_t keys_bytes = manner.num_records * manner.shape.codec.width_bytes();
  return segmented_workspace_bytes(manner) + base::round_up(keys_bytes, workspace_alignment_bytes);
}

void enqueue_segmented_sort(const segmented_manner& manner, const records& data, void* workspace, cudaStream_t stream) {
  if (!is_needed(manner)) return;
  workspace_layout parts(workspace);
  segmented_request request;
  request.data = data;
  lay_out(manner, parts, request);
  launch(manner, request, stream);
}

void enqueue_segmented_argsort(const segmented_manner& manner, const void* keys, void* indices, void* workspace,
                               cudaStream_t stream) {
  if (!is_needed(manner)) return;
  workspace_layout parts(workspace);
  segmented_request request;
  request.data = {parts.take(manner.num_records * manner.shape.codec.width_bytes()), indices};
  request.argsort_keys = keys;
  lay_out(manner, parts, request);
  launch(manner, request, stream);
}

}  // namespace spansort::device::cuda
