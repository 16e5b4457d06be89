// SPDX-License-Identifier: Apache-2.0
// A form says what a sorting network compares instead of the keys it is given: their lane bits, or floating-point
// numbers in the same order. AVX2 has no minimum of 64-bit integers, and Intel's AVX-512 takes it at a fraction of the
// rate of doubles', and that of 32-bit integers at half the rate of floats'. This header is included once for each of
// Highway's targets.
#if defined(SPANSORT_VECTOR_FORMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_FORMS_INL
#undef SPANSORT_VECTOR_FORMS_INL
#else
#define SPANSORT_VECTOR_FORMS_INL
#endif

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "device/host/vector_targets.hpp"
#include "keys/codec.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// The bits that vectors compare: 64-bit keys as signed ones, for AVX2 compares no others.
template <class K>
using lane_type = std::conditional_t<sizeof(K) == 8, std::int64_t, K>;

template <class K>
HWY_INLINE K to_lane_bits(K encoded) {
  return sizeof(K) == 8 ? static_cast<K>(encoded ^ (K{1} << (sizeof(K) * 8 - 1))) : encoded;
}

template <class K>
using full_tag = hn::ScalableTag<lane_type<K>>;
template <class K>
constexpr std::uint64_t lanes_of() {
  return hn::MaxLanes(full_tag<K>());
}
template <class K>
constexpr std::uint64_t network_size() {
  return 32 * lanes_of<K>();
}

/// codec_of<K>::encode_bits() and decode() on vectors, to and from the bits that vectors compare. Where these have
/// another sign than encoded bits, the exclusive or with the top bit is an addition, too, and becomes part of others.
template <class K, bool identity, class D>
struct lane_codec {
  using V = hn::Vec<D>;
  static constexpr K bias = sizeof(K) == 8 ? static_cast<K>(K{1} << (sizeof(K) * 8 - 1)) : K{0};
  D d;
  V to_positive, to_negative, offset, from_low, from_high, biases, restored;

  lane_codec(D d_, const keys::codec_of<K>& c)
      : d(d_),
        to_positive(set(c.to_positive ^ bias)),
        to_negative(set(c.to_negative)),
        offset(set(c.offset)),
        from_low(set(c.from_low)),
        from_high(set(c.from_high)),
        biases(set(bias)),
        restored(set(c.offset + bias)) {}

  HWY_INLINE V set(K bits) const { return hn::BitCast(d, hn::Set(hn::Rebind<K, D>(), bits)); }
  HWY_INLINE V sign(V x) const {
    const hn::RebindToSigned<D> di;
    return hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, x)));
  }
  HWY_INLINE V encode(V x) const {
    if constexpr (identity) return sizeof(K) == 8 ? hn::Xor(x, biases) : x;
    return hn::Sub(hn::Xor(hn::Xor(x, to_positive), hn::And(sign(x), to_negative)), offset);
  }
  HWY_INLINE V decode(V x) const {
    if constexpr (identity) return sizeof(K) == 8 ? hn::Xor(x, biases) : x;
    return decode_restored(hn::Add(x, restored));
  }
  /// The rest of decode(), of lane bits with offset and bias added.
  HWY_INLINE V decode_restored(V y) const { return hn::Xor(hn::Xor(y, from_low), hn::And(sign(y), from_high)); }
};

/// Keys as they are, which a network compares as lane bits.
template <class K, bool identity>
struct key_form : lane_codec<K, identity, full_tag<K>> {
  using D = full_tag<K>;
  using compared_tag = D;
  /// Whether lanes behind the last key must be set after they were encoded.
  static constexpr bool pads_encoded = true;
  explicit key_form(const keys::codec_of<K>& codec) : lane_codec<K, identity, D>(D(), codec) {}
  HWY_INLINE hn::Vec<D> padding() const { return hn::Set(D(), hwy::HighestValue<lane_type<K>>()); }
};

/// Keys of which encoding inverts the same bits, as it does of integers, for a network that compares lane bits.
template <class K>
struct flipped_form {
  using D = full_tag<K>;
  using compared_tag = D;
  using V = hn::Vec<D>;
  static constexpr bool pads_encoded = true;

  V inverted;

