// SPDX-License-Identifier: Apache-2.0
// The one place where a run-time type becomes a template argument.
#pragma once

#include <cstdint>
#include <utility>

#include "base/assert.hpp"

namespace spansort::keys {

/// Calls `f.template operator()<K>()` with the unsigned integer of `width_bytes` 1, 2, 4 or 8.
template <class F>
decltype(auto) with_width(unsigned width_bytes, F&& f) {
  switch (width_bytes) {
    case 1: return std::forward<F>(f).template operator()<std::uint8_t>();
    case 2: return std::forward<F>(f).template operator()<std::uint16_t>();
    case 4: return std::forward<F>(f).template operator()<std::uint32_t>();
    default: break;
  }
  SPANSORT_ASSERT(width_bytes == 8);
  return std::forward<F>(f).template operator()<std::uint64_t>();
}

}  // namespace spansort::keys
