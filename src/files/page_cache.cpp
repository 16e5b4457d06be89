// SPDX-License-Identifier: Apache-2.0
#include "files/page_cache.hpp"

#include "base/available_memory.hpp"

namespace spansort::files {

bool fits_page_cache(std::uint64_t num_bytes) { return num_bytes <= base::available_memory_bytes() / 2; }

}  // namespace spansort::files
