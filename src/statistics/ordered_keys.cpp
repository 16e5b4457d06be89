// SPDX-License-Identifier: Apache-2.0
#include "statistics/ordered_keys.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "keys/dispatch.hpp"
#include "keys/number.hpp"
#include "statistics/key_value.hpp"

namespace spansort::statistics {
namespace {

/// The unsigned integer of a key's width.
template <class T>
using bits_of =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// Returns a key that is about the number; nothing for types of which halving finds it as soon.
template <class T>
std::optional<T> about(double number) {
  if constexpr (sizeof(T) < 4) {
    return std::nullopt;
  } else {
    constexpr auto low = static_cast<double>(std::numeric_limits<T>::lowest());
    constexpr auto high = static_cast<double>(std::numeric_limits<T>::max());
    if (number <= low) return std::numeric_limits<T>::lowest();
    if (number >= high) return std::numeric_limits<T>::max();
    return static_cast<T>(number);
  }
}

/// Returns the first encoded key that is more than a number, or as much where `or_equal`; nothing where none is, up to
/// `last`. Encodings ascend with the numbers that they stand for, so it is found by halving, mostly of a few keys about
/// the number.
template <class T, class K>
std::optional<std::uint64_t> first_behind(const keys::codec_of<K>& codec, std::uint64_t last, double number,
                                          bool or_equal) {
  const auto is_behind = [&](std::uint64_t encoded) {
    const double value = keys::number_of(std::bit_cast<T>(codec.decode(static_cast<K>(encoded))));
    return or_equal ? value >= number : value > number;
  };
  if (!is_behind(last)) return std::nullopt;
  std::uint64_t low = 0;
  if (const std::optional<T> near = about<T>(number)) {
    constexpr std::uint64_t reach = 2;  // both zeros, and a number that was rounded
    const std::uint64_t guess = std::min<std::uint64_t>(codec.encode_bits(std::bit_cast<K>(*near)), last);
    if (guess > reach && !is_behind(guess - reach)) low = guess - reach + 1;
    if (last - guess > reach && is_behind(guess + reach)) last = guess + reach;
  }
  while (low < last) {
    const std::uint64_t middle = low + (last - low) / 2;
    if (is_behind(middle)) {
      last = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

std::uint64_t bits_of_key(const void* keys, std::uint64_t index, unsigned key_bytes) noexcept {
  std::uint64_t bits = 0;  // little-endian, as everything here
  std::memcpy(&bits, static_cast<const char*>(keys) + index * key_bytes, key_bytes);
  return bits;
}

std::uint64_t ordered_keys::encode(std::uint64_t key_bits) const {
  return keys::with_width(codec_.width_bytes(), [&]<class K>() -> std::uint64_t {
    return codec_.of<K>().encode_bits(static_cast<K>(key_bits));
  });
}

std::uint64_t ordered_keys::decode(std::uint64_t encoded) const {
  return keys::with_width(codec_.width_bytes(),
                          [&]<class K>() -> std::uint64_t { return codec_.of<K>().decode(static_cast<K>(encoded)); });
}

key_bound ordered_keys::first_nan() const {
  if (!keys::is_float(codec_.type)) return {0, true};
  const keys::float_format format = keys::format_of(codec_.type);
  const std::uint64_t infinity = base::low_mask(format.exponent_bits) << format.mantissa_bits;
  const std::uint64_t sign = std::uint64_t{1} << (codec_.key_bits() - 1);
  return {encode(codec_.descending ? infinity | sign : infinity) + 1, false};
}

tie_bounds ordered_keys::ties_of(std::uint64_t key_bits) const {
  const std::uint64_t encoded = encode(key_bits);
  const key_bound nans = first_nan();
  if (!nans.is_end && encoded >= nans.encoded) return {nans, {0, true}};
  const std::uint64_t sign = std::uint64_t{1} << (codec_.key_bits() - 1);
  if (keys::is_float(codec_.type) && (key_bits & ~sign) == 0) {
    const std::uint64_t one_zero = encode(0);
    const std::uint64_t other_zero = encode(sign);
    return {{std::min(one_zero, other_zero), false}, {std::max(one_zero, other_zero) + 1, false}};
  }
  if (encoded == base::low_mask(codec_.key_bits())) return {{encoded, false}, {0, true}};
  return {{encoded, false}, {encoded + 1, false}};
}

key_bound ordered_keys::find(double number, bool or_equal) const {
  SPANSORT_ASSERT(!codec_.descending);
  const key_bound end = first_nan();
  const std::uint64_t last = end.is_end ? base::low_mask(codec_.key_bits()) : end.encoded - 1;
  const std::optional<std::uint64_t> found = keys::with_type(
      codec_.type, [&]<class T>() { return first_behind<T>(codec_.of<bits_of<T>>(), last, number, or_equal); });
  return found ? key_bound{*found, false} : end;
}

std::vector<double> ordered_keys::at(const std::vector<std::uint64_t>& ranks) const {
  std::vector<double> values;
  values.reserve(ranks.size());
  for (const std::uint64_t bits : bits_at(ranks)) values.push_back(key_value(codec_.type, bits));
  return values;
}

}  // namespace spansort::statistics
