// SPDX-License-Identifier: Apache-2.0
// Sorts that are put on a CUDA stream, for callers who have kernels of their own before and behind them: no call waits
// for the GPU, allocates, or starts a thread, and all can be captured into a CUDA graph. No CUDA header is needed:
// memory and streams are passed as void*.
//
// Stream: a cudaStream_t of the current device, null for its default stream. Keys, values, indices and workspace are
// memory of that device. They belong to the call until the stream has passed it. Workspace: the caller's, as many bytes
// as the function of the call's name says, aligned to 256 bytes; from call to call it may be used again behind the
// other on one stream. Sorts take n * (k + v) for n keys of k bytes with values of v bytes, 0.6 MiB, and up to 4 MiB or
// 2 % of the records, whichever is more; for up to 2^18 records no more than 1 MiB beside n * (k + v). Argsorts take
// n * k besides. With more (workspace_size) keys of 8 bytes are sorted faster. Errors: invalid_argument before anything
// is enqueued; device_error where there is no GPU or a launch is refused, and then the contents of keys, values and
// indices are lost. What fails on the GPU later is an error of the stream. Stability, order of floats: as in sort.hpp.
// Any number of threads may call at the same time. Source: Onesweep (Adinets and Merrill, 2022), section 3, for large
// arrays; small ones in one launch; keys of one and two bytes without values by a counting sort.
#pragma once

#include <cstdint>

#include "spansort/types.hpp"

namespace spansort {

/// Device memory that an enqueued call works in.
struct gpu_workspace {
  void* memory = nullptr;
  std::uint64_t size_bytes = 0;
};

/// This says how much workspace is asked for. `least` is what a sort takes. With `fastest`, up to 1.5 bytes a key more
/// for more than 2^24 keys of 8 bytes, the GPU looks at a sample of the keys and sorts even ones up to 2.5 times as
/// fast. A sort uses what it is given.
enum class workspace_size : std::uint8_t { least, fastest };

/// Returns the bytes of workspace that enqueue_sort() takes for `num_keys` keys on the current device, 0 for less than
/// two of them. Throws invalid_argument and device_error.
[[nodiscard]] std::uint64_t enqueue_sort_bytes(key_type type, std::uint64_t num_keys,
                                               workspace_size size = workspace_size::least);
/// Sorts keys in place.
///     spansort::enqueue_sort({spansort::key_type::f32, keys, n}, {workspace, bytes}, stream);
void enqueue_sort(key_span keys, gpu_workspace workspace, void* stream, direction d = direction::ascending);

/// Returns the bytes of workspace that enqueue_sort_pairs() takes for values of 4, 8 or 16 bytes.
[[nodiscard]] std::uint64_t enqueue_sort_pairs_bytes(key_type type, std::uint64_t num_keys, std::uint64_t value_bytes,
                                                     workspace_size size = workspace_size::least);
/// Sorts keys in place and moves as many values of 4, 8 or 16 bytes along. Stable. Values are aligned to their size.
void enqueue_sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, gpu_workspace workspace, void* stream,
                        direction d = direction::ascending);

/// Returns the bytes of workspace that enqueue_argsort() takes for indices of 4 or 8 bytes.
[[nodiscard]] std::uint64_t enqueue_argsort_bytes(key_type type, std::uint64_t num_keys, std::uint64_t index_bytes,
                                                  workspace_size size = workspace_size::least);
/// Writes the stable permutation that sorts keys: `keys.num_keys` indices of 4 or 8 bytes. Keys are not changed.
void enqueue_argsort(const_key_span keys, void* indices, std::uint64_t index_bytes, gpu_workspace workspace,
                     void* stream, direction d = direction::ascending);

// Segmented sorts sort each segment of an array by itself, with the results that segmented.hpp states. Offsets lie in
// the GPU's memory and are read there, so that work before the call on the stream may write them. Offsets that decrease
// or lie beyond the keys are not noticed, and what the keys are afterwards is undefined then; nothing outside of the
// arrays is touched. Segments have at most 2^32 - 1 keys together. Those of up to 32 keys are sorted by a thread each,
// of up to 512 by a warp, of up to 8,192 by a block, of keys of 4 bytes and fewer up to 20,480, and up to 12,288 with
// values or for an order; longer ones are partitioned by their highest digits, all of them together, until a block can
// finish the parts.
// Workspace: n * (k + v) for n keys of k bytes with values of v bytes, up to 2.2 bytes a key for lists and
// partitions, and 1 MiB; argsorts n * k besides. GPUs of compute capability 7.5 throw device_error.
// Source: Batcher, Sorting networks and their applications (1968), for short segments; Stehle and Jacobsen (SIGMOD
// 2017) for long ones.

