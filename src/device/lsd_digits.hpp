// SPDX-License-Identifier: Apache-2.0
// The digits of sorts that go from the least significant one to the most significant.
#pragma once

#include <algorithm>
#include <vector>

#include "base/math.hpp"
#include "keys/digit.hpp"

namespace spansort::device {

/// Returns as few digits of at most `widest` bits as cover `bits`, of equal width up to one bit, lowest first.
[[nodiscard]] inline std::vector<keys::digit_position> lsd_digits(keys::bit_range bits, unsigned widest) {
  const unsigned count = base::ceil_div(bits.size(), widest);
  std::vector<keys::digit_position> digits;
  unsigned shift = bits.begin;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned width = base::ceil_div(bits.end - shift, count - i);
    digits.push_back({shift, width});
    shift += width;
  }
  return digits;
}

/// Returns as few digits of at most `widest` bits as cover `bits`, each of that width but the highest, lowest first.
[[nodiscard]] inline std::vector<keys::digit_position> full_lsd_digits(keys::bit_range bits, unsigned widest) {
  std::vector<keys::digit_position> digits;
  for (unsigned shift = bits.begin; shift < bits.end; shift += widest) {
    digits.push_back({shift, std::min(widest, bits.end - shift)});
  }
  return digits;
}

}  // namespace spansort::device
