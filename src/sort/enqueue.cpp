// SPDX-License-Identifier: Apache-2.0
// Checks what callers hand over with a stream, and puts the sort on it.
#include "spansort/enqueue.hpp"

#include <fmt/format.h>

#include "keys/known_type.hpp"
#include "sort/arguments.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/gpu_enqueue.hpp"
#include "spansort/errors.hpp"

namespace spansort {
namespace {

void require_value_bytes(std::uint64_t value_bytes) {
  if (value_bytes == 4 || value_bytes == 8 || value_bytes == 16) return;
  throw invalid_argument(fmt::format("values on GPUs have 4, 8 or 16 bytes each, not {}", value_bytes));
}

void require_index_bytes(std::uint64_t index_bytes) {
  if (index_bytes == 4 || index_bytes == 8) return;
  throw invalid_argument(fmt::format("indices have 4 or 8 bytes each, not {}", index_bytes));
}

void require_aligned(const void* memory, std::uint64_t alignment, const char* what) {
  if (reinterpret_cast<std::uintptr_t>(memory) % alignment == 0) return;
  throw invalid_argument(fmt::format("{} are not aligned to {} bytes", what, alignment));
}

sorting::gpu_sort gpu_sort_of(key_type type, std::uint64_t num_keys, std::uint64_t value_bytes, direction d) {
  keys::require_known(type);
  const keys::tie_rule ties = value_bytes == 0 ? keys::tie_rule::by_bits : keys::tie_rule::by_input_order;
  return {.shape = {{type, keys::is_descending(d), ties}, static_cast<unsigned>(value_bytes)},
          .num_records = num_keys,
          .hooks = base::current_test_hooks()};
}

/// Checks the workspace against what the sort takes.
void check_workspace(const gpu_workspace& workspace, std::uint64_t needed_bytes) {
  if (workspace.size_bytes < needed_bytes) {
    throw invalid_argument(fmt::format("a workspace of {} bytes: {} are needed", workspace.size_bytes, needed_bytes));
  }
  if (needed_bytes == 0) return;
  if (workspace.memory == nullptr) throw invalid_argument("null pointer for the workspace");
  require_aligned(workspace.memory, sorting::gpu_workspace_alignment, "the bytes of the workspace");
  sorting::require_gpu_memory(workspace.memory, "the bytes of the workspace");
}

}  // namespace

std::uint64_t enqueue_sort_bytes(key_type type, std::uint64_t num_keys) {
  return sorting::gpu_sort_bytes(gpu_sort_of(type, num_keys, 0, direction::ascending));
}

std::uint64_t enqueue_sort_pairs_bytes(key_type type, std::uint64_t num_keys, std::uint64_t value_bytes) {
  require_value_bytes(value_bytes);
  return sorting::gpu_sort_bytes(gpu_sort_of(type, num_keys, value_bytes, direction::ascending));
}

std::uint64_t enqueue_argsort_bytes(key_type type, std::uint64_t num_keys, std::uint64_t index_bytes) {
  require_index_bytes(index_bytes);
  return sorting::gpu_argsort_bytes(gpu_sort_of(type, num_keys, index_bytes, direction::ascending));
}

void enqueue_sort(key_span keys, gpu_workspace workspace, void* stream, direction d) {
  sorting::check_keys(keys);
  const sorting::gpu_sort sort = gpu_sort_of(keys.type, keys.num_keys, 0, d);
  const sorting::gpu_call call(sort.hooks);
  check_workspace(workspace, sorting::gpu_sort_bytes(sort));
  if (keys.num_keys == 0) return;
  sorting::require_gpu_memory(keys.data, "keys");
  sorting::enqueue_gpu_sort(sort, {keys.data, nullptr}, workspace.memory, stream);
}

void enqueue_sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, gpu_workspace workspace, void* stream,
                        direction d) {
  require_value_bytes(value_bytes);
  sorting::check_keys(keys);
  sorting::check_values(keys, values, value_bytes);
  require_aligned(values, value_bytes, "values");
  const sorting::gpu_sort sort = gpu_sort_of(keys.type, keys.num_keys, value_bytes, d);
  const sorting::gpu_call call(sort.hooks);
  check_workspace(workspace, sorting::gpu_sort_bytes(sort));
  if (keys.num_keys == 0) return;
  sorting::require_gpu_memory(keys.data, "keys");
  sorting::require_gpu_memory(values, "values");
  sorting::enqueue_gpu_sort(sort, {keys.data, values}, workspace.memory, stream);
}

void enqueue_argsort(const_key_span keys, void* indices, std::uint64_t index_bytes, gpu_workspace workspace,
                     void* stream, direction d) {
  require_index_bytes(index_bytes);
  sorting::check_keys(keys);
  sorting::check_indices(keys, indices, index_bytes);
  require_aligned(indices, index_bytes, "indices");
  const sorting::gpu_sort sort = gpu_sort_of(keys.type, keys.num_keys, index_bytes, d);
  const sorting::gpu_call call(sort.hooks);
  check_workspace(workspace, sorting::gpu_argsort_bytes(sort));
  if (keys.num_keys == 0) return;
  sorting::require_gpu_memory(keys.data, "keys");
  sorting::require_gpu_memory(indices, "indices");
  sorting::enqueue_gpu_argsort(sort, keys.data, indices, workspace.memory, stream);
}

}  // namespace spansort