/// Returns the bytes of workspace that enqueue_sort_segments() takes.
[[nodiscard]] std::uint64_t enqueue_sort_segments_bytes(key_type type, std::uint64_t num_keys,
                                                        std::uint64_t num_segments);
/// Sorts the keys of each segment in place. Segment i has the keys from offsets[i] up to offsets[i + 1]: `offsets` are
/// num_segments + 1 positions of type u32, i32, u64 or i64. Keys outside of all segments are left alone.
///     spansort::enqueue_sort_segments({spansort::key_type::f32, keys, n}, {spansort::key_type::i32, offsets, m + 1},
///                                     {workspace, bytes}, stream);
void enqueue_sort_segments(key_span keys, const_key_span offsets, gpu_workspace workspace, void* stream,
                           direction d = direction::ascending);

/// Returns the bytes of workspace that enqueue_sort_pairs_segments() takes.
[[nodiscard]] std::uint64_t enqueue_sort_pairs_segments_bytes(key_type type, std::uint64_t num_keys,
                                                              std::uint64_t num_segments, std::uint64_t value_bytes);
/// Sorts the keys of each segment in place and moves as many values of 4, 8 or 16 bytes along. Stable.
void enqueue_sort_pairs_segments(key_span keys, void* values, std::uint64_t value_bytes, const_key_span offsets,
                                 gpu_workspace workspace, void* stream, direction d = direction::ascending);

/// Returns the bytes of workspace that enqueue_argsort_segments() takes.
[[nodiscard]] std::uint64_t enqueue_argsort_segments_bytes(key_type type, std::uint64_t num_keys,
                                                           std::uint64_t num_segments, std::uint64_t index_bytes);
/// Writes the stable order of each segment: indices of 4 or 8 bytes, one a key, which count from 0 in each segment.
/// Keys are not changed; indices outside of all segments are not written.
void enqueue_argsort_segments(const_key_span keys, void* indices, std::uint64_t index_bytes, const_key_span offsets,
                              gpu_workspace workspace, void* stream, direction d = direction::ascending);

// Rows are segments of one length, of any number of keys together. Long rows, and a single one, are sorted one after
// the other as enqueue_sort() and its siblings sort an array, which takes workspace for one row: from 2^20 keys of 1 or
// 2 bytes on, 2^22 of 4 bytes, or 2^26 of 8. Shorter rows are sorted as segments, in several calls where they have more
// than 2^32 - 1 keys together. All throw invalid_argument where the number of keys is no multiple of `row_length`. The
// workspace of no keys is 0 bytes.

/// Returns the bytes of workspace that enqueue_sort_rows() takes.
[[nodiscard]] std::uint64_t enqueue_sort_rows_bytes(key_type type, std::uint64_t num_keys, std::uint64_t row_length);
/// Sorts the keys of each row in place.
void enqueue_sort_rows(key_span keys, std::uint64_t row_length, gpu_workspace workspace, void* stream,
                       direction d = direction::ascending);

/// Returns the bytes of workspace that enqueue_sort_pairs_rows() takes.
[[nodiscard]] std::uint64_t enqueue_sort_pairs_rows_bytes(key_type type, std::uint64_t num_keys,
                                                          std::uint64_t row_length, std::uint64_t value_bytes);
/// Sorts the keys of each row in place and moves as many values of 4, 8 or 16 bytes along. Stable.
void enqueue_sort_pairs_rows(key_span keys, void* values, std::uint64_t value_bytes, std::uint64_t row_length,
                             gpu_workspace workspace, void* stream, direction d = direction::ascending);

/// Returns the bytes of workspace that enqueue_argsort_rows() takes.
[[nodiscard]] std::uint64_t enqueue_argsort_rows_bytes(key_type type, std::uint64_t num_keys, std::uint64_t row_length,
                                                       std::uint64_t index_bytes);
/// Writes the stable order of each row: indices of 4 or 8 bytes, one a key, which count from 0 in each row.
void enqueue_argsort_rows(const_key_span keys, void* indices, std::uint64_t index_bytes, std::uint64_t row_length,
                          gpu_workspace workspace, void* stream, direction d = direction::ascending);

}  // namespace spansort
