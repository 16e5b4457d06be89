// SPDX-License-Identifier: Apache-2.0
// The segmented sort as the host enqueues it. Instantiated per key width in segmented_u8.cu ... segmented_u64.cu.
#pragma once

#include "device/cuda/kernels/request.hpp"
#include "device/cuda/kernels/segment_memory.hpp"

namespace spansort::device::cuda {

/// Bounds of segments whose positions, where there are any, lie in device memory.
struct segmented_bounds {
  const void* offsets = nullptr;  ///< num_segments + 1 of them; null: rows
  unsigned offset_bytes = 0;      ///< 4 or 8
  std::uint64_t row_length = 0;
  std::uint64_t num_segments = 0;
};

/// Segments of one array are sorted in place, or their order is written to `data.values`.
struct segmented_request {
  record_shape shape;
  records data;
  records alternate;                   ///< as many records, clobbered
  const void* argsort_keys = nullptr;  ///< null, or keys that stay as they are; `data.keys` is room for as many then
  std::uint32_t num_keys = 0;
  segmented_bounds bounds;
  void* memory = nullptr;  ///< segment_memory of device memory
};

/// Puts the sort on the site's stream. The host waits for nothing.
template <class K>
void launch_segmented_sort(const launch_site& site, const segmented_request& request);

}  // namespace spansort::device::cuda
