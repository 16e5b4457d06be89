// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/class_kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/class_kernels.cpp"
#include <hwy/foreach_target.h>
//
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

template <class K>
void scatter_to_slots_of(const keys::codec_of<K>& codec, const key_classes<K>& how, const K* keys,
                         std::uint64_t num_keys, const tile_slots<K>& slots) {
  K* HWY_RESTRICT const to = slots.keys;
  std::uint32_t* HWY_RESTRICT const cursors = slots.cursors;
  with_classifier(codec, how, [&](const auto& encoder, const auto& classifier) HWY_ATTR {
    classify(encoder, classifier, keys, num_keys, [&](const K* from, const K* classes, unsigned count) HWY_ATTR {
      for (unsigned j = 0; j < count; ++j) to[cursors[classes[j]]++] = from[j];
    });
  });
}

/// Calls all(vector's first key, class) where a whole vector is of one class, else one(key, class) for each.
template <class K, class All, class One>
HWY_INLINE void for_each_stretch(const K* HWY_RESTRICT keys, const K* HWY_RESTRICT classes, unsigned count,
                                 const All& all, const One& one) {
  const key_tag<K> d;
  constexpr unsigned lanes = hn::MaxLanes(key_tag<K>());
  unsigned i = 0;
  for (; i + lanes <= count; i += lanes) {
    if (hn::AllTrue(d, hn::Eq(hn::Load(d, classes + i), hn::Set(d, classes[i])))) {
      all(keys + i, classes[i]);
    } else {
      for (unsigned j = i; j < i + lanes; ++j) one(keys[j], classes[j]);
    }
  }
  for (; i < count; ++i) one(keys[i], classes[i]);
}

template <class K>
void scatter_runs_to_slots_of(const keys::codec_of<K>& codec, const key_classes<K>& how, const K* keys,
                              std::uint64_t num_keys, const tile_slots<K>& slots) {
  K* HWY_RESTRICT const to = slots.keys;
  std::uint32_t* HWY_RESTRICT const cursors = slots.cursors;
  const key_tag<K> d;
  constexpr std::uint64_t lanes = hn::MaxLanes(key_tag<K>());
  with_classifier(codec, how, [&](const auto& encoder, const auto& classifier) HWY_ATTR {
    classify(encoder, classifier, keys, num_keys, [&](const K* from, const K* classes, unsigned count) HWY_ATTR {
      for_each_stretch(
          from, classes, count,
          [&](const K* first, K of) HWY_ATTR {
            hn::StoreU(hn::LoadU(d, first), d, to + cursors[of]);
            cursors[of] += static_cast<std::uint32_t>(lanes);
          },
          [&](K key, K of) { to[cursors[of]++] = key; });
    });
  });
}

template <class K>
void count_classes_of(const keys::codec_of<K>& codec, const key_classes<K>& how, const K* keys, std::uint64_t num_keys,
                      std::uint32_t* HWY_RESTRICT counts) {
  constexpr std::uint32_t lanes = hn::MaxLanes(key_tag<K>());
  with_classifier(codec, how, [&](const auto& encoder, const auto& classifier) HWY_ATTR {
    classify(encoder, classifier, keys, num_keys, [&](const K* from, const K* classes, unsigned count) HWY_ATTR {
      for_each_stretch(
          from, classes, count, [&](const K*, K of) { counts[of] += lanes; }, [&](K, K of) { ++counts[of]; });
    });
  });
}

/// Copies a line; `to` is aligned where it is streamed.
template <bool streams, class K>
HWY_INLINE void copy_line(const K* from, K* to) {
  const key_tag<K> d;
  constexpr std::uint64_t lanes = hn::MaxLanes(key_tag<K>());
  for (std::uint64_t i = 0; i < 64 / sizeof(K); i += lanes) {
    const auto x = hn::LoadU(d, from + i);
    if constexpr (streams) {
      hn::Stream(x, d, to + i);
    } else {
      hn::StoreU(x, d, to + i);
    }
  }
}

