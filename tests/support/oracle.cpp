// SPDX-License-Identifier: Apache-2.0
#include "support/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace spansort::test {
namespace {

template <class T>
T load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// A 16-bit float by the definition of its fields.
double widen(std::uint16_t bits, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits;
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) return sign * (mantissa == 0 ? HUGE_VAL : std::nan(""));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

template <class T>
struct integer_key {
  T value;
  explicit integer_key(const void* at) : value(load<T>(at)) {}
  static bool in_value(const integer_key& a, const integer_key& b, bool descending) {
    return descending ? a.value > b.value : a.value < b.value;
  }
  static bool in_bits(const integer_key& a, const integer_key& b, bool descending) {
    return in_value(a, b, descending);
  }
};

template <key_type type>
struct float_key {
  double value = 0;
  std::uint64_t payload = 0;  ///< all bits but the sign
  bool is_nan = false;
  bool is_negative = false;

  explicit float_key(const void* at) {
    if constexpr (type == key_type::f64) {
      set(load<double>(at), load<std::uint64_t>(at), 63);
    } else if constexpr (type == key_type::f32) {
      set(load<float>(at), load<std::uint32_t>(at), 31);
    } else {
      const auto bits = load<std::uint16_t>(at);
      set(widen(bits, type == key_type::f16 ? 10 : 7), bits, 15);
    }
  }
  void set(double number, std::uint64_t bits, int sign_position) {
    value = number;
    is_nan = std::isnan(number);
    is_negative = (bits >> sign_position) != 0;
    payload = bits & ((std::uint64_t{1} << sign_position) - 1);
  }

  static bool in_value(const float_key& a, const float_key& b, bool descending) {
    if (a.is_nan || b.is_nan) return !a.is_nan;
    return descending ? a.value > b.value : a.value < b.value;
  }
  /// Ascending order of ties: -0.0, +0.0; NaNs with sign clear by rising payload, then those with sign set by falling.
  static bool tie_ascends(const float_key& a, const float_key& b) {
    if (!a.is_nan) return a.is_negative && !b.is_negative;
    if (a.is_negative != b.is_negative) return b.is_negative;
    return a.is_negative ? a.payload > b.payload : a.payload < b.payload;
  }
  static bool in_bits(const float_key& a, const float_key& b, bool descending) {
    if (a.is_nan != b.is_nan || (!a.is_nan && a.value != b.value)) return in_value(a, b, descending);
    return descending ? tie_ascends(b, a) : tie_ascends(a, b);
  }
};

template <class F>
decltype(auto) with_key_class(key_type type, F&& f) {
  switch (type) {
    case key_type::u8: return f.template operator()<integer_key<std::uint8_t>>();
    case key_type::i8: return f.template operator()<integer_key<std::int8_t>>();
    case key_type::u16: return f.template operator()<integer_key<std::uint16_t>>();
    case key_type::i16: return f.template operator()<integer_key<std::int16_t>>();
    case key_type::u32: return f.template operator()<integer_key<std::uint32_t>>();
    case key_type::i32: return f.template operator()<integer_key<std::int32_t>>();
    case key_type::u64: return f.template operator()<integer_key<std::uint64_t>>();
    case key_type::i64: return f.template operator()<integer_key<std::int64_t>>();
    case key_type::f16: return f.template operator()<float_key<key_type::f16>>();
    case key_type::bf16: return f.template operator()<float_key<key_type::bf16>>();
    case key_type::f32: return f.template operator()<float_key<key_type::f32>>();
    default: return f.template operator()<float_key<key_type::f64>>();
  }
}

template <class Key>
struct indexed {
  Key key;
  std::uint64_t index;
};

template <class Key>
std::vector<std::uint64_t> indices_of(const std::vector<indexed<Key>>& keys) {
  std::vector<std::uint64_t> indices(keys.size());
  std::transform(keys.begin(), keys.end(), indices.begin(), [](const indexed<Key>& k) { return k.index; });
  return indices;
}

std::vector<std::byte> take(std::span<const std::byte> keys, std::size_t key_bytes,
                            std::span<const std::uint64_t> order) {
  std::vector<std::byte> taken(keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::memcpy(taken.data() + i * key_bytes, keys.data() + order[i] * key_bytes, key_bytes);
  }
  return taken;
}

std::string hexadecimal(const std::byte* bytes, std::uint64_t size_bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::uint64_t i = size_bytes; i-- > 0;) {
    text += digits[std::to_integer<unsigned>(bytes[i]) >> 4];
    text += digits[std::to_integer<unsigned>(bytes[i]) & 15];
  }
  return text;
}

}  // namespace

