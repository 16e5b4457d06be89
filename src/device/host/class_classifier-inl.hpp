// SPDX-License-Identifier: Apache-2.0
// The classes of keys, a vector at a time: encoding, then a shift where classes are of equal width, or a tree of
// quantiles. This header is included once for each of Highway's targets.
#if defined(SPANSORT_CLASS_CLASSIFIER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_CLASS_CLASSIFIER_INL
#undef SPANSORT_CLASS_CLASSIFIER_INL
#else
#define SPANSORT_CLASS_CLASSIFIER_INL
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/host/key_classes.hpp"
#include "keys/codec.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

template <class K>
using key_tag = hn::ScalableTag<K>;
template <class K>
using key_vector = hn::Vec<key_tag<K>>;

/// codec_of<K>::encode_bits() on vectors.
template <class K, bool identity>
struct key_encoder {
  key_vector<K> to_positive, to_negative, offset;

  explicit key_encoder(const keys::codec_of<K>& c)
      : to_positive(hn::Set(key_tag<K>(), c.to_positive)),
        to_negative(hn::Set(key_tag<K>(), c.to_negative)),
        offset(hn::Set(key_tag<K>(), c.offset)) {}

  HWY_INLINE key_vector<K> operator()(key_vector<K> x) const {
    if constexpr (identity) return x;
    const key_tag<K> d;
    const hn::RebindToSigned<key_tag<K>> di;
    const auto sign = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, x)));
    return hn::Sub(hn::Xor(hn::Xor(x, to_positive), hn::And(sign, to_negative)), offset);
  }
};

template <class K>
struct linear_classifier {
  key_vector<K> low, last;
  int shift;

  explicit linear_classifier(const key_classes<K>& c)
      : low(hn::Set(key_tag<K>(), c.low)), last(hn::Set(key_tag<K>(), c.num_classes - 1)), shift(int(c.shift)) {}

  HWY_INLINE key_vector<K> operator()(key_vector<K> x) const {
    const auto above = hn::Sub(hn::Max(x, low), low);
    return hn::Min(hn::ShiftRightSame(above, shift), last);
  }
};

#if HWY_TARGET == HWY_AVX3
/// Entries of a table of 32 in registers.
struct table_of_32_u32 {
  __m512i v[2];
  explicit table_of_32_u32(const std::uint32_t* t) : v{_mm512_loadu_si512(t), _mm512_loadu_si512(t + 16)} {}
  HWY_INLINE __m512i operator()(__m512i i) const { return _mm512_permutex2var_epi32(v[0], i, v[1]); }
};
struct table_of_32_u64 {
  __m512i v[4];
  explicit table_of_32_u64(const std::uint64_t* t)
      : v{_mm512_loadu_si512(t), _mm512_loadu_si512(t + 8), _mm512_loadu_si512(t + 16), _mm512_loadu_si512(t + 24)} {}
  HWY_INLINE __m512i operator()(__m512i i) const {
    const __mmask8 upper = _mm512_test_epi64_mask(i, _mm512_set1_epi64(16));
    return _mm512_mask_blend_epi64(upper, _mm512_permutex2var_epi64(v[0], i, v[1]),
                                   _mm512_permutex2var_epi64(v[2], i, v[3]));
  }
};

/// Quantiles by a tree of permutations, then equal parts.
template <class K>
struct quantile_classifier;

template <>
struct quantile_classifier<std::uint32_t> {
  __m512i levels[5];
  table_of_32_u32 begins, shifts;
  __m512i low, last_part;
  __m128i part_bits;

  explicit quantile_classifier(const key_classes<std::uint32_t>& c)
      : begins(c.begins),
        shifts(c.shifts),
        low(_mm512_set1_epi32(static_cast<int>(c.low))),
        last_part(_mm512_set1_epi32(static_cast<int>((1U << c.part_bits) - 1))),
        part_bits(_mm_cvtsi32_si128(static_cast<int>(c.part_bits))) {
    for (unsigned level = 0; level < 5; ++level) {
      std::uint32_t nodes[16] = {};
      for (unsigned i = 0; i < (1U << level); ++i) nodes[i] = c.begins[(2 * i + 1) << (4 - level)];
      levels[level] = _mm512_loadu_si512(nodes);
    }
  }
  HWY_INLINE key_vector<std::uint32_t> operator()(key_vector<std::uint32_t> key) const {
    const __m512i x = _mm512_max_epu32(key.raw, low);
    const __m512i one = _mm512_set1_epi32(1);
    __m512i i = _mm512_maskz_mov_epi32(
        _mm512_cmpge_epu32_mask(x, _mm512_broadcastd_epi32(_mm512_castsi512_si128(levels[0]))), one);
    for (unsigned level = 1; level < 5; ++level) {
      const __mmask16 above = _mm512_cmpge_epu32_mask(x, _mm512_permutexvar_epi32(i, levels[level]));
      i = _mm512_add_epi32(i, i);
      i = _mm512_mask_add_epi32(i, above, i, one);
    }
    const __m512i part = _mm512_srlv_epi32(_mm512_sub_epi32(x, begins(i)), shifts(i));
    return {_mm512_or_si512(_mm512_sll_epi32(i, part_bits), _mm512_min_epu32(part, last_part))};
  }
};

template <>
struct quantile_classifier<std::uint64_t> {
  __m512i levels[4];
  __m512i last_level[2];
  table_of_32_u64 begins, shifts;
  __m512i low, last_part;
  __m128i part_bits;

