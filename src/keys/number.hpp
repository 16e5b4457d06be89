// SPDX-License-Identifier: Apache-2.0
// Keys of the C++ types that stand for them, as numbers. For host and device code.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "base/math.hpp"
#include "keys/codec.hpp"
#include "spansort/types.hpp"

namespace spansort::keys {

/// A 16-bit float in the bits of a double: exact, for a double has more of both exponent and mantissa.
[[nodiscard]] constexpr double small_float_value(std::uint16_t bits, float_format format) noexcept {
  const std::uint64_t mantissa = bits & base::low_mask(format.mantissa_bits);
  const std::uint64_t exponent = (std::uint64_t{bits} >> format.mantissa_bits) & base::low_mask(format.exponent_bits);
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  constexpr std::uint64_t double_mantissa_bits = 52;
  constexpr std::uint64_t double_bias = 1023;
  constexpr std::uint64_t double_top_exponent = 2047;
  const std::uint64_t bias = base::low_mask(format.exponent_bits - 1);
  // Where the least exponent stands for no leading one, that one is put in and taken away again.
  const bool is_subnormal = exponent == 0;
  const bool is_top = exponent == base::low_mask(format.exponent_bits);
  const std::uint64_t wide_exponent = is_top ? double_top_exponent : (is_subnormal ? 1 : exponent) - bias + double_bias;
  const std::uint64_t wide_mantissa = mantissa << (double_mantissa_bits - format.mantissa_bits);
  const auto wide = std::bit_cast<double>(wide_exponent << double_mantissa_bits | wide_mantissa);
  if (!is_subnormal) return sign * wide;
  return sign * (wide - std::bit_cast<double>(wide_exponent << double_mantissa_bits));
}

/// 64-bit integers are rounded to the nearest double; every NaN is a NaN.
template <radix_key T>
[[nodiscard]] constexpr double number_of(T key) noexcept {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(key);
  } else {
    return small_float_value(std::bit_cast<std::uint16_t>(key), format_of(key_traits<T>::type));
  }
}

}  // namespace spansort::keys
