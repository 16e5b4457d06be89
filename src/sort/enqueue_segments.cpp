// SPDX-License-Identifier: Apache-2.0
// Checks what callers hand over with a stream, and puts the sort of segments on it.
#include <fmt/format.h>

#include <limits>

#include "keys/codec.hpp"
#include "keys/known_type.hpp"
#include "sort/arguments.hpp"
#include "sort/enqueue_checks.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/gpu_enqueue.hpp"
#include "sort/segments.hpp"
#include "spansort/enqueue.hpp"
#include "spansort/errors.hpp"

namespace spansort {
namespace {

constexpr std::uint64_t most_keys = std::numeric_limits<std::uint32_t>::max();

/// Returns a sort without bounds.
sorting::gpu_segments_sort sort_of(key_type type, std::uint64_t num_keys, std::uint64_t num_segments,
                                   std::uint64_t value_bytes, direction d) {
  keys::require_known(type);
  if (num_keys > most_keys) {
    throw invalid_argument(fmt::format("segments on a GPU have at most {} keys together, not {}", most_keys, num_keys));
  }
  const keys::tie_rule ties = value_bytes == 0 ? keys::tie_rule::by_bits : keys::tie_rule::by_input_order;
  return {.shape = {{type, keys::is_descending(d), ties}, static_cast<unsigned>(value_bytes)},
          .num_records = num_keys,
          .num_segments = num_segments};
}

sorting::gpu_segments_sort segments_of(const const_key_span& keys, const const_key_span& offsets,
                                       std::uint64_t value_bytes, direction d) {
  const device::segment_bounds bounds = sorting::bounds_of_offsets(offsets);
  sorting::gpu_segments_sort sort = sort_of(keys.type, keys.num_keys, bounds.num_segments(), value_bytes, d);
  sort.offsets = offsets.data;
  sort.offset_bytes = static_cast<unsigned>(size_bytes(offsets.type));
  sorting::require_gpu_memory(offsets.data, "offsets");
  return sort;
}

sorting::gpu_segments_sort rows_of(const const_key_span& keys, std::uint64_t row_length, std::uint64_t value_bytes,
                                   direction d) {
  const device::segment_bounds bounds = sorting::bounds_of_rows(row_length, keys.num_keys);
  sorting::gpu_segments_sort sort = sort_of(keys.type, keys.num_keys, bounds.num_segments(), value_bytes, d);
  sort.row_length = row_length;
  return sort;
}

/// Calls bounds(), which returns the sort, and sorts the keys, with values where they have bytes.
template <class Bounds>
void sort_in_place(key_span keys, void* values, std::uint64_t value_bytes, const gpu_workspace& workspace, void* stream,
                   const Bounds& bounds) {
  sorting::check_keys(keys);
  if (value_bytes != 0) {
    sorting::check_values(keys, values, value_bytes);
    sorting::require_aligned(values, value_bytes, "values");
  }
  const sorting::gpu_call call(base::current_test_hooks());
  const sorting::gpu_segments_sort sort = bounds();
  sorting::check_workspace(workspace, sorting::gpu_segments_sort_bytes(sort));
  if (keys.num_keys == 0) return;
  sorting::require_gpu_memory(keys.data, "keys");
  if (value_bytes != 0) sorting::require_gpu_memory(values, "values");
  sorting::enqueue_gpu_segments_sort(sort, {keys.data, values}, workspace.memory, stream);
}

template <class Bounds>
void write_order(const const_key_span& keys, void* indices, std::uint64_t index_bytes, const gpu_workspace& workspace,
                 void* stream, const Bounds& bounds) {
  sorting::require_index_bytes(index_bytes);
  sorting::check_keys(keys);
  sorting::check_values(keys, indices, index_bytes);
  sorting::require_aligned(indices, index_bytes, "indices");
  const sorting::gpu_call call(base::current_test_hooks());
  const sorting::gpu_segments_sort sort = bounds();
  sorting::check_workspace(workspace, sorting::gpu_segments_argsort_bytes(sort));
  if (keys.num_keys == 0) return;
  sorting::require_gpu_memory(keys.data, "keys");
  sorting::require_gpu_memory(indices, "indices");
  sorting::enqueue_gpu_segments_argsort(sort, keys.data, indices, workspace.memory, stream);
}

}  // namespace

std::uint64_t enqueue_sort_segments_bytes(key_type type, std::uint64_t num_keys, std::uint64_t num_segments) {
  return sorting::gpu_segments_sort_bytes(sort_of(type, num_keys, num_segments, 0, direction::ascending));
}

std::uint64_t enqueue_sort_pairs_segments_bytes(key_type type, std::uint64_t num_keys, std::uint64_t num_segments,
                                                std::uint64_t value_bytes) {
  sorting::require_value_bytes(value_bytes);
  return sorting::gpu_segments_sort_bytes(sort_of(type, num_keys, num_segments, value_bytes, direction::ascending));
}

std::uint64_t enqueue_argsort_segments_bytes(key_type type, std::uint64_t num_keys, std::uint64_t num_segments,
                                             std::uint64_t index_bytes) {
  sorting::require_index_bytes(index_bytes);
  return sorting::gpu_segments_argsort_bytes(sort_of(type, num_keys, num_segments, index_bytes, direction::ascending));
}

void enqueue_sort_segments(key_span keys, const_key_span offsets, gpu_workspace workspace, void* stream, direction d) {
  sort_in_place(keys, nullptr, 0, workspace, stream, [&] { return segments_of(keys, offsets, 0, d); });
}

void enqueue_sort_pairs_segments(key_span keys, void* values, std::uint64_t value_bytes, const_key_span offsets,
                                 gpu_workspace workspace, void* stream, direction d) {
  sorting::require_value_bytes(value_bytes);
  sort_in_place(keys, values, value_bytes, workspace, stream,
                [&] { return segments_of(keys, offsets, value_bytes, d); });
}

void enqueue_argsort_segments(const_key_span keys, void* indices, std::uint64_t index_bytes, const_key_span offsets,
                              gpu_workspace workspace, void* stream, direction d) {
  write_order(keys, indices, index_bytes, workspace, stream,
              [&] { return segments_of(keys, offsets, index_bytes, d); });
}

void enqueue_sort_rows(key_span keys, std::uint64_t row_length, gpu_workspace workspace, void* stream, direction d) {
  sort_in_place(keys, nullptr, 0, workspace, stream, [&] { return rows_of(keys, row_length, 0, d); });
}

void enqueue_sort_pairs_rows(key_span keys, void* values, std::uint64_t value_bytes, std::uint64_t row_length,
                             gpu_workspace workspace, void* stream, direction d) {
  sorting::require_value_bytes(value_bytes);
  sort_in_place(keys, values, value_bytes, workspace, stream,
                [&] { return rows_of(keys, row_length, value_bytes, d); });
}

void enqueue_argsort_rows(const_key_span keys, void* indices, std::uint64_t index_bytes, std::uint64_t row_length,
                          gpu_workspace workspace, void* stream, direction d) {
  write_order(keys, indices, index_bytes, workspace, stream, [&] { return rows_of(keys, row_length, index_bytes, d); });
}

}  // namespace spansort
