// SPDX-License-Identifier: Apache-2.0
// key_to_string(): a key as text, without a locale. Floats get the fewest digits that tell them from their neighbours.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "keys/codec.hpp"
#include "spansort/check.hpp"

namespace spansort {
namespace {

template <class T>
T load(const const_key_span& keys, std::uint64_t index) {
  T key;
  std::memcpy(&key, static_cast<const unsigned char*>(keys.data) + index * sizeof(T), sizeof(T));
  return key;
}

/// The finite number whose magnitude has these bits. The bits of infinity give the power of two that would follow the
/// largest number, which is the neighbour that rounding sees.
double magnitude_value(std::uint16_t bits, keys::float_format format) {
  const int mantissa_bits = static_cast<int>(format.mantissa_bits);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = bits >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int significand = exponent == 0 ? mantissa : mantissa | (1 << mantissa_bits);
  return std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
}

/// The shortest decimal between the midpoints to both neighbours.
double shortest_decimal(std::uint16_t bits, keys::float_format format) {
  const double value = magnitude_value(bits, format);
  const double low = (value + magnitude_value(static_cast<std::uint16_t>(bits - 1), format)) / 2;
  const double high = (value + magnitude_value(static_cast<std::uint16_t>(bits + 1), format)) / 2;
  for (int digits = 1; digits < 6; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value, digits);
    double candidate = 0;
    std::from_chars(text.data(), text.data() + text.size(), candidate);
    if (low < candidate && candidate < high) return candidate;
  }
  return value;
}

std::string small_float_to_string(std::uint16_t bits, keys::float_format format) {
  const std::uint16_t magnitude = bits & 0x7fff;
  const auto infinity = static_cast<std::uint16_t>(base::low_mask(format.exponent_bits) << format.mantissa_bits);
  if (magnitude > infinity) return "nan";
  const char* const sign = bits != magnitude ? "-" : "";
  if (magnitude == infinity) return fmt::format("{}inf", sign);
  if (magnitude == 0) return fmt::format("{}0", sign);
  return fmt::format("{}{}", sign, shortest_decimal(magnitude, format));
}

template <class T>
std::string real_to_string(T value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

}  // namespace

std::string key_to_string(const const_key_span keys, std::uint64_t index) {
  switch (keys.type) {
    case key_type::u8: return fmt::format("{}", unsigned{load<std::uint8_t>(keys, index)});
    case key_type::i8: return fmt::format("{}", int{load<std::int8_t>(keys, index)});
    case key_type::u16: return fmt::format("{}", load<std::uint16_t>(keys, index));
    case key_type::i16: return fmt::format("{}", load<std::int16_t>(keys, index));
    case key_type::u32: return fmt::format("{}", load<std::uint32_t>(keys, index));
    case key_type::i32: return fmt::format("{}", load<std::int32_t>(keys, index));
    case key_type::u64: return fmt::format("{}", load<std::uint64_t>(keys, index));
    case key_type::i64: return fmt::format("{}", load<std::int64_t>(keys, index));
    case key_type::f32: return real_to_string(load<float>(keys, index));
    case key_type::f64: return real_to_string(load<double>(keys, index));
    default: return small_float_to_string(load<std::uint16_t>(keys, index), keys::format_of(keys.type));
  }
}

}  // namespace spansort
