// SPDX-License-Identifier: Apache-2.0
// Copies within host memory that are too large for one thread.
#pragma once

#include <cstdint>

namespace spansort::device {

/// Blocks; on the threads that oneTBB lends the caller. Any alignment; the two do not overlap. Large copies are written past
/// the caches: whoever reads `to` next, a GPU or another thread, finds it in memory.
void copy_parallel(void* to, const void* from, std::uint64_t size_bytes);

}  // namespace spansort::device
