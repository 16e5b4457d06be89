// SPDX-License-Identifier: Apache-2.0
// Digits, bit ranges and prefixes of encoded keys.
#pragma once

#include <compare>
#include <cstdint>

#include "base/math.hpp"

namespace spansort::keys {

/// The bits one pass looks at: `bits` bits from `shift` up, of the encoded key.
struct digit_position {
  unsigned shift = 0;
  unsigned bits = 0;

  [[nodiscard]] constexpr std::uint64_t num_buckets() const noexcept { return std::uint64_t{1} << bits; }
  [[nodiscard]] constexpr std::uint64_t of(std::uint64_t encoded) const noexcept {
    return (encoded >> shift) & base::low_mask(bits);
  }
  friend bool operator==(digit_position, digit_position) = default;
};

/// Bits [begin, end) of the encoded key, counted from the least significant.
struct bit_range {
  unsigned begin = 0;
  unsigned end = 0;

  [[nodiscard]] constexpr unsigned size() const noexcept { return end - begin; }
  [[nodiscard]] constexpr bool empty() const noexcept { return begin == end; }
  friend bool operator==(bit_range, bit_range) = default;
};

/// The identity of a bucket: the upper `bit_count` bits that its keys share. A value, never a pointer.
struct prefix {
  std::uint64_t bits = 0;  ///< right-aligned
  unsigned bit_count = 0;

  [[nodiscard]] constexpr prefix child(std::uint64_t digit, unsigned digit_bits) const noexcept {
    return {(bits << digit_bits) | digit, bit_count + digit_bits};
  }
  friend bool operator==(prefix, prefix) = default;
};

}  // namespace spansort::keys
