// SPDX-License-Identifier: Apache-2.0
// Small integer arithmetic and checked casts.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "base/assert.hpp"

namespace spansort::base {

template <std::unsigned_integral T>
[[nodiscard]] constexpr T ceil_div(T a, T b) noexcept {
  return a / b + (a % b != 0 ? 1 : 0);
}

template <std::unsigned_integral T>
[[nodiscard]] constexpr T round_up(T a, T multiple) noexcept {
  return ceil_div(a, multiple) * multiple;
}

/// Narrowing that asserts that the value is kept.
template <std::integral To, std::integral From>
[[nodiscard]] constexpr To checked_cast(From value) {
  SPANSORT_ASSERT(std::in_range<To>(value));
  return static_cast<To>(value);
}

/// Lowest `bits` bits set; bits in 0..64.
[[nodiscard]] constexpr std::uint64_t low_mask(unsigned bits) noexcept {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

}  // namespace spansort::base
