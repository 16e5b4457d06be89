// SPDX-License-Identifier: Apache-2.0
// Sorts of one array of one GPU, put on a stream, also in builds without the GPU backend: there they throw
// device_error.
#pragma once

#include <cstdint>

#include "base/test_hooks.hpp"
#include "device/device.hpp"
#include "spansort/enqueue.hpp"

namespace spansort::sorting {

/// This says how a sort is to go, of records whose place is not known yet.
struct gpu_sort {
  device::record_shape shape;
  std::uint64_t num_records = 0;
  bool may_wait = false;  ///< the host may wait for the stream to learn how the keys are best sorted
  workspace_size workspace = workspace_size::least;
  bool has_wishes = true;  ///< else the workspace has nothing that the sort can do without
  base::test_hooks hooks = {};
};

/// This says how segments are to be sorted. Offsets lie in the GPU's memory.
struct gpu_segments_sort {
  device::record_shape shape;
  std::uint64_t num_records = 0;
  std::uint64_t num_segments = 0;
  std::uint64_t row_length = 0;   ///< of rows
  const void* offsets = nullptr;  ///< num_segments + 1; null: rows
  unsigned offset_bytes = 0;
};

/// Workspace of GPUs begins at multiples of this.
inline constexpr std::uint64_t gpu_workspace_alignment = 256;

// The GPU is the current device of the calling thread, as for every function of its runtime that takes a stream.

[[nodiscard]] std::uint64_t gpu_sort_bytes(const gpu_sort& sort);
[[nodiscard]] std::uint64_t gpu_argsort_bytes(const gpu_sort& sort);
void enqueue_gpu_sort(const gpu_sort& sort, const device::records& data, void* workspace, void* stream);
void enqueue_gpu_argsort(const gpu_sort& sort, const void* keys, void* indices, void* workspace, void* stream);

/// Throws device_error where the GPU has no room for the kernels.
[[nodiscard]] std::uint64_t gpu_segments_sort_bytes(const gpu_segments_sort& sort);
[[nodiscard]] std::uint64_t gpu_segments_argsort_bytes(const gpu_segments_sort& sort);
void enqueue_gpu_segments_sort(const gpu_segments_sort& sort, const device::records& data, void* workspace,
                               void* stream);
void enqueue_gpu_segments_argsort(const gpu_segments_sort& sort, const void* keys, void* indices, void* workspace,
                                  void* stream);

/// Throws invalid_argument unless `memory` is of the current GPU; `what` names it in the message.
void require_gpu_memory(const void* memory, const char* what);

/// Sorts on GPU `ordinal`, which need not be current, and blocks until `stream` of it is done.
void run_gpu_sort(int ordinal, const gpu_sort& sort, const device::records& data, void* workspace, void* stream);
/// Writes the stable order of `keys` likewise.
void run_gpu_argsort(int ordinal, const gpu_sort& sort, const void* keys, void* indices, void* workspace, void* stream);
/// These return gpu_sort_bytes() and gpu_argsort_bytes() on GPU `ordinal`.
[[nodiscard]] std::uint64_t gpu_sort_bytes_on(int ordinal, const gpu_sort& sort);
[[nodiscard]] std::uint64_t gpu_argsort_bytes_on(int ordinal, const gpu_sort& sort);

}  // namespace spansort::sorting
