// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/vector_kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

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

/// Encoding leaves keys as they are, flips some bits of all, takes a few operations on bits, or folds ties first.
enum class coding { none, flipped, plain, folding };

/// codec_of<K>::encode() on vectors.
template <class K, coding how>
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
    if constexpr (how == coding::none) return x;
    if constexpr (how == coding::flipped) return hn::Xor(x, to_positive);
    if constexpr (how == coding::folding) {
      const V magnitude = hn::And(x, magnitude_mask);
      x = hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(d)), x);
      x = hn::IfThenElse(hn::Gt(magnitude, infinity), magnitude_mask, x);
    }
    const hn::RebindToSigned<D> di;
    const V sign = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, x)));
    return hn::Sub(hn::Xor(hn::Xor(x, to_positive), hn::And(sign, to_negative)), offset);
  }
};

/// Vectors of neighbours that are compared before anybody looks at the result.
constexpr std::uint64_t block_vectors = 16;

/// Compares vectors of neighbours as far as `so_far` leaves a question: of keys that are known to rise somewhere one
/// comparison says whether they ascend.
template <class K, coding how>
HWY_INLINE order_flags scan_block(const vector_codec<K, how>& vc, const K* HWY_RESTRICT keys, std::uint64_t num_vectors,
                                  order_flags so_far) {
  const auto d = vc.d;
  using M = hn::Mask<typename vector_codec<K, how>::D>;
  const std::uint64_t lanes = hn::Lanes(d);
  const K* const end = keys + num_vectors * lanes;
  // The processor's own prefetching ends with a page. 2^20 ascending keys take one thread of an Emerald Rapids 413 us
  // (f64) and 186 (f32) without, and with this 301 and 145.
  constexpr std::size_t ahead_bytes = 4096;
  M falls = hn::FirstN(d, 0);
  if (!so_far.descending) {
    for (; keys < end; keys += lanes) {
      __builtin_prefetch(reinterpret_cast<const std::byte*>(keys) + ahead_bytes);
      falls = hn::Or(falls, hn::Lt(vc.load_encoded(keys + 1), vc.load_encoded(keys)));
    }
    return {hn::AllFalse(d, falls), false, false};
  }
  M rises = falls;
  M not_falls = falls;
  for (; keys < end; keys += lanes) {
    const auto left = vc.load_encoded(keys);
    const auto right = vc.load_encoded(keys + 1);
    const M fall = hn::Lt(right, left);
    falls = hn::Or(falls, fall);
    not_falls = hn::Or(not_falls, hn::Not(fall));
    rises = hn::Or(rises, hn::Lt(left, right));
  }
  return {hn::AllFalse(d, falls), hn::AllFalse(d, rises), hn::AllFalse(d, not_falls)};
}

template <class K, coding how>
order_flags scan_order_as(const keys::codec_of<K>& codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys) {
  const vector_codec<K, how> vc(codec);
  const std::uint64_t lanes = hn::Lanes(vc.d);
  order_flags flags;
  std::uint64_t i = 0;
  while (i + lanes < num_keys && flags.any()) {
    const std::uint64_t num_vectors = std::min(block_vectors, (num_keys - i - 1) / lanes);
    flags &= scan_block(vc, keys + i, num_vectors, flags);
    i += num_vectors * lanes;
  }
  for (; i + 1 < num_keys && flags.any(); ++i) {
    const K left = codec.encode(keys[i]);
    const K right = codec.encode(keys[i + 1]);
    flags &= order_flags{left <= right, right <= left, right < left};
  }
  return flags;
}

