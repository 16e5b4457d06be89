// SPDX-License-Identifier: Apache-2.0
// A scale is what keys lie evenly on: their bits, or, for floats, their values. The place of a key among the others
// then follows from the least and the greatest of them. This header is included once for each of Highway's targets.
#if defined(SPANSORT_VECTOR_SCALE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_SCALE_INL
#undef SPANSORT_VECTOR_SCALE_INL
#else
#define SPANSORT_VECTOR_SCALE_INL
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "device/host/vector_finish-inl.hpp"
#include "keys/codec.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

template <class K>
struct key_scale {
  using T = lane_type<K>;
  using number = std::conditional_t<sizeof(K) == 4, float, double>;
  enum class kind : std::uint8_t { none, bits, values };
  kind is = kind::none;
  keys::codec_of<K> codec = {};

  [[nodiscard]] double value_of(T bits) const {
    return static_cast<double>(std::bit_cast<number>(codec.decode(to_lane_bits(static_cast<K>(bits)))));
  }
  [[nodiscard]] bool has_values(T least, T greatest) const {
    return codec.infinity != 0 && std::isfinite(value_of(least)) && std::isfinite(value_of(greatest)) &&
           std::isfinite(value_of(greatest) - value_of(least));
  }
  /// Returns the least key from there on: a `share` of the way from `least` to `greatest`, and above the former.
  [[nodiscard]] T between(T least, T greatest, double share) const {
    if (is == kind::values) {
      const double low = value_of(least);
      const auto value = static_cast<number>(low + (value_of(greatest) - low) * share);
      const auto bits = static_cast<T>(to_lane_bits(codec.encode_bits(std::bit_cast<K>(value))));
      return std::clamp(bits, static_cast<T>(least + 1), greatest);
    }
    const std::uint64_t width = static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
    const auto step = static_cast<std::uint64_t>(static_cast<double>(width) * share);
    return static_cast<T>(static_cast<std::uint64_t>(least) + std::clamp<std::uint64_t>(step, 1, width));
  }
};

/// Looks at 64 of at least as many keys: whether no quarter of the scale holds many more than its share.
template <class K>
bool lie_evenly(const key_scale<K>& scale, const lane_type<K>* keys, std::uint64_t num_keys, lane_type<K> least,
                lane_type<K> greatest) {
  const full_tag<K> d;
  constexpr unsigned num_samples = 64;
  constexpr unsigned most = 28;  // of 16 expected: three and a half standard deviations above
  constexpr std::uint64_t lanes = lanes_of<K>();
  constexpr std::uint64_t num_vectors = num_samples / lanes;
  const auto first = hn::Set(d, scale.between(least, greatest, 0.25));
  const auto second = hn::Set(d, scale.between(least, greatest, 0.5));
  const auto third = hn::Set(d, scale.between(least, greatest, 0.75));
  unsigned below[3] = {};
  for (std::uint64_t v = 0; v < num_vectors; ++v) {
    const auto x = hn::LoadU(d, keys + v * (num_keys - lanes) / (num_vectors - 1));
    below[0] += static_cast<unsigned>(hn::CountTrue(d, hn::Lt(x, first)));
    below[1] += static_cast<unsigned>(hn::CountTrue(d, hn::Lt(x, second)));
    below[2] += static_cast<unsigned>(hn::CountTrue(d, hn::Lt(x, third)));
  }
  return std::max({below[0], below[1] - below[0], below[2] - below[1], num_samples - below[2]}) <= most;
}

/// Returns the scale on which keys between `least` < `greatest` lie evenly, as far as a few of them tell.
template <class K, bool identity>
key_scale<K> fit_scale(const keys::codec_of<K>& codec, const lane_type<K>* keys, std::uint64_t num_keys,
                       lane_type<K> least, lane_type<K> greatest) {
  // Bits come first: floats of one magnitude lie evenly on both scales, and slots take bits alone.
  key_scale<K> scale{key_scale<K>::kind::bits, codec};
  if (lie_evenly(scale, keys, num_keys, least, greatest)) return scale;
  scale.is = key_scale<K>::kind::values;
  if (!identity && scale.has_values(least, greatest) && lie_evenly(scale, keys, num_keys, least, greatest)) {
    return scale;
  }
  scale.is = key_scale<K>::kind::none;
  return scale;
}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
