// SPDX-License-Identifier: Apache-2.0
// This header says what a key is: the order-preserving map from a key's bits to unsigned bits in key order.
//
// One formula serves every type and both directions, so kernels are instantiated per width and not per type:
//   encode(x) = (x ^ to_positive ^ (sign(x) & to_negative)) - offset        (all modulo 2^width)
// where sign(x) is x's top bit copied into every bit. Integers need no offset. A float's usual flip would put NaNs with
// the sign bit set below -inf; subtracting their number wraps them around to the end. Both are bijections.
//
// Pairs and argsort must keep input order where -0.0 meets +0.0 and NaN meets NaN: `ties` folds them before encoding.
// Folding loses bits, so the key itself moves as it is and is encoded wherever a digit is looked at, unless it is known
// that folding changes no key.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "base/math.hpp"
#include "spansort/types.hpp"

namespace spansort::keys {

[[nodiscard]] constexpr bool is_descending(direction d) noexcept { return d == direction::descending; }
[[nodiscard]] constexpr direction direction_of(bool is_descending) noexcept {
  return is_descending ? direction::descending : direction::ascending;
}

/// Encoding of one key width. `K` is the unsigned integer of that width.
template <std::unsigned_integral K>
struct codec_of {
  K to_positive = 0;        ///< xor mask of keys whose sign bit is clear
  K to_negative = 0;        ///< xored on top where it is set
  K from_low = 0;           ///< decode: xor mask where the (offset-restored) top bit is clear
  K from_high = 0;          ///< decode: xored on top where it is set
  K offset = 0;             ///< number of NaNs that the flip puts first
  bool folds_ties = false;  ///< canonicalise -0.0 and NaN first: not bijective
  K magnitude_mask = 0;     ///< all bits but the sign
  K infinity = 0;           ///< bits of +inf

  [[nodiscard]] static constexpr K spread_sign(K x) noexcept {
    using S = std::make_signed_t<K>;
    return static_cast<K>(static_cast<S>(x) >> (sizeof(K) * 8 - 1));
  }

  /// -0.0 becomes +0.0 and every NaN one NaN; others unchanged.
  [[nodiscard]] constexpr K fold(K x) const noexcept {
    const K magnitude = static_cast<K>(x & magnitude_mask);
    const K folded_zero = magnitude == 0 ? K{0} : x;
    return magnitude > infinity ? static_cast<K>(magnitude_mask) : folded_zero;
  }

  /// Bijective encoding; ties not folded.
  [[nodiscard]] constexpr K encode_bits(K x) const noexcept {
    return static_cast<K>((x ^ to_positive ^ (spread_sign(x) & to_negative)) - offset);
  }

  /// The unsigned number whose order is the key order.
  [[nodiscard]] constexpr K encode(K x) const noexcept { return encode_bits(folds_ties ? fold(x) : x); }

  /// Inverse of encode_bits().
  [[nodiscard]] constexpr K decode(K encoded) const noexcept {
    const K y = static_cast<K>(encoded + offset);
    return static_cast<K>(y ^ from_low ^ (spread_sign(y) & from_high));
  }

  /// Returns whether encode flips the same bits of every key, as it does for integers.
  [[nodiscard]] constexpr bool only_flips() const noexcept { return to_negative == 0 && offset == 0 && !folds_ties; }

  /// Returns whether encode is the identity.
  [[nodiscard]] constexpr bool is_identity() const noexcept {
    return to_positive == 0 && only_flips();
  }
};

/// How ties that differ in bits are ordered.
enum class tie_rule : std::uint8_t {
  by_bits,        ///< keys alone
  by_input_order  ///< pairs and argsort: -0.0 equals +0.0, NaN equals NaN
};

/// A key encoding known at run time; passed by value to every device primitive.
struct key_codec {
  key_type type = key_type::u64;
  bool descending = false;
  tie_rule ties = tie_rule::by_bits;

  /// The codec of keys that are encoded already: they are their own encoding.
  [[nodiscard]] static key_codec of_encoded(unsigned width_bytes) noexcept;

  [[nodiscard]] unsigned width_bytes() const noexcept { return static_cast<unsigned>(size_bytes(type)); }
  [[nodiscard]] unsigned key_bits() const noexcept { return width_bytes() * 8; }
  /// Returns whether encode loses no bits, so that keys may be moved encoded.
  [[nodiscard]] bool is_bijective() const noexcept;

  /// The encoding for kernels of width sizeof(K) == width_bytes().
  template <std::unsigned_integral K>
  [[nodiscard]] codec_of<K> of() const noexcept;

  friend bool operator==(key_codec, key_codec) = default;
};

/// encode() of the key at `index` of an array, as 64 bits.
[[nodiscard]] std::uint64_t encode_at(const key_codec& codec, const void* keys, std::uint64_t index) noexcept;

/// Exponent and mantissa of the float types; {0, 0} for integers.
struct float_format {
  unsigned exponent_bits = 0;
  unsigned mantissa_bits = 0;
};
[[nodiscard]] constexpr float_format format_of(key_type type) noexcept {
  switch (type) {
    case key_type::f16: return {5, 10};
    case key_type::bf16: return {8, 7};
    case key_type::f32: return {8, 23};
    case key_type::f64: return {11, 52};
    default: return {};
  }
}
[[nodiscard]] constexpr bool is_float(key_type type) noexcept { return format_of(type).exponent_bits != 0; }
[[nodiscard]] constexpr bool is_signed_integer(key_type type) noexcept {
  return type == key_type::i8 || type == key_type::i16 || type == key_type::i32 || type == key_type::i64;
}

template <std::unsigned_integral K>
codec_of<K> key_codec::of() const noexcept {
  constexpr unsigned width = sizeof(K) * 8;
  const K top = static_cast<K>(K{1} << (width - 1));
  const K ones = static_cast<K>(~K{0});
  const K all = descending ? ones : K{0};
  codec_of<K> c;
  if (is_signed_integer(type)) {
    c.to_positive = c.from_low = static_cast<K>(top ^ all);
  } else if (const float_format f = format_of(type); f.exponent_bits != 0) {
    // Ascending: positive keys get the top bit, negative ones are inverted; descending: the inverse of that.
    c.to_positive = static_cast<K>(top ^ all);
    c.to_negative = static_cast<K>(ones ^ top);
    c.offset = static_cast<K>(base::low_mask(f.mantissa_bits));
    // After the flip the top bit tells the sign: set for positive keys ascending, clear for them descending.
    c.from_low = descending ? c.to_positive : ones;
    c.from_high = static_cast<K>(ones ^ top);
    c.folds_ties = ties == tie_rule::by_input_order;
    c.magnitude_mask = static_cast<K>(ones ^ top);
    c.infinity = static_cast<K>(base::low_mask(f.exponent_bits) << f.mantissa_bits);
  } else {
    c.to_positive = c.from_low = all;
  }
  return c;
}

}  // namespace spansort::keys
