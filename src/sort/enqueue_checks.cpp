// SPDX-License-Identifier: Apache-2.0
#include "sort/enqueue_checks.hpp"

#include <fmt/format.h>

#include "sort/gpu_enqueue.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {

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

void check_workspace(const gpu_workspace& workspace, std::uint64_t needed_bytes) {
  if (workspace.size_bytes < needed_bytes) {
    throw invalid_argument(fmt::format("a workspace of {} bytes: {} are needed", workspace.size_bytes, needed_bytes));
  }
  if (needed_bytes == 0) return;
  if (workspace.memory == nullptr) throw invalid_argument("null pointer for the workspace");
  require_aligned(workspace.memory, gpu_workspace_alignment, "the bytes of the workspace");
  require_gpu_memory(workspace.memory, "the bytes of the workspace");
}

}  // namespace spansort::sorting
