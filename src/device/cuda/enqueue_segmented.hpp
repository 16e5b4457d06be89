// SPDX-License-Identifier: Apache-2.0
// Segmented sorts of arrays of the current GPU that are put on a stream of the caller's, in a workspace of his: no
// allocation and no wait, so that they can be captured into a graph.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device/cuda/kernels/segmented_launch.hpp"
#include "device/device.hpp"

namespace spansort::device::cuda {

/// Segments of more records are not sorted together: positions have 32 bits.
inline constexpr std::uint64_t most_segmented_records = most_msd_keys;

/// A segmented sort as it is to go.
struct segmented_manner {
  record_shape shape;
  std::uint64_t num_records = 0;  ///< at most most_segmented_records
  segmented_bounds bounds;
};

/// Returns whether the current GPU has room for the kernels.
[[nodiscard]] bool can_sort_segments();

/// Returns the workspace that the sort takes on the current GPU: a second array and the lists of segments.
[[nodiscard]] std::uint64_t segmented_workspace_bytes(const segmented_manner& manner);
/// Returns that of an argsort, which takes room for the keys besides.
[[nodiscard]] std::uint64_t segmented_argsort_workspace_bytes(const segmented_manner& manner);

/// Sorts the segments of `data` in place.
void enqueue_segmented_sort(const segmented_manner& manner, const records& data, void* workspace, cudaStream_t stream);
/// Writes the stable order of each segment to `indices`, of manner.shape.value_bytes each.
void enqueue_segmented_argsort(const segmented_manner& manner, const void* keys, void* indices, void* workspace,
                               cudaStream_t stream);

}  // namespace spansort::device::cuda
