// SPDX-License-Identifier: Apache-2.0
// Sorts that are put on a CUDA stream, for callers who have kernels of their own before and behind them: no call waits
// for the GPU, allocates, or starts a thread, and all can be captured into a CUDA graph. No CUDA header is needed:
// memory and streams are passed as void*.
//
// Stream: a cudaStream_t of the current device, null for its default stream. Keys, values, indices and workspace are
// memory of that device. They belong to the call until the stream has passed it.
// Workspace: the caller's, as many bytes as the function of the call's name says, aligned to 256 bytes; from call to
// call it may be used again behind the other on one stream. Sorts take n * (k + v) for n keys of k bytes with values of
// v bytes, 0.4 MiB, and up to 4 MiB or 2 % of the records, whichever is more; for up to 2^18 records no more than 1 MiB
// beside n * (k + v). Argsorts take n * k besides.
// Errors: invalid_argument before anything is enqueued; device_error where there is no GPU or a launch is refused, and
// then the contents of keys, values and indices are lost. What fails on the GPU later is an error of the stream.
// Stability, order of floats: as in sort.hpp. Any number of threads may call at the same time.
// Source: Onesweep (Adinets and Merrill, 2022), section 3, for large arrays; small ones in one launch.
#pragma once

#include <cstdint>

#include "spansort/types.hpp"

namespace spansort {

/// Device memory that an enqueued call works in.
struct gpu_workspace {
  void* memory = nullptr;
  std::uint64_t size_bytes = 0;
};

/// Returns the bytes of workspace that enqueue_sort() takes for `num_keys` keys on the current device, 0 for less than
/// two of them. Throws invalid_argument and device_error.
[[nodiscard]] std::uint64_t enqueue_sort_bytes(key_type type, std::uint64_t num_keys);
/// Sorts keys in place.
///     spansort::enqueue_sort({spansort::key_type::f32, keys, n}, {workspace, bytes}, stream);
void enqueue_sort(key_span keys, gpu_workspace workspace, void* stream, direction d = direction::ascending);

/// Returns the bytes of workspace that enqueue_sort_pairs() takes for values of 4, 8 or 16 bytes.
[[nodiscard]] std::uint64_t enqueue_sort_pairs_bytes(key_type type, std::uint64_t num_keys, std::uint64_t value_bytes);
/// Sorts keys in place and moves as many values of 4, 8 or 16 bytes along. Stable. Values are aligned to their size.
void enqueue_sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, gpu_workspace workspace, void* stream,
                        direction d = direction::ascending);

/// Returns the bytes of workspace that enqueue_argsort() takes for indices of 4 or 8 bytes.
[[nodiscard]] std::uint64_t enqueue_argsort_bytes(key_type type, std::uint64_t num_keys, std::uint64_t index_bytes);
/// Writes the stable permutation that sorts keys: `keys.num_keys` indices of 4 or 8 bytes. Keys are not changed.
void enqueue_argsort(const_key_span keys, void* indices, std::uint64_t index_bytes, gpu_workspace workspace,
                     void* stream, direction d = direction::ascending);

}  // namespace spansort
