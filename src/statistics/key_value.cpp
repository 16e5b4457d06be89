// SPDX-License-Identifier: Apache-2.0
#include "statistics/key_value.hpp"

#include <bit>
#include <type_traits>

#include "base/math.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"

namespace spansort::statistics {
namespace {

/// A 16-bit float in the bits of a double: exact, for a double has more of both exponent and mantissa.
double value_of_small_float(std::uint64_t bits, keys::float_format format) {
  const std::uint64_t mantissa = bits & base::low_mask(format.mantissa_bits);
  const std::uint64_t exponent = (bits >> format.mantissa_bits) & base::low_mask(format.exponent_bits);
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

}  // namespace

double key_value(key_type type, std::uint64_t bits) noexcept {
  return keys::with_type(type, [&]<class T>() -> double {
    if constexpr (std::is_same_v<T, float>) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    } else if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<double>(bits);
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<double>(static_cast<T>(bits));
    } else {
      return value_of_small_float(bits & 0xffffU, keys::format_of(type));
    }
  });
}

}  // namespace spansort::statistics
