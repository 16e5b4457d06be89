// SPDX-License-Identifier: Apache-2.0
// Checks of what callers hand over with a stream. All throw invalid_argument.
#pragma once

#include <cstdint>

#include "spansort/enqueue.hpp"

namespace spansort::sorting {

void require_value_bytes(std::uint64_t value_bytes);
void require_index_bytes(std::uint64_t index_bytes);
void require_aligned(const void* memory, std::uint64_t alignment, const char* what);
/// Checks the workspace against what the sort takes.
void check_workspace(const gpu_workspace& workspace, std::uint64_t needed_bytes);

}  // namespace spansort::sorting
