// SPDX-License-Identifier: Apache-2.0
// Checks what callers hand over with a stream, and puts the sort on it.
#include "spansort/enqueue.hpp"

#include "keys/known_type.hpp"
#include "sort/arguments.hpp"
#include "sort/enqueue_checks.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/gpu_enqueue.hpp"

namespace spansort {
namespace {

sorting::gpu_sort gpu_sort_of(key_type type, std::uint64_t num_keys, std::uint64_t value_bytes, direction d) {
  keys::require_known(type);
  const keys::tie_rule ties = value_bytes == 0 ? keys::tie_rule::by_bits : keys::tie_rule::by_input_order;
  return {.shape = {{type, keys::is_descending(d), ties}, static_cast<unsigned>(value_bytes)},
          .num_records = num_keys,
          .hooks = base::current_test_hooks()};
}

sorting::gpu_sort with(workspace_size size, sorting::gpu_sort sort) {
  sort.workspace = size;
  return sort;
}

/// Checks the workspace by bytes_of(), and returns the sort with as much of it as it can use.
template <class BytesOf>
sorting::gpu_sort checked(const gpu_workspace& workspace, const sorting::gpu_sort& sort, const BytesOf& bytes_of) {
  sorting::check_workspace(workspace, bytes_of(sort));
  const sorting::gpu_sort fastest = with(workspace_size::fastest, sort);
  return workspace.size_bytes >= bytes_of(fastest) ? fastest : sort;
}

}  // namespace

std::uint64_t enqueue_sort_bytes(key_type type, std::uint64_t num_keys, workspace_size size) {
  return sorting::gpu_sort_bytes(with(size, gpu_sort_of(type, num_keys, 0, direction::ascending)));
}

std::uint64_t enqueue_sort_pairs_bytes(key_type type, std::uint64_t num_keys, std::uint64_t value_bytes,
                                       workspace_size size) {
  sorting::require_value_bytes(value_bytes);
  return sorting::gpu_sort_bytes(with(size, gpu_sort_of(type, num_keys, value_bytes, direction::ascending)));
}

std::uint64_t enqueue_argsort_bytes(key_type type, std::uint64_t num_keys, std::uint64_t index_bytes,
                                    workspace_size size) {
  sorting::require_index_bytes(index_bytes);
  return sorting::gpu_argsort_bytes(with(size, gpu_sort_of(type, num_keys, index_bytes, direction::ascending)));
}

void enqueue_sort(key_span keys, gpu_workspace workspace, void* stream, direction d) {
  sorting::check_keys(keys);
  const sorting::gpu_sort asked = gpu_sort_of(keys.type, keys.num_keys, 0, d);
  const sorting::gpu_call call(asked.hooks);
  const sorting::gpu_sort sort = checked(workspace, asked, sorting::gpu_sort_bytes);
  if (keys.num_keys == 0) return;
  sorting::require_gpu_memory(keys.data, "keys");
  sorting::enqueue_gpu_sort(sort, {keys.data, nullptr}, workspace.memory, stream);
}

void enqueue_sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, gpu_workspace workspace, void* stream,
                        direction d) {
  sorting::require_value_bytes(value_bytes);
  sorting::check_keys(keys);
  sorting::check_values(keys, values, value_bytes);
  sorting::require_aligned(values, value_bytes, "values");
  const sorting::gpu_sort asked = gpu_sort_of(keys.type, keys.num_keys, value_bytes, d);
  const sorting::gpu_call call(asked.hooks);
  const sorting::gpu_sort sort = checked(workspace, asked, sorting::gpu_sort_bytes);
  if (keys.num_keys == 0) return;
  sorting::require_gpu_memory(keys.data, "keys");
  sorting::require_gpu_memory(values, "values");
  sorting::enqueue_gpu_sort(sort, {keys.data, values}, workspace.memory, stream);
}

void enqueue_argsort(const_key_span keys, void* indices, std::uint64_t index_bytes, gpu_workspace workspace,
                     void* stream, direction d) {
  sorting::require_index_bytes(index_bytes);
  sorting::check_keys(keys);
  sorting::check_indices(keys, indices, index_bytes);
  sorting::require_aligned(indices, index_bytes, "indices");
  const sorting::gpu_sort asked = gpu_sort_of(keys.type, keys.num_keys, index_bytes, d);
  const sorting::gpu_call call(asked.hooks);
  const sorting::gpu_sort sort = checked(workspace, asked, sorting::gpu_argsort_bytes);
  if (keys.num_keys == 0) return;
  sorting::require_gpu_memory(keys.data, "keys");
  sorting::require_gpu_memory(indices, "indices");
  sorting::enqueue_gpu_argsort(sort, keys.data, indices, workspace.memory, stream);
}

}  // namespace spansort
