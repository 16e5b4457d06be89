// SPDX-License-Identifier: Apache-2.0
// A sort of one array of the current GPU that is put on a stream of the caller's, in a workspace of the caller's: no
// queue, no thread, no allocation, no function of the host, and a wait only where the caller allows it. So it can be
// captured into a graph, and a call that waits costs no more than its kernels and one wait.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string_view>

#include "device/cuda/workspace_layout.hpp"
#include "device/device.hpp"

namespace spansort::device::cuda {

/// This says whether the host may wait for the stream to learn from a sample how the keys are best sorted.
enum class host_wait : std::uint8_t { never, where_it_pays };

/// This says how much workspace a sort has: that which it cannot do without, with memory for counts of many keys of 4
/// bytes, or with memory for buckets of keys of 8 bytes, too.
enum class sort_memory : std::uint8_t { none_wished, least, fastest };

/// A sort as it is to go, of records whose place is not known yet.
struct sort_manner {
  record_shape shape;
  std::uint64_t num_records = 0;
  host_wait wait = host_wait::never;
  sort_memory memory = sort_memory::least;
  std::string_view local_sort = {};  ///< as in cuda_device_options
};

/// Returns the workspace that the sort takes on the current GPU: a second array, what its kernels keep, and memory for
/// counts or buckets of inputs that are large enough for them: for buckets where the host may wait or more memory is
/// wished for, for neither where none is.
[[nodiscard]] std::uint64_t sort_workspace_bytes(const sort_manner& manner);
/// Returns that of an argsort, whose values are the indices: it takes room for the keys besides.
[[nodiscard]] std::uint64_t argsort_workspace_bytes(const sort_manner& manner);

/// Sorts `data` in place. `workspace` is aligned to workspace_alignment_bytes and as large as sort_workspace_bytes()
/// says.
void enqueue_sort(const sort_manner& manner, const records& data, void* workspace, cudaStream_t stream);

/// Writes the stable order of `keys`, which are not changed, to `indices`, of manner.shape.value_bytes each.
void enqueue_argsort(const sort_manner& manner, const void* keys, void* indices, void* workspace, cudaStream_t stream);

/// Returns whether the current GPU's kernels reach `memory`, which is then its own or managed.
[[nodiscard]] bool is_own_memory(const void* memory);

/// Blocks until `stream` of the current GPU is done. Throws what has failed.
void wait_for(cudaStream_t stream);

}  // namespace spansort::device::cuda
