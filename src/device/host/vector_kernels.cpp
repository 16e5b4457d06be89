// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/vector_kernels.hpp"

#include <cstddef>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/vector_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>
#include <hwy/targets.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// codec_of<K>::encode() on vectors.
template <class K, bool folds>
struct vector_codec {
  using D = hn::ScalableTag<K>;
  using V = hn::Vec<D>;
  static constexpr D d{};
  V to_positive, to_negative, offset, magnitude_mask, infinity;

  explicit vector_codec(const keys::codec_of<K>& c)
      : to_positive(hn::Set(d, c.to_positive)),
        to_negative(hn::Set(d, c.to_negative)),
        offset(hn::Set(d, c.offset)),
        magnitude_mask(hn::Set(d, c.magnitude_mask)),
        infinity(hn::Set(d, c.infinity)) {}

  HWY_INLINE V load_encoded(const K* p) const {
    V x = hn::LoadU(d, p);
    if constexpr (folds) {
      const V magnitude = hn::And(x, magnitude_mask);
      x = hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(d)), x);
      x = hn::IfThenElse(hn::Gt(magnitude, infinity), magnitude_mask, x);
    }
    const hn::RebindToSigned<D> di;
    const V sign = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, x)));
    return hn::Sub(hn::Xor(hn::Xor(x, to_positive), hn::And(sign, to_negative)), offset);
  }
};

template <class K, bool folds>
order_flags scan_order_as(const keys::codec_of<K>& codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys) {
  const vector_codec<K, folds> vc(codec);
  using M = hn::Mask<typename vector_codec<K, folds>::D>;
  const auto d = vc.d;
  const std::uint64_t lanes = hn::Lanes(d);
  M descent = hn::FirstN(d, 0);
  M ascent = descent;
  M not_descent = descent;
  std::uint64_t i = 0;
  for (; i + lanes < num_keys; i += lanes) {
    const auto left = vc.load_encoded(keys + i);
    const auto right = vc.load_encoded(keys + i + 1);
    const M falls = hn::Lt(right, left);
    descent = hn::Or(descent, falls);
    not_descent = hn::Or(not_descent, hn::Not(falls));
    ascent = hn::Or(ascent, hn::Lt(left, right));
  }
  order_flags flags{hn::AllFalse(d, descent), hn::AllFalse(d, ascent), hn::AllFalse(d, not_descent)};
  for (; i + 1 < num_keys; ++i) {
    const K left = codec.encode(keys[i]);
    const K right = codec.encode(keys[i + 1]);
    flags &= order_flags{left <= right, right <= left, right < left};
  }
  return flags;
}

template <class K, bool folds>
std::uint64_t find_descent_as(const keys::codec_of<K>& codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys) {
  const vector_codec<K, folds> vc(codec);
  const auto d = vc.d;
  const std::uint64_t lanes = hn::Lanes(d);
  std::uint64_t i = 0;
  for (; i + lanes < num_keys; i += lanes) {
    const auto falls = hn::Lt(vc.load_encoded(keys + i + 1), vc.load_encoded(keys + i));
    const std::intptr_t first = hn::FindFirstTrue(d, falls);
    if (first >= 0) return i + static_cast<std::uint64_t>(first);
  }
  for (; i + 1 < num_keys; ++i) {
    if (codec.encode(keys[i]) > codec.encode(keys[i + 1])) return i;
  }
  return num_keys;
}

template <class K, bool folds>
K differing_bits_as(const keys::codec_of<K>& codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys) {
  if (num_keys == 0) return 0;
  const vector_codec<K, folds> vc(codec);
  const auto d = vc.d;
  const std::uint64_t lanes = hn::Lanes(d);
  const K first_encoded = codec.encode(keys[0]);
  const auto first = hn::Set(d, first_encoded);
  auto differing = hn::Zero(d);
  std::uint64_t i = 0;
  for (; i + lanes <= num_keys; i += lanes) {
    differing = hn::Or(differing, hn::Xor(vc.load_encoded(keys + i), first));
  }
  HWY_ALIGN K lane_bits[HWY_MAX_BYTES / sizeof(K)];
  hn::Store(differing, d, lane_bits);
  K result = 0;
  for (std::uint64_t lane = 0; lane < lanes; ++lane) result = static_cast<K>(result | lane_bits[lane]);
  for (; i < num_keys; ++i) result = static_cast<K>(result | (codec.encode(keys[i]) ^ first_encoded));
  return result;
}

// A choice at run time is one between plain functions.
#define SPANSORT_VECTOR_KERNELS(K, SUFFIX)                                                            \
  order_flags scan_order_##SUFFIX(const keys::codec_of<K>& c, const K* k, std::uint64_t n) {          \
    return c.folds_ties ? scan_order_as<K, true>(c, k, n) : scan_order_as<K, false>(c, k, n);         \
  }                                                                                                   \
  std::uint64_t find_descent_##SUFFIX(const keys::codec_of<K>& c, const K* k, std::uint64_t n) {      \
    return c.folds_ties ? find_descent_as<K, true>(c, k, n) : find_descent_as<K, false>(c, k, n);     \
  }                                                                                                   \
  K differing_bits_##SUFFIX(const keys::codec_of<K>& c, const K* k, std::uint64_t n) {                \
    return c.folds_ties ? differing_bits_as<K, true>(c, k, n) : differing_bits_as<K, false>(c, k, n); \
  }
SPANSORT_VECTOR_KERNELS(std::uint8_t, u8)
SPANSORT_VECTOR_KERNELS(std::uint16_t, u16)
SPANSORT_VECTOR_KERNELS(std::uint32_t, u32)
SPANSORT_VECTOR_KERNELS(std::uint64_t, u64)
#undef SPANSORT_VECTOR_KERNELS

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

#define SPANSORT_DISPATCH(K, SUFFIX)                                                          \
  template <>                                                                                 \
  order_flags scan_order<K>(const keys::codec_of<K>& c, const K* keys, std::uint64_t n) {     \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(scan_order_##SUFFIX);                   \
    return best(c, keys, n);                                                                  \
  }                                                                                           \
  template <>                                                                                 \
  std::uint64_t find_descent<K>(const keys::codec_of<K>& c, const K* keys, std::uint64_t n) { \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(find_descent_##SUFFIX);                 \
    return best(c, keys, n);                                                                  \
  }                                                                                           \
  template <>                                                                                 \
  K differing_bits<K>(const keys::codec_of<K>& c, const K* keys, std::uint64_t n) {           \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(differing_bits_##SUFFIX);               \
    return best(c, keys, n);                                                                  \
  }
SPANSORT_DISPATCH(std::uint8_t, u8)
SPANSORT_DISPATCH(std::uint16_t, u16)
SPANSORT_DISPATCH(std::uint32_t, u32)
SPANSORT_DISPATCH(std::uint64_t, u64)
#undef SPANSORT_DISPATCH

std::string vector_target() {
  const std::string target = SPANSORT_CHOOSE_FUNCTION(target_name)();
  return target == "AVX3" ? "AVX-512" : target;  // Highway's name for it
}

}  // namespace spansort::device::host
#endif