template <class K>
void begin_slots_of(const class_writer<K>& writer, const tile_slots<K>& slots) {
  for (unsigned c = 0; c < writer.num_classes; ++c) {
    copy_line<false>(writer.rests + c * class_writer<K>::line_keys, slots.keys + slots.begins[c]);
    slots.cursors[c] = slots.begins[c] + writer.rest_counts[c];
  }
}

template <bool streams, class K>
void flush_slots_as(class_writer<K> writer, const tile_slots<K>& slots) {
  constexpr std::uint32_t line_keys = class_writer<K>::line_keys;
  for (unsigned c = 0; c < writer.num_classes; ++c) {
    const K* from = slots.keys + slots.begins[c];
    const std::uint32_t count = slots.cursors[c] - slots.begins[c];
    const K* const lines_end = from + count / line_keys * line_keys;
    while (from != lines_end) {
      if (writer.nexts[c] == writer.ends[c]) writer.take_block(c);
      const auto num_keys = std::min<std::ptrdiff_t>(lines_end - from, writer.ends[c] - writer.nexts[c]);
      K* to = writer.nexts[c];
      for (std::ptrdiff_t i = 0; i < num_keys; i += line_keys) copy_line<streams>(from + i, to + i);
      writer.nexts[c] = to + num_keys;
      from += num_keys;
    }
    copy_line<false>(from, writer.rests + std::uint64_t{c} * line_keys);
    writer.rest_counts[c] = count % line_keys;
  }
}

template <class K>
void flush_slots_of(const class_writer<K>& writer, const tile_slots<K>& slots, bool stream) {
  if (stream) return flush_slots_as<true>(writer, slots);
  flush_slots_as<false>(writer, slots);
}

template <class K>
HWY_INLINE std::uint64_t filter_heavy_key(const K* HWY_RESTRICT cells, K key, std::uint64_t lane, K* HWY_RESTRICT light,
                                          std::uint32_t* HWY_RESTRICT counters) {
  using values = heavy_values<K>;
  const std::size_t cell = values::cell_of(key);
  const bool is_light = cells[cell] != key;
  // Two selections without a branch: nobody could foretell it.
  const std::size_t counted = (is_light ? values::num_cells : cell) * values::num_lanes + lane;
  ++counters[counted];
  *light = key;
  return is_light ? 1 : 0;
}