bool precedes_in_value(key_type type, bool descending, const void* a, const void* b) {
  return with_key_class(type, [&]<class Key>() { return Key::in_value(Key(a), Key(b), descending); });
}

bool precedes_in_bits(key_type type, bool descending, const void* a, const void* b) {
  return with_key_class(type, [&]<class Key>() { return Key::in_bits(Key(a), Key(b), descending); });
}

double number_of(key_type type, const void* at) {
  return with_key_class(type, [&]<class Key>() { return static_cast<double>(Key(at).value); });
}

oracle::oracle(const_key_span input, bool descending) : type_(input.type), descending_(descending) {
  const std::size_t key_bytes = size_bytes(type_);
  const auto* bytes = static_cast<const std::byte*>(input.data);
  input_.assign(bytes, bytes + input.num_keys * key_bytes);
  with_key_class(type_, [&]<class Key>() {
    std::vector<indexed<Key>> keys;
    keys.reserve(input.num_keys);
    for (std::uint64_t i = 0; i < input.num_keys; ++i) keys.push_back({Key(input_.data() + i * key_bytes), i});
    std::stable_sort(keys.begin(), keys.end(), [&](const indexed<Key>& a, const indexed<Key>& b) {
      return Key::in_value(a.key, b.key, descending);
    });
    order_ = indices_of(keys);
    stable_keys_ = take(input_, key_bytes, order_);
    // Keys that tie in value are neighbours now; one more stable sort puts them in the order of their bits.
    std::stable_sort(keys.begin(), keys.end(), [&](const indexed<Key>& a, const indexed<Key>& b) {
      return Key::in_bits(a.key, b.key, descending);
    });
    sorted_keys_ = take(input_, key_bytes, indices_of(keys));
  });
}

void write_value(std::byte* value, std::uint64_t value_bytes, std::uint64_t index) {
  for (std::uint64_t i = 0; i < value_bytes; ++i) {
    const std::uint64_t word = index * (1 + 0x9e3779b97f4a7c15u * 2 * (i / 8)) + i / 8;  // word 0: the index itself
    value[i] = static_cast<std::byte>(word >> (8 * (i % 8)));
  }
}

std::vector<std::byte> values_in_order(std::span<const std::uint64_t> order, std::uint64_t value_bytes) {
  std::vector<std::byte> values(order.size() * value_bytes);
  for (std::size_t i = 0; i < order.size(); ++i) write_value(values.data() + i * value_bytes, value_bytes, order[i]);
  return values;
}

std::vector<std::byte> input_values(std::uint64_t num_keys, std::uint64_t value_bytes) {
  std::vector<std::uint64_t> indices(num_keys);
  std::iota(indices.begin(), indices.end(), std::uint64_t{0});
  return values_in_order(indices, value_bytes);
}

std::string diagnose_bytes(std::string_view what, std::span<const std::byte> expected,
                           std::span<const std::byte> actual, std::uint64_t element_bytes) {
  if (expected.size() != actual.size()) {
    return std::string(what) + ": expected " + std::to_string(expected.size()) + " bytes, found " +
           std::to_string(actual.size());
  }
  const auto [at, other] = std::mismatch(expected.begin(), expected.end(), actual.begin());
  if (at == expected.end()) return "";
  const auto element = static_cast<std::uint64_t>(at - expected.begin()) / element_bytes;
  return std::string(what) + " " + std::to_string(element) + " of " + std::to_string(expected.size() / element_bytes) +
         ": expected " + hexadecimal(expected.data() + element * element_bytes, element_bytes) + ", found " +
         hexadecimal(actual.data() + element * element_bytes, element_bytes);
}

}  // namespace spansort::test
