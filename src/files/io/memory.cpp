// SPDX-License-Identifier: Apache-2.0
#include "files/io/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/available_memory.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {

void require_memory(const std::string& file, std::uint64_t num_keys, const memory_need& need) {
  std::uint64_t needed = 0;
  if (__builtin_mul_overflow(num_keys, need.key_bytes + need.workspace_bytes, &needed))
    needed = std::numeric_limits<std::uint64_t>::max();
  const bool is_limited = need.limit_bytes != 0;
  if (is_limited && needed > need.limit_bytes) {
    throw out_of_memory(fmt::format("{}: {} keys need at least {} bytes of memory, the limit (-S) is {} bytes", file,
                                    num_keys, needed, need.limit_bytes),
                        needed, need.limit_bytes);
  }
  std::uint64_t available = base::available_memory_bytes();
  available += std::min(need.held_bytes, std::numeric_limits<std::uint64_t>::max() - available);
  if (needed > available) {
    throw out_of_memory(fmt::format("{}: {} keys need at least {} bytes of memory, {} are available; this needs all "
                                    "keys at once",
                                    file, num_keys, needed, available),
                        needed, available);
  }
}

}  // namespace spansort::files