#if HWY_TARGET == HWY_AVX3
/// Filters whole vectors; returns how many keys that were. Cells of the group's keys go through memory to the counters.
HWY_INLINE std::uint64_t filter_heavy_vectors(const std::uint32_t* HWY_RESTRICT cells,
                                              const std::uint32_t* HWY_RESTRICT keys, std::uint64_t num_keys,
                                              std::uint32_t* HWY_RESTRICT light, std::uint64_t& num_light,
                                              std::uint32_t* HWY_RESTRICT counters) {
  using values = heavy_values<std::uint32_t>;
  const __m512i multiplier = _mm512_set1_epi32(static_cast<int>(values::multiplier));
  const __m512i lane =
      _mm512_and_si512(hn::Iota(key_tag<std::uint32_t>(), 0).raw, _mm512_set1_epi32(values::num_lanes - 1));
  const __m512i no_cell = _mm512_add_epi32(hn::Iota(key_tag<std::uint32_t>(), 0).raw,
                                           _mm512_set1_epi32(values::num_cells * values::num_lanes));
  alignas(64) std::uint32_t counted[16];
  std::uint64_t i = 0;
  for (; i + 16 <= num_keys; i += 16) {
    const __m512i x = _mm512_loadu_si512(keys + i);
    const __m512i cell = _mm512_srli_epi32(_mm512_mullo_epi32(x, multiplier), 32 - values::cell_bits);
    const __mmask16 is_light = _mm512_cmpneq_epi32_mask(x, _mm512_i32gather_epi32(cell, cells, 4));
    _mm512_storeu_si512(light + num_light, _mm512_maskz_compress_epi32(is_light, x));
    num_light += static_cast<std::uint64_t>(_mm_popcnt_u32(is_light));
    const __m512i of_heavy = _mm512_add_epi32(_mm512_add_epi32(cell, cell), lane);
    _mm512_store_si512(counted, _mm512_mask_mov_epi32(of_heavy, is_light, no_cell));
    for (unsigned j = 0; j < 16; ++j) ++counters[counted[j]];
  }
  return i;
}
HWY_INLINE std::uint64_t filter_heavy_vectors(const std::uint64_t* HWY_RESTRICT cells,
                                              const std::uint64_t* HWY_RESTRICT keys, std::uint64_t num_keys,
                                              std::uint64_t* HWY_RESTRICT light, std::uint64_t& num_light,
                                              std::uint32_t* HWY_RESTRICT counters) {
  using values = heavy_values<std::uint64_t>;
  const __m512i multiplier = _mm512_set1_epi64(static_cast<long long>(values::multiplier));
  const __m512i lane =
      _mm512_and_si512(hn::Iota(key_tag<std::uint64_t>(), 0).raw, _mm512_set1_epi64(values::num_lanes - 1));
  const __m512i no_cell = _mm512_add_epi64(hn::Iota(key_tag<std::uint64_t>(), 0).raw,
                                           _mm512_set1_epi64(values::num_cells * values::num_lanes));
  alignas(64) std::uint64_t counted[8];
  std::uint64_t i = 0;
  for (; i + 8 <= num_keys; i += 8) {
    const __m512i x = _mm512_loadu_si512(keys + i);
    const __m512i cell = _mm512_srli_epi64(_mm512_mullo_epi64(x, multiplier), 64 - values::cell_bits);
    const __mmask8 is_light = _mm512_cmpneq_epi64_mask(x, _mm512_i64gather_epi64(cell, cells, 8));
    _mm512_storeu_si512(light + num_light, _mm512_maskz_compress_epi64(is_light, x));
    num_light += static_cast<std::uint64_t>(_mm_popcnt_u32(is_light));
    const __m512i of_heavy = _mm512_add_epi64(_mm512_add_epi64(cell, cell), lane);
    _mm512_store_si512(counted, _mm512_mask_mov_epi64(of_heavy, is_light, no_cell));
    for (unsigned j = 0; j < 8; ++j) ++counters[counted[j]];
  }
  return i;
}
#else
template <class K>
HWY_INLINE std::uint64_t filter_heavy_vectors(const K*, const K*, std::uint64_t, K*, std::uint64_t&, std::uint32_t*) {
  return 0;
}
#endif

template <class K>
std::uint64_t filter_heavy_of(const heavy_values<K>& heavy, const K* HWY_RESTRICT keys, std::uint64_t num_keys,
                              K* HWY_RESTRICT light, std::uint32_t* HWY_RESTRICT counters) {
  static_assert(heavy_values<K>::num_lanes == 2);
  std::uint64_t num_light = 0;
  std::uint64_t i = filter_heavy_vectors(heavy.cells(), keys, num_keys, light, num_light, counters);
  for (; i < num_keys; ++i) num_light += filter_heavy_key(heavy.cells(), keys[i], i % 2, light + num_light, counters);
  return num_light;
}

#else  // other vectors are too narrow

template <class K>
std::uint64_t filter_heavy_of(const heavy_values<K>&, const K*, std::uint64_t, K*, std::uint32_t*) {
  return 0;
}
template <class K>
void scatter_to_slots_of(const keys::codec_of<K>&, const key_classes<K>&, const K*, std::uint64_t,
                         const tile_slots<K>&) {}
template <class K>
void scatter_runs_to_slots_of(const keys::codec_of<K>&, const key_classes<K>&, const K*, std::uint64_t,
                              const tile_slots<K>&) {}
template <class K>
void count_classes_of(const keys::codec_of<K>&, const key_classes<K>&, const K*, std::uint64_t, std::uint32_t*) {}
template <class K>
void begin_slots_of(const class_writer<K>&, const tile_slots<K>&) {}
template <class K>
void flush_slots_of(const class_writer<K>&, const tile_slots<K>&, bool) {}

