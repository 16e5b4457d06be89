// SPDX-License-Identifier: Apache-2.0
// The digits of sorts that go from the least significant one to the most significant.
#pragma once

#include <algorithm>
#include <vector>

#include "base/math.hpp"
#include "keys/digit.hpp"

namespace spansort::device {

/// No sort by digits has more of them.
inline constexpr unsigned most_lsd_digits = 64;

/// Adds as few digits of at most `widest` bits as cover `bits`, of equal width up to one bit, lowest first.
inline void add_lsd_digits(keys::bit_range bits, unsigned widest, std::vector<keys::digit_position>& digits) {
  const unsigned count = base::ceil_div(bits.size(), widest);
  unsigned shift = bits.begin;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned width = base::ceil_div(bits.end - shift, count - i);
    digits.push_back({shift, width});
    shift += width;
  }
}

/// Adds as few digits of at most `widest` bits as cover `bits`, each of that width but the highest, lowest first.
inline void add_full_lsd_digits(keys::bit_range bits, unsigned widest, std::vector<keys::digit_position>& digits) {
  for (unsigned shift = bits.begin; shift < bits.end; shift += widest) {
    digits.push_back({shift, std::min(widest, bits.end - shift)});
  }
}

/// Returns the digits that add_lsd_digits() adds.
[[nodiscard]] inline std::vector<keys::digit_position> lsd_digits(keys::bit_range bits, unsigned widest) {
  std::vector<keys::digit_position> digits;
  add_lsd_digits(bits, widest, digits);
  return digits;
}

/// Returns the digits that add_full_lsd_digits() adds.
[[nodiscard]] inline std::vector<keys::digit_position> full_lsd_digits(keys::bit_range bits, unsigned widest) {
  std::vector<keys::digit_position> digits;
  add_full_lsd_digits(bits, widest, digits);
  return digits;
}

}  // namespace spansort::device