template <class K, coding how>
std::uint64_t find_descent_as(const keys::codec_of<K>& codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys) {
  const vector_codec<K, how> vc(codec);
  const auto d = vc.d;
  const std::uint64_t lanes = hn::Lanes(d);
  const std::uint64_t block = block_vectors * lanes;
  constexpr order_flags rises_somewhere{true, false, false};
  std::uint64_t i = 0;
  while (i + block < num_keys && scan_block(vc, keys + i, block_vectors, rises_somewhere).ascending) i += block;
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

template <class K, coding how>
void mark_falls_as(const keys::codec_of<K>& codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys,
                   std::uint64_t* HWY_RESTRICT falls) {
  constexpr std::uint64_t word_bits = 64;
  const vector_codec<K, how> vc(codec);
  const auto d = vc.d;
  const std::uint64_t lanes = hn::Lanes(d);
  for (std::uint64_t i = 0; i < num_keys; i += word_bits) {
    const std::uint64_t until = std::min(word_bits, num_keys - i);
    std::uint64_t word = 0;
    std::uint64_t j = 0;
    for (; j + lanes <= until; j += lanes) {
      std::uint8_t bits[word_bits / 8] = {};
      hn::StoreMaskBits(d, hn::Lt(vc.load_encoded(keys + i + j + 1), vc.load_encoded(keys + i + j)), bits);
      std::uint64_t of_vector = 0;
      std::memcpy(&of_vector, bits, sizeof(of_vector));
      word |= of_vector << j;
    }
    for (; j < until; ++j) {
      const bool falls_here = codec.encode(keys[i + j + 1]) < codec.encode(keys[i + j]);
      word |= std::uint64_t{falls_here ? 1U : 0U} << j;
    }
    falls[i / word_bits] = word;
  }
}

template <class K, coding how>
K differing_bits_as(const keys::codec_of<K>& codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys) {
  if (num_keys == 0) return 0;
  const vector_codec<K, how> vc(codec);
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

template <class K>
coding coding_of(const keys::codec_of<K>& codec) {
  if (codec.is_identity()) return coding::none;
  if (codec.only_flips()) return coding::flipped;
  return codec.folds_ties ? coding::folding : coding::plain;
}

// A choice at run time is one between plain functions.
#define SPANSORT_CHOOSE_CODING(FUNCTION, K)                             \
  switch (coding_of(c)) {                                               \
    case coding::none: return FUNCTION<K, coding::none>(c, k, n);       \
    case coding::flipped: return FUNCTION<K, coding::flipped>(c, k, n); \
    case coding::plain: return FUNCTION<K, coding::plain>(c, k, n);     \
    case coding::folding: return FUNCTION<K, coding::folding>(c, k, n); \
  }                                                                     \
  return FUNCTION<K, coding::folding>(c, k, n)
#define SPANSORT_MARK_FALLS(K, HOW) \
  case coding::HOW:                 \
    return mark_falls_as<K, coding::HOW>(c, k, n, falls)
#define SPANSORT_VECTOR_KERNELS(K, SUFFIX)                                                                  \
  order_flags scan_order_##SUFFIX(const keys::codec_of<K>& c, const K* k, std::uint64_t n) {                \
    SPANSORT_CHOOSE_CODING(scan_order_as, K);                                                               \
  }                                                                                                         \
  std::uint64_t find_descent_##SUFFIX(const keys::codec_of<K>& c, const K* k, std::uint64_t n) {            \
    SPANSORT_CHOOSE_CODING(find_descent_as, K);                                                             \
  }                                                                                                         \
  void mark_falls_##SUFFIX(const keys::codec_of<K>& c, const K* k, std::uint64_t n, std::uint64_t* falls) { \
    switch (coding_of(c)) {                                                                                 \
      SPANSORT_MARK_FALLS(K, none);                                                                         \
      SPANSORT_MARK_FALLS(K, flipped);                                                                      \
      SPANSORT_MARK_FALLS(K, plain);                                                                        \
      SPANSORT_MARK_FALLS(K, folding);                                                                      \
    }                                                                                                       \
  }                                                                                                         \
  K differing_bits_##SUFFIX(const keys::codec_of<K>& c, const K* k, std::uint64_t n) {                      \
    SPANSORT_CHOOSE_CODING(differing_bits_as, K);                                                           \
  }
SPANSORT_VECTOR_KERNELS(std::uint8_t, u8)
SPANSORT_VECTOR_KERNELS(std::uint16_t, u16)
SPANSORT_VECTOR_KERNELS(std::uint32_t, u32)
SPANSORT_VECTOR_KERNELS(std::uint64_t, u64)
#undef SPANSORT_VECTOR_KERNELS
#undef SPANSORT_MARK_FALLS
#undef SPANSORT_CHOOSE_CODING

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

#define SPANSORT_DISPATCH(K, SUFFIX)                                                                     \
  template <>                                                                                            \
  order_flags scan_order<K>(const keys::codec_of<K>& c, const K* keys, std::uint64_t n) {                \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(scan_order_##SUFFIX);                              \
    return best(c, keys, n);                                                                             \
  }                                                                                                      \
  template <>                                                                                            \
  std::uint64_t find_descent<K>(const keys::codec_of<K>& c, const K* keys, std::uint64_t n) {            \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(find_descent_##SUFFIX);                            \
    return best(c, keys, n);                                                                             \
  }                                                                                                      \
  template <>                                                                                            \
  void mark_falls<K>(const keys::codec_of<K>& c, const K* keys, std::uint64_t n, std::uint64_t* falls) { \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(mark_falls_##SUFFIX);                              \
    best(c, keys, n, falls);                                                                             \
  }                                                                                                      \
  template <>                                                                                            \
  K differing_bits<K>(const keys::codec_of<K>& c, const K* keys, std::uint64_t n) {                      \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(differing_bits_##SUFFIX);                          \
    return best(c, keys, n);                                                                             \
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