#endif

// A choice at run time is one between plain functions.
#define SPANSORT_CLASS_KERNELS(K, SUFFIX)                                                                           \
  void scatter_to_slots_##SUFFIX(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys,      \
                                 std::uint64_t n, const tile_slots<K>& slots) {                                     \
    scatter_to_slots_of(codec, classes, keys, n, slots);                                                            \
  }                                                                                                                 \
  void scatter_runs_to_slots_##SUFFIX(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys, \
                                      std::uint64_t n, const tile_slots<K>& slots) {                                \
    scatter_runs_to_slots_of(codec, classes, keys, n, slots);                                                       \
  }                                                                                                                 \
  void count_classes_##SUFFIX(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys,         \
                              std::uint64_t n, std::uint32_t* counts) {                                             \
    count_classes_of(codec, classes, keys, n, counts);                                                              \
  }                                                                                                                 \
  std::uint64_t filter_heavy_##SUFFIX(const heavy_values<K>& heavy, const K* keys, std::uint64_t n, K* light,       \
                                      std::uint32_t* counters) {                                                    \
    return filter_heavy_of(heavy, keys, n, light, counters);                                                        \
  }                                                                                                                 \
  void begin_slots_##SUFFIX(const class_writer<K>& writer, const tile_slots<K>& slots) {                            \
    begin_slots_of(writer, slots);                                                                                  \
  }                                                                                                                 \
  void flush_slots_##SUFFIX(const class_writer<K>& writer, const tile_slots<K>& slots, bool stream) {               \
    flush_slots_of(writer, slots, stream);                                                                          \
  }
SPANSORT_CLASS_KERNELS(std::uint32_t, u32)
SPANSORT_CLASS_KERNELS(std::uint64_t, u64)
#undef SPANSORT_CLASS_KERNELS

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

#define SPANSORT_DISPATCH(K, SUFFIX)                                                                                   \
  template <>                                                                                                          \
  void scatter_to_slots<K>(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys,               \
                           std::uint64_t n, const tile_slots<K>& slots) {                                              \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(scatter_to_slots_##SUFFIX);                                      \
    best(codec, classes, keys, n, slots);                                                                              \
  }                                                                                                                    \
  template <>                                                                                                          \
  void scatter_runs_to_slots<K>(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys,          \
                                std::uint64_t n, const tile_slots<K>& slots) {                                         \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(scatter_runs_to_slots_##SUFFIX);                                 \
    best(codec, classes, keys, n, slots);                                                                              \
  }                                                                                                                    \
  template <>                                                                                                          \
  void count_classes<K>(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys, std::uint64_t n, \
                        std::uint32_t* counts) {                                                                       \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(count_classes_##SUFFIX);                                         \
    best(codec, classes, keys, n, counts);                                                                             \
  }                                                                                                                    \
  template <>                                                                                                          \
  std::uint64_t filter_heavy<K>(const heavy_values<K>& heavy, const K* keys, std::uint64_t n, K* light,                \
                                std::uint32_t* counters) {                                                             \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(filter_heavy_##SUFFIX);                                          \
    return best(heavy, keys, n, light, counters);                                                                      \
  }                                                                                                                    \
  template <>                                                                                                          \
  void begin_slots<K>(const class_writer<K>& writer, const tile_slots<K>& slots) {                                     \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(begin_slots_##SUFFIX);                                           \
    best(writer, slots);                                                                                               \
  }                                                                                                                    \
  template <>                                                                                                          \
  void flush_slots<K>(const class_writer<K>& writer, const tile_slots<K>& slots, bool stream) {                        \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(flush_slots_##SUFFIX);                                           \
    best(writer, slots, stream);                                                                                       \
  }
SPANSORT_DISPATCH(std::uint32_t, u32)
SPANSORT_DISPATCH(std::uint64_t, u64)
#undef SPANSORT_DISPATCH

}  // namespace spansort::device::host
#endif
