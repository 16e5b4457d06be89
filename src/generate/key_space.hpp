// SPDX-License-Identifier: Apache-2.0
// The keys of a type as numbers in ascending key order, and the way back to bits. Distributions that are about order
// (sorted, staggered, one spanning bucket) draw numbers and decode them; those that are about values convert a value.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

#include "generate/random.hpp"
#include "keys/codec.hpp"

namespace spansort::generation {

using uint128 = unsigned __int128;

/// Rounds to a float of the given format, ties to even, and returns its bits. Overflow gives infinity. Finite input.
[[nodiscard]] inline std::uint64_t round_to_format(double value, keys::float_format format) noexcept {
  const int mantissa_bits = static_cast<int>(format.mantissa_bits);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const std::uint64_t sign =
      std::signbit(value) ? std::uint64_t{1} << (format.exponent_bits + format.mantissa_bits) : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);  // 1 - bias: denormals
  // In units of the last place the significand is below 2^53, so rounding it is exact; a carry moves into the exponent.
  const double units = std::nearbyint(std::scalbn(magnitude, mantissa_bits - exponent));
  const auto significand = static_cast<std::uint64_t>(units);
  const auto biased = static_cast<std::uint64_t>(exponent + bias - 1);
  const std::uint64_t infinity = base::low_mask(format.exponent_bits) << mantissa_bits;
  return sign | std::min((biased << mantissa_bits) + significand, infinity);
}

/// What is drawn from. `K` is the unsigned integer of the key's width.
template <std::unsigned_integral K>
struct key_space {
  key_type type;
  keys::float_format format;
  keys::codec_of<K> codec;  ///< ascending, ties by bits: a bijection
  std::uint64_t first;      ///< lowest encoding drawn: the lowest integer, or the lowest finite float
  uint128 count;            ///< encodings from there: all integers, or all finite floats

  explicit key_space(key_type t)
      : type(t), format(keys::format_of(t)), codec(keys::key_codec{t, false, keys::tie_rule::by_bits}.of<K>()) {
    const uint128 all = uint128{1} << (sizeof(K) * 8);
    if (format.exponent_bits == 0) {
      first = 0;
      count = all;
    } else {
      const uint128 num_nans_and_infinities = uint128{1} << (format.mantissa_bits + 1);
      first = 1;  // 0 is -inf
      count = all - num_nans_and_infinities;
    }
  }

  [[nodiscard]] bool is_float() const noexcept { return format.exponent_bits != 0; }

  /// The key that is `position` places above the lowest one drawn; position < count.
  [[nodiscard]] K at(std::uint64_t position) const noexcept { return codec.decode(static_cast<K>(first + position)); }

  /// Every finite key alike.
  [[nodiscard]] K any(std::uint64_t word) const noexcept { return at(to_range(word, count)); }

  /// Bits of the float nearest to `value`.
  [[nodiscard]] K from_real(double value) const noexcept {
    if constexpr (sizeof(K) == 8) return std::bit_cast<K>(value);
    if constexpr (sizeof(K) == 4) return std::bit_cast<K>(static_cast<float>(value));
    return static_cast<K>(round_to_format(value, format));
  }

  /// Bits of a number that the type holds exactly, 0 or more.
  [[nodiscard]] K from_whole(std::uint64_t value) const noexcept {
    return is_float() ? from_real(static_cast<double>(value)) : static_cast<K>(value);
  }

  /// Whole numbers 0, 1, 2 ... that the type holds without a gap, at most 2^32.
  [[nodiscard]] std::uint64_t num_whole() const noexcept {
    const unsigned bits = is_float()                      ? format.mantissa_bits + 1
                          : keys::is_signed_integer(type) ? unsigned{sizeof(K) * 8 - 1}
                                                          : unsigned{sizeof(K) * 8};
    return std::uint64_t{1} << std::min(bits, 32u);
  }
};

}  // namespace spansort::generation
