// SPDX-License-Identifier: Apache-2.0
// A memory formula says what a call will take, for those who have to plan under a ceiling before they know a count.
#pragma once

#include <cstdint>

namespace spansort::base {

/// Memory that grows with a count: fixed_bytes + count * element_bytes.
struct memory_formula {
  std::uint64_t fixed_bytes = 0;
  std::uint64_t element_bytes = 0;
};

}  // namespace spansort::base