  explicit quantile_classifier(const key_classes<std::uint64_t>& c)
      : begins(c.begins),
        shifts(c.shifts),
        low(_mm512_set1_epi64(static_cast<long long>(c.low))),
        last_part(_mm512_set1_epi64((1LL << c.part_bits) - 1)),
        part_bits(_mm_cvtsi32_si128(static_cast<int>(c.part_bits))) {
    std::uint64_t nodes[16] = {};
    for (unsigned level = 0; level < 5; ++level) {
      for (unsigned i = 0; i < (1U << level); ++i) nodes[i] = c.begins[(2 * i + 1) << (4 - level)];
      if (level < 4) levels[level] = _mm512_loadu_si512(nodes);
    }
    last_level[0] = _mm512_loadu_si512(nodes);
    last_level[1] = _mm512_loadu_si512(nodes + 8);
  }
  HWY_INLINE key_vector<std::uint64_t> operator()(key_vector<std::uint64_t> key) const {
    const __m512i x = _mm512_max_epu64(key.raw, low);
    const __m512i one = _mm512_set1_epi64(1);
    __m512i i = _mm512_maskz_mov_epi64(
        _mm512_cmpge_epu64_mask(x, _mm512_broadcastq_epi64(_mm512_castsi512_si128(levels[0]))), one);
    for (unsigned level = 1; level < 5; ++level) {
      const __m512i node = level < 4 ? _mm512_permutexvar_epi64(i, levels[level])
                                     : _mm512_permutex2var_epi64(last_level[0], i, last_level[1]);
      const __mmask8 above = _mm512_cmpge_epu64_mask(x, node);
      i = _mm512_add_epi64(i, i);
      i = _mm512_mask_add_epi64(i, above, i, one);
    }
    const __m512i part = _mm512_srlv_epi64(_mm512_sub_epi64(x, begins(i)), shifts(i));
    return {_mm512_or_si512(_mm512_sll_epi64(i, part_bits), _mm512_min_epu64(part, last_part))};
  }
};
#else
/// Quantiles by a search of each key, then equal parts.
template <class K>
struct quantile_classifier {
  const key_classes<K>& classes;

  explicit quantile_classifier(const key_classes<K>& c) : classes(c) {}

  HWY_INLINE key_vector<K> operator()(key_vector<K> x) const {
    const key_tag<K> d;
    constexpr std::size_t lanes = hn::MaxLanes(key_tag<K>());
    HWY_ALIGN K keys[lanes];
    HWY_ALIGN K quantiles[lanes];
    HWY_ALIGN K begins[lanes];
    HWY_ALIGN K shifts[lanes];
    x = hn::Max(x, hn::Set(d, classes.low));
    hn::Store(x, d, keys);
    for (std::size_t lane = 0; lane < lanes; ++lane) quantiles[lane] = 0;
    for (unsigned step = key_classes<K>::num_quantiles / 2; step != 0; step /= 2) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const K further = quantiles[lane] + step;
        quantiles[lane] = keys[lane] >= classes.begins[further] ? further : quantiles[lane];
      }
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      begins[lane] = classes.begins[quantiles[lane]];
      shifts[lane] = classes.shifts[quantiles[lane]];
    }
    const auto above = hn::Sub(x, hn::Load(d, begins));
    const auto part = hn::Min(hn::Shr(above, hn::Load(d, shifts)), hn::Set(d, (K{1} << classes.part_bits) - 1));
    return hn::Or(hn::ShiftLeftSame(hn::Load(d, quantiles), static_cast<int>(classes.part_bits)), part);
  }
};
#endif

constexpr unsigned group_vectors = 4;

/// Calls f(encoder, classifier).
template <class K, class F>
HWY_INLINE void with_classifier(const keys::codec_of<K>& codec, const key_classes<K>& classes, const F& f) {
  const auto with_encoder = [&](const auto& encoder) HWY_ATTR {
    if (classes.is_linear) return f(encoder, linear_classifier<K>(classes));
    f(encoder, quantile_classifier<K>(classes));
  };
  if (codec.is_identity()) return with_encoder(key_encoder<K, true>(codec));
  with_encoder(key_encoder<K, false>(codec));
}

/// Calls f(keys, their classes, how many) for groups of some vectors: classes of several take as long as those of one,
/// for each waits for its tree.
template <class K, class Encoder, class Classifier, class F>
HWY_INLINE void classify(const Encoder& encode, const Classifier& classify_vector, const K* HWY_RESTRICT keys,
                         std::uint64_t num_keys, const F& f) {
  const key_tag<K> d;
  constexpr std::uint64_t lanes = hn::MaxLanes(key_tag<K>());
  constexpr unsigned group = group_vectors * static_cast<unsigned>(lanes);
  HWY_ALIGN K classes[group];
  std::uint64_t i = 0;
  for (; i + group <= num_keys; i += group) {
    for (unsigned j = 0; j < group; j += lanes) {
      hn::Store(classify_vector(encode(hn::LoadU(d, keys + i + j))), d, classes + j);
    }
    f(keys + i, classes, group);
  }
  const auto left = static_cast<unsigned>(num_keys % group);
  if (left == 0) return;
  HWY_ALIGN K padded[group] = {};
  std::memcpy(padded, keys + i, left * sizeof(K));
  for (unsigned j = 0; j < group; j += lanes) {
    hn::Store(classify_vector(encode(hn::Load(d, padded + j))), d, classes + j);
  }
  f(keys + i, classes, left);
}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