  explicit flipped_form(const keys::codec_of<K>& codec)
      : inverted(hn::Set(D(), static_cast<lane_type<K>>(to_lane_bits(codec.to_positive)))) {}
  static HWY_INLINE bool holds(const keys::codec_of<K>& codec) { return codec.only_flips(); }
  HWY_INLINE V padding() const { return hn::Set(D(), hwy::HighestValue<lane_type<K>>()); }
  HWY_INLINE V encode(V x) const { return hn::Xor(x, inverted); }
  HWY_INLINE V decode(V x) const { return hn::Xor(x, inverted); }
};

/// Lane bits, which a network compares, and decodes behind that.
template <class K, bool identity>
struct lane_form : lane_codec<K, identity, full_tag<K>> {
  using D = full_tag<K>;
  using compared_tag = D;
  static constexpr bool pads_encoded = false;
  explicit lane_form(const keys::codec_of<K>& codec) : lane_codec<K, identity, D>(D(), codec) {}
  HWY_INLINE hn::Vec<D> padding() const { return hn::Set(D(), hwy::HighestValue<lane_type<K>>()); }
  HWY_INLINE hn::Vec<D> encode(hn::Vec<D> x) const { return x; }
};

/// Whether a network may compare keys of this width as floating-point numbers of theirs.
template <class K>
inline constexpr bool has_numbers = sizeof(K) == 8 || (sizeof(K) == 4 && HWY_TARGET == HWY_AVX3);

template <class K>
using number_type = std::conditional_t<sizeof(K) == 8, double, float>;

/// Lane bits, which a network compares as numbers: their distance from the least one is added to the bits of the
/// smallest normal number. So there are no zeros of two signs, no subnormal numbers that a program has set its
/// processor to take for zeros, and no NaN.
template <class K, bool identity>
struct number_form {
  using T = lane_type<K>;
  using D = full_tag<K>;
  using compared_tag = hn::Rebind<number_type<K>, D>;
  using V = hn::Vec<D>;
  using N = hn::Vec<compared_tag>;
  static constexpr bool pads_encoded = false;
  static constexpr K smallest = std::bit_cast<K>(std::numeric_limits<number_type<K>>::min());
  static constexpr K infinity = std::bit_cast<K>(std::numeric_limits<number_type<K>>::infinity());

  lane_codec<K, identity, D> lanes;
  K base;
  V bases, restored;

  number_form(const keys::codec_of<K>& codec, T least)
      : lanes(D(), codec),
        base(static_cast<K>(least) - smallest),
        bases(lanes.set(base)),
        restored(lanes.set(base + lanes.bias + (identity ? 0 : codec.offset))) {}

  /// Returns whether the infinity is above all keys from `least` to `greatest`.
  static HWY_INLINE bool holds(T least, T greatest) {
    return static_cast<K>(greatest) - static_cast<K>(least) < infinity - smallest;
  }
  HWY_INLINE V padding() const { return lanes.set(base + infinity); }
  HWY_INLINE N encode(V x) const { return hn::BitCast(compared_tag(), hn::Sub(x, bases)); }
  HWY_INLINE V decode(N x) const {
    const V y = hn::Add(hn::BitCast(D(), x), restored);
    return identity ? y : lanes.decode_restored(y);
  }
};

/// Lane bits of 64-bit keys that lie too far apart for that: their distance from the middle is added to the smallest
/// normal number or to its negative.
template <bool identity>
struct signed_number_form {
  using K = std::uint64_t;
  using T = lane_type<K>;
  using D = full_tag<K>;
  using compared_tag = hn::RebindToFloat<D>;
  using V = hn::Vec<D>;
  using N = hn::Vec<compared_tag>;
  static constexpr bool pads_encoded = true;

  lane_codec<K, identity, D> lanes;
  V middle, magnitude, smallest;

  signed_number_form(const keys::codec_of<K>& codec, T least, T greatest)
      : lanes(D(), codec),
        middle(lanes.set(static_cast<K>(least) + (static_cast<K>(greatest) - static_cast<K>(least)) / 2)),
        magnitude(lanes.set(~K{0} >> 1)),
        smallest(lanes.set(number_form<K, identity>::smallest)) {}

