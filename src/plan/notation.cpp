// SPDX-License-Identifier: Apache-2.0
// Names and numbers of plans in text.
#include "plan/notation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/math.hpp"

namespace spansort::plan {

std::string bucket_name(keys::prefix prefix, unsigned radix_bits) {
  std::string name = "[";
  unsigned bits_left = prefix.bit_count;
  while (bits_left != 0) {
    const unsigned digit_bits = std::min(radix_bits, bits_left);
    bits_left -= digit_bits;
    const std::uint64_t digit = (prefix.bits >> bits_left) & base::low_mask(digit_bits);
    name += fmt::format("{}{:x}", name.size() == 1 ? "" : ":", digit);
  }
  return name + "]";
}

std::string bits_name(keys::bit_range bits) { return fmt::format("[{}..{})", bits.end, bits.begin); }

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out.push_back(',');
    out.push_back(digits[i]);
  }
  return out;
}

std::string abbreviated(std::uint64_t number) {
  constexpr std::array<char, 6> units = {'k', 'M', 'G', 'T', 'P', 'E'};
  if (number < 1000) return std::to_string(number);
  double value = static_cast<double>(number) / 1000;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return value < 99.95 ? fmt::format("{:.1f}{}", value, units[unit]) : fmt::format("{:.0f}{}", value, units[unit]);
}

std::string counted(std::uint64_t number, const std::string& noun) {
  return grouped(number) + " " + noun + (number == 1 ? "" : "s");
}

}  // namespace spansort::plan
