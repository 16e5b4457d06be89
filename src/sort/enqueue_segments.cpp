// SPDX-License-Identifier: Apache-2.0
// Checks what callers hand over with a stream, and puts the sort of segments or rows on it.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
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

/// Returns from how many keys on rows are sorted one after the other: a sort of one array reads its keys less often
/// than a sort of segments does, and leaves multiprocessors idle where there are few of them.
/// Source: keys of 4 and 8 bytes by sorts and argsorts of 2^27 keys on an H100, cut into rows (python-rows-more.json in
/// bench/results/h100x1 has them as segments, python-rows.json with these bounds); narrow keys are by the times of
/// single arrays, and pairs were not measured.
std::uint64_t long_row_keys(key_type type) {
  if (const std::uint64_t asked = base::current_test_hooks().long_row_keys; asked != 0) return asked;
  constexpr std::uint64_t narrow = std::uint64_t{1} << 20;
  constexpr std::uint64_t words = std::uint64_t{1} << 22;
  constexpr std::uint64_t wide = std::uint64_t{1} << 26;
  const std::uint64_t width = size_bytes(type);
  return width < 4 ? narrow : width == 4 ? words : wide;
}

/// Rows are sorted in calls: one for each row, or one for as many rows as a sort of segments takes.
struct row_calls {
  std::uint64_t num_keys = 0;
  std::uint64_t row_length = 0;
  std::uint64_t rows_per_call = 1;
  bool are_single_rows = false;

  [[nodiscard]] std::uint64_t keys_per_call() const { return rows_per_call * row_length; }

  /// Calls work(first, count) for the keys of each call; once where there are none.
  template <class Work>
  void for_each(const Work& work) const {
    std::uint64_t first = 0;
    do {
      const std::uint64_t count = std::min(num_keys - first, keys_per_call());
      work(first, count);
      first += count;
    } while (first < num_keys);
  }
};

row_calls calls_of_rows(key_type type, std::uint64_t num_keys, std::uint64_t row_length) {
  keys::require_known(type);
  const std::uint64_t num_rows = sorting::bounds_of_rows(row_length, num_keys).num_segments();
  const std::uint64_t asked = base::current_test_hooks().segments_call_keys;
  const std::uint64_t most = asked != 0 ? asked : most_keys;
  if (num_rows < 2 || row_length > most || row_length >= long_row_keys(type)) {
    return {.num_keys = num_keys, .row_length = row_length, .are_single_rows = true};
  }
  return {.num_keys = num_keys, .row_length = row_length, .rows_per_call = std::min(num_rows, most / row_length)};
}

void* element(void* array, std::uint64_t index, std::uint64_t width) {
  return static_cast<std::byte*>(array) + index * width;
}

key_span part_of(const key_span& keys, std::uint64_t first, std::uint64_t count) {
  return {keys.type, element(keys.data, first, size_bytes(keys.type)), count};
}

const_key_span part_of(const const_key_span& keys, std::uint64_t first, std::uint64_t count) {
  return {keys.type, static_cast<const std::byte*>(keys.data) + first * size_bytes(keys.type), count};
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
  sorting::check_index_memory(keys, indices, index_bytes);
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

std::uint64_t enqueue_sort_rows_bytes(key_type type, std::uint64_t num_keys, std::uint64_t row_length) {
  const row_calls calls = calls_of_rows(type, num_keys, row_length);
  return calls.are_single_rows ? enqueue_sort_bytes(type, std::min(num_keys, row_length), workspace_size::fastest)
                               : enqueue_sort_segments_bytes(type, calls.keys_per_call(), calls.rows_per_call);
}

std::uint64_t enqueue_sort_pairs_rows_bytes(key_type type, std::uint64_t num_keys, std::uint64_t row_length,
                                            std::uint64_t value_bytes) {
  sorting::require_value_bytes(value_bytes);
  const row_calls calls = calls_of_rows(type, num_keys, row_length);
  return calls.are_single_rows
             ? enqueue_sort_pairs_bytes(type, std::min(num_keys, row_length), value_bytes, workspace_size::fastest)
             : enqueue_sort_pairs_segments_bytes(type, calls.keys_per_call(), calls.rows_per_call, value_bytes);
}

std::uint64_t enqueue_argsort_rows_bytes(key_type type, std::uint64_t num_keys, std::uint64_t row_length,
                                         std::uint64_t index_bytes) {
  sorting::require_index_bytes(index_bytes);
  const row_calls calls = calls_of_rows(type, num_keys, row_length);
  return calls.are_single_rows
             ? enqueue_argsort_bytes(type, std::min(num_keys, row_length), index_bytes, workspace_size::fastest)
             : enqueue_argsort_segments_bytes(type, calls.keys_per_call(), calls.rows_per_call, index_bytes);
}

void enqueue_sort_rows(key_span keys, std::uint64_t row_length, gpu_workspace workspace, void* stream, direction d) {
  sorting::check_keys(keys);
  const row_calls calls = calls_of_rows(keys.type, keys.num_keys, row_length);
  calls.for_each([&](std::uint64_t first, std::uint64_t count) {
    const key_span part = part_of(keys, first, count);
    if (calls.are_single_rows) return enqueue_sort(part, workspace, stream, d);
    sort_in_place(part, nullptr, 0, workspace, stream, [&] { return rows_of(part, row_length, 0, d); });
  });
}

void enqueue_sort_pairs_rows(key_span keys, void* values, std::uint64_t value_bytes, std::uint64_t row_length,
                             gpu_workspace workspace, void* stream, direction d) {
  sorting::require_value_bytes(value_bytes);
  sorting::check_keys(keys);
  sorting::check_values(keys, values, value_bytes);
  const row_calls calls = calls_of_rows(keys.type, keys.num_keys, row_length);
  calls.for_each([&](std::uint64_t first, std::uint64_t count) {
    const key_span part = part_of(keys, first, count);
    void* const moved = element(values, first, value_bytes);
    if (calls.are_single_rows) return enqueue_sort_pairs(part, moved, value_bytes, workspace, stream, d);
    sort_in_place(part, moved, value_bytes, workspace, stream,
                  [&] { return rows_of(part, row_length, value_bytes, d); });
  });
}

void enqueue_argsort_rows(const_key_span keys, void* indices, std::uint64_t index_bytes, std::uint64_t row_length,
                          gpu_workspace workspace, void* stream, direction d) {
  sorting::require_index_bytes(index_bytes);
  sorting::check_keys(keys);
  sorting::check_index_memory(keys, indices, index_bytes);
  const row_calls calls = calls_of_rows(keys.type, keys.num_keys, row_length);
  calls.for_each([&](std::uint64_t first, std::uint64_t count) {
    const const_key_span part = part_of(keys, first, count);
    void* const order = element(indices, first, index_bytes);
    if (calls.are_single_rows) return enqueue_argsort(part, order, index_bytes, workspace, stream, d);
    write_order(part, order, index_bytes, workspace, stream, [&] { return rows_of(part, row_length, index_bytes, d); });
  });
}

}  // namespace spansort
