// SPDX-License-Identifier: Apache-2.0
#include "statistics/ordered_keys.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "keys/dispatch.hpp"
#include "statistics/key_value.hpp"

namespace spansort::statistics {

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

double ordered_keys::value_of(std::uint64_t encoded) const { return key_value(codec_.type, decode(encoded)); }

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
  // Encodings ascend with the numbers that they stand for, so the bound is found by halving.
  const key_bound end = first_nan();
  std::uint64_t low = 0;
  std::uint64_t last = end.is_end ? base::low_mask(codec_.key_bits()) : end.encoded - 1;
  const auto is_behind = [&](std::uint64_t encoded) {
    const double value = value_of(encoded);
    return or_equal ? value >= number : value > number;
  };
  if (!is_behind(last)) return end;
  while (low < last) {
    const std::uint64_t middle = low + (last - low) / 2;
    if (is_behind(middle)) {
      last = middle;
    } else {
      low = middle + 1;
    }
  }
  return {low, false};
}

std::vector<double> ordered_keys::at(const std::vector<std::uint64_t>& ranks) const {
  std::vector<double> values;
  values.reserve(ranks.size());
  for (const std::uint64_t bits : bits_at(ranks)) values.push_back(key_value(codec_.type, bits));
  return values;
}

}  // namespace spansort::statistics
