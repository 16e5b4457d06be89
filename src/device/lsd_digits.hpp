// SPDX-License-Identifier: Apache-2.0
// The digits of sorts that go from the least significant one to the most significant.
#pragma once

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

}  // namespace spansort::device
