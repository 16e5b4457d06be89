// SPDX-License-Identifier: Apache-2.0
// Copies within host memory that are too large for one thread.
#pragma once

#include <cstdint>

namespace spansort::device {

/// Whether what is copied is written past the caches.
enum class past_caches : std::uint8_t {
  when_large,  ///< for whoever reads it much later
  never        ///< for whoever reads it at once: a GPU's copy engine finds it in the cache
};

/// Blocks; on the threads that oneTBB lends the caller, alone where memory ends: it does not throw. Any alignment; the
/// two do not overlap.
void copy_parallel(void* to, const void* from, std::uint64_t size_bytes, past_caches write = past_caches::when_large);

}  // namespace spansort::device