  static HWY_INLINE bool holds(T least, T greatest) {
    constexpr K most = 2 * (number_form<K, identity>::infinity - number_form<K, identity>::smallest - 1);
    return static_cast<K>(greatest) - static_cast<K>(least) < most;
  }
  HWY_INLINE N padding() const { return hn::Set(compared_tag(), std::numeric_limits<double>::infinity()); }
  HWY_INLINE N encode(V x) const {
    const V y = hn::Sub(x, middle);
    return hn::BitCast(compared_tag(), hn::Add(hn::Xor(y, hn::And(lanes.sign(y), magnitude)), smallest));
  }
  HWY_INLINE V decode(N x) const {
    const V y = hn::Sub(hn::BitCast(D(), x), smallest);
    return lanes.decode(hn::Add(hn::Xor(y, hn::And(lanes.sign(y), magnitude)), middle));
  }
};

/// Floats as they are, of one sign of zero and without NaN.
template <class K>
struct float_form {
  using D = full_tag<K>;
  using compared_tag = hn::Rebind<number_type<K>, D>;
  using V = hn::Vec<D>;
  using N = hn::Vec<compared_tag>;
  static constexpr bool pads_encoded = true;

  V signs;  ///< changed where the order descends

  explicit float_form(const keys::codec_of<K>& codec)
      : signs(hn::Set(D(), static_cast<lane_type<K>>(~codec.to_positive & K{1} << (sizeof(K) * 8 - 1)))) {}
  HWY_INLINE N padding() const { return hn::Set(compared_tag(), std::numeric_limits<number_type<K>>::infinity()); }
  HWY_INLINE N encode(V x) const { return hn::BitCast(compared_tag(), hn::Xor(x, signs)); }
  HWY_INLINE V decode(N x) const { return hn::Xor(hn::BitCast(D(), x), signs); }
};

/// Returns whether some of these floats, at least a row of them, are NaN or -0.0.
template <class K>
HWY_INLINE bool has_special_floats(const K* keys, std::uint64_t num_keys) {
  const full_tag<K> d;
  constexpr std::uint64_t lanes = lanes_of<K>();
#if HWY_TARGET == HWY_AVX3
  constexpr int kinds = 0x01 | 0x80 | 0x04;
  const auto test = [&](const K* from) HWY_ATTR {
    if constexpr (sizeof(K) == 4) {
      return static_cast<unsigned>(_mm512_fpclass_ps_mask(_mm512_loadu_ps(from), kinds));
    } else {
      return static_cast<unsigned>(_mm512_fpclass_pd_mask(_mm512_loadu_pd(from), kinds));
    }
  };
  unsigned found = 0;
  std::uint64_t i = 0;
  for (; i + lanes <= num_keys; i += lanes) found |= test(keys + i);
  if (i != num_keys) found |= test(keys + num_keys - lanes);
  return found != 0;
#else
  auto found = hn::Zero(d);
  const auto test = [&](const K* from) HWY_ATTR {
    const auto x = hn::LoadU(d, reinterpret_cast<const std::int64_t*>(from));
    const auto magnitude = hn::And(x, hn::Set(d, hwy::HighestValue<std::int64_t>()));
    const auto infinity = hn::Set(d, static_cast<std::int64_t>(number_form<K, true>::infinity));
    const auto zero = hn::Set(d, hwy::LowestValue<std::int64_t>());
    found = hn::Or(found, hn::Or(hn::VecFromMask(d, hn::Gt(magnitude, infinity)), hn::VecFromMask(d, hn::Eq(x, zero))));
  };
  std::uint64_t i = 0;
  for (; i + lanes <= num_keys; i += lanes) test(keys + i);
  if (i != num_keys) test(keys + num_keys - lanes);
  return !hn::AllTrue(d, hn::Eq(found, hn::Zero(d)));
#endif
}

/// Returns whether comparisons tell subnormal numbers apart, and raise no exception for them.
HWY_INLINE bool compares_subnormals() {
  constexpr unsigned are_zeros = 0x40;
  constexpr unsigned exception_masked = 0x100;
  return (_mm_getcsr() & (are_zeros | exception_masked)) == exception_masked;
}

/// Returns whether networks sort numbers faster than integers of their width.
HWY_INLINE bool compares_numbers() {
#if HWY_TARGET == HWY_AVX2
  return true;
#else
  static const bool does = compares_numbers_fast();
  return does;
#endif
}

/// Returns whether two networks and their merge take less time than a split and they.
HWY_INLINE bool favours_networks() {
#if HWY_TARGET == HWY_AVX2
  return false;
#else
  static const bool does = merges_fast();
  return does;
#endif
}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
