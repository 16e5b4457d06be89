// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/key_words.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "device/host/vector_targets.hpp"

// F(K, its name, W, its name) for all that there are kernels for.
#undef SPANSORT_WIDTHS_OF_WORDS
#define SPANSORT_WIDTHS_OF_WORDS(F)         \
  F(std::uint32_t, u32, std::uint32_t, u32) \
  F(std::uint32_t, u32, std::uint64_t, u64) \
  F(std::uint64_t, u64, std::uint32_t, u32) \
  F(std::uint64_t, u64, std::uint64_t, u64)

// F(W, its name, V, its name) for all words and positions.
#undef SPANSORT_WIDTHS_OF_POSITIONS
#define SPANSORT_WIDTHS_OF_POSITIONS(F) \
  F(std::uint32_t, u32, value4, 4)      \
  F(std::uint32_t, u32, value8, 8)      \
  F(std::uint64_t, u64, value4, 4)      \
  F(std::uint64_t, u64, value8, 8)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/key_words.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace {

// The compiler's own vectors serve: these loops have no shuffles. The codec's fields stay in registers as locals.

/// codec_of<K>::fold() by masks: where zeros are some of the keys, branches on them are mispredicted, and GCC 12 made
/// branches of it: the order of 2^8 f64 of AND of 4 words took 1.8 us.
template <class K>
HWY_INLINE K fold(const keys::codec_of<K>& codec, K x) {
  const K magnitude = x & codec.magnitude_mask;
  const K is_not_zero = static_cast<K>(-static_cast<K>(magnitude != 0));
  const K is_nan = static_cast<K>(-static_cast<K>(magnitude > codec.infinity));
  return static_cast<K>((x & is_not_zero & ~is_nan) | (codec.magnitude_mask & is_nan));
}

template <class K, bool folds>
HWY_INLINE K encode(const keys::codec_of<K>& codec, K x) {
  return codec.encode_bits(folds ? fold(codec, x) : x);
}

template <class K, bool folds>
key_range<K> find_range_as(keys::codec_of<K> codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys) {
  K least = encode<K, folds>(codec, keys[0]);
  K greatest = least;
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    const K encoded = encode<K, folds>(codec, keys[i]);
    least = std::min(least, encoded);
    greatest = std::max(greatest, encoded);
  }
  return {least, greatest};
}

template <class K, class W, bool folds, bool rounds>
void make_words_as(keys::codec_of<K> codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys, word_layout<K> layout,
                   W* HWY_RESTRICT words) {
  layout.is_rounded = rounds;
  W position = 0;
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    const K above = layout.above_of(encode<K, folds>(codec, keys[i]));
    words[i] = static_cast<W>(static_cast<W>(above) << layout.position_bits | position);
    ++position;
  }
}

template <class W>
std::uint64_t count_ties_as(const W* HWY_RESTRICT words, std::uint64_t num_words, unsigned position_bits) {
  W ties = 0;
  for (std::uint64_t i = 0; i + 1 < num_words; ++i) {
    ties += static_cast<W>(static_cast<W>(words[i] ^ words[i + 1]) >> position_bits) == 0 ? 1 : 0;
  }
  return ties;
}

template <class K, bool folds>
std::uint64_t count_descents_as(keys::codec_of<K> codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys) {
  K descents = 0;
  for (std::uint64_t i = 0; i + 1 < num_keys; ++i) {
    descents += encode<K, folds>(codec, keys[i + 1]) < encode<K, folds>(codec, keys[i]) ? 1 : 0;
  }
  return descents;
}

template <class K, class W>
void decode_words_as(keys::codec_of<K> codec, const W* HWY_RESTRICT words, std::uint64_t num_words,
                     unsigned position_bits, K least, K* HWY_RESTRICT keys) {
  for (std::uint64_t i = 0; i < num_words; ++i) {
    keys[i] = codec.decode(static_cast<K>(least + static_cast<K>(words[i] >> position_bits)));
  }
}

template <class W, class V>
void take_positions_as(const W* HWY_RESTRICT words, std::uint64_t num_words, unsigned position_bits,
                       V* HWY_RESTRICT to) {
  const W mask = static_cast<W>((W{1} << position_bits) - 1);
  for (std::uint64_t i = 0; i < num_words; ++i) to[i].word = static_cast<decltype(V::word)>(words[i] & mask);
}

/// Returns where an item lies.
template <bool padded>
HWY_INLINE std::uint64_t place_of(std::uint64_t position) {
  return padded ? padded_place(position) : position;
}

#if HWY_TARGET == HWY_AVX3
/// Gathers whole vectors; returns how many items that were. GCC 12 takes the loop below item by item.
template <unsigned item_bytes, bool padded>
HWY_INLINE std::uint64_t gather_vectors(const std::uint32_t* words, std::uint64_t num_words, std::uint64_t mask,
                                        const char* from, char* to) {
  const __m512i positions = _mm512_set1_epi32(static_cast<int>(mask));
  std::uint64_t i = 0;
  for (; i + 16 <= num_words; i += 16) {
    __m512i index = _mm512_and_si512(_mm512_loadu_si512(words + i), positions);
    if constexpr (padded) {
      const __m512i pads = _mm512_slli_epi32(_mm512_srli_epi32(index, padded_run_bits), padding_bits);
      index = _mm512_add_epi32(index, pads);
    }
    if constexpr (item_bytes == 4) {
      _mm512_storeu_si512(to + 4 * i, _mm512_i32gather_epi32(index, from, 4));
    } else {
      _mm512_storeu_si512(to + 8 * i, _mm512_i32gather_epi64(_mm512_castsi512_si256(index), from, 8));
      _mm512_storeu_si512(to + 8 * i + 64, _mm512_i32gather_epi64(_mm512_extracti64x4_epi64(index, 1), from, 8));
    }
  }
  return i;
}
template <unsigned item_bytes, bool padded>
HWY_INLINE std::uint64_t gather_vectors(const std::uint64_t* words, std::uint64_t num_words, std::uint64_t mask,
                                        const char* from, char* to) {
  const __m512i positions = _mm512_set1_epi64(static_cast<long long>(mask));
  std::uint64_t i = 0;
  for (; i + 8 <= num_words; i += 8) {
    __m512i index = _mm512_and_si512(_mm512_loadu_si512(words + i), positions);
    if constexpr (padded) {
      const __m512i pads = _mm512_slli_epi64(_mm512_srli_epi64(index, padded_run_bits), padding_bits);
      index = _mm512_add_epi64(index, pads);
    }
    if constexpr (item_bytes == 4) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 4 * i), _mm512_i64gather_epi32(index, from, 4));
    } else {
      _mm512_storeu_si512(to + 8 * i, _mm512_i64gather_epi64(index, from, 8));
    }
  }
  return i;
}
#endif

/// Copies two items at a time: words of 32 bits are read, and items of 32 bits are written, as one of 64.
template <unsigned item_bytes, bool padded, class W>
HWY_INLINE std::uint64_t gather_twos(const W* HWY_RESTRICT words, std::uint64_t num_words, std::uint64_t mask,
                                     const char* HWY_RESTRICT from, char* HWY_RESTRICT to) {
  std::uint64_t i = 0;
  for (; i + 2 <= num_words; i += 2) {
    std::uint64_t word = words[i];
    std::uint64_t next = words[i + 1];
    if constexpr (sizeof(W) == 4) {
      std::memcpy(&word, words + i, sizeof word);
      next = word >> 32;
    }
    const char* const item = from + item_bytes * place_of<padded>(word & mask);
    const char* const next_item = from + item_bytes * place_of<padded>(next & mask);
    if constexpr (item_bytes == 4) {
      std::uint32_t low = 0;
      std::uint32_t high = 0;
      std::memcpy(&low, item, sizeof low);
      std::memcpy(&high, next_item, sizeof high);
      const std::uint64_t both = std::uint64_t{high} << 32 | low;
      std::memcpy(to + item_bytes * i, &both, sizeof both);
    } else {
      std::memcpy(to + item_bytes * i, item, item_bytes);
      std::memcpy(to + item_bytes * (i + 1), next_item, item_bytes);
    }
  }
  return i;
}

template <unsigned item_bytes, bool padded, class W>
HWY_INLINE void gather_items_of(const W* HWY_RESTRICT words, std::uint64_t num_words, unsigned position_bits,
                                const char* HWY_RESTRICT from, char* HWY_RESTRICT to) {
  const std::uint64_t mask = (std::uint64_t{1} << position_bits) - 1;
  std::uint64_t i = 0;
#if HWY_TARGET == HWY_AVX3
  if constexpr (item_bytes <= 8) i = gather_vectors<item_bytes, padded>(words, num_words, mask, from, to);
#endif
  if (i == 0) i = gather_twos<item_bytes, padded>(words, num_words, mask, from, to);
  for (; i < num_words; ++i) {
    std::memcpy(to + item_bytes * i, from + item_bytes * place_of<padded>(words[i] & mask), item_bytes);
  }
}

void pack_pairs_as(const std::uint32_t* HWY_RESTRICT keys, const value4* HWY_RESTRICT values, std::uint64_t num_pairs,
                   packed_pair* HWY_RESTRICT to) {
  for (std::uint64_t i = 0; i < num_pairs; ++i) to[i] = std::uint64_t{values[i].word} << 32 | keys[i];
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
/// Loads two pairs.
HWY_INLINE __m128i load_two(const packed_pair* low, const packed_pair* high) {
  const __m128d first = _mm_castsi128_pd(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(low)));
  return _mm_castpd_si128(_mm_loadh_pd(first, reinterpret_cast<const double*>(high)));
}
#endif

/// Gathers of vectors take 0.34 ns a pair from the nearest cache, and these loads 0.22.
template <bool padded, class W>
void gather_pairs_of(const W* HWY_RESTRICT words, std::uint64_t num_words, unsigned position_bits,
                     const packed_pair* HWY_RESTRICT from, std::uint32_t* HWY_RESTRICT keys,
                     value4* HWY_RESTRICT values) {
  const W mask = static_cast<W>((W{1} << position_bits) - 1);
  const auto pair_at = [&](std::uint64_t i) HWY_ATTR { return from + place_of<padded>(words[i] & mask); };
  std::uint64_t i = 0;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  for (; i + 4 <= num_words; i += 4) {
    const __m128 low = _mm_castsi128_ps(load_two(pair_at(i), pair_at(i + 1)));
    const __m128 high = _mm_castsi128_ps(load_two(pair_at(i + 2), pair_at(i + 3)));
    _mm_storeu_ps(reinterpret_cast<float*>(keys + i), _mm_shuffle_ps(low, high, 0x88));
    _mm_storeu_ps(reinterpret_cast<float*>(values + i), _mm_shuffle_ps(low, high, 0xDD));
  }
#endif
  for (; i < num_words; ++i) {
    const packed_pair pair = *pair_at(i);
    keys[i] = static_cast<std::uint32_t>(pair);
    values[i].word = static_cast<std::uint32_t>(pair >> 32);
  }
}

template <class W>
void gather_pairs_as(const W* words, std::uint64_t num_words, unsigned position_bits, packed_array from,
                     std::uint32_t* keys, value4* values) {
  const auto gather = from.is_padded ? gather_pairs_of<true, W> : gather_pairs_of<false, W>;
  gather(words, num_words, position_bits, from.pairs, keys, values);
}

template <bool padded, class W>
void gather_items_as(const W* words, std::uint64_t num_words, unsigned position_bits, const char* from,
                     unsigned item_bytes, char* to) {
  switch (item_bytes) {
    case 4: return gather_items_of<4, padded>(words, num_words, position_bits, from, to);
    case 8: return gather_items_of<8, padded>(words, num_words, position_bits, from, to);
    default: return gather_items_of<16, padded>(words, num_words, position_bits, from, to);
  }
}

template <class W>
void gather_items_as(const W* words, std::uint64_t num_words, unsigned position_bits, item_array from,
                     unsigned item_bytes, void* to) {
  const auto gather = from.is_padded ? gather_items_as<true, W> : gather_items_as<false, W>;
  gather(words, num_words, position_bits, static_cast<const char*>(from.items), item_bytes, static_cast<char*>(to));
}

}  // namespace

// A choice at run time is one between plain functions.
#define SPANSORT_WORDS_OF(K, KEY, W, WORD)                                                   \
  void make_words_##KEY##_##WORD(const keys::codec_of<K>& c, const K* keys, std::uint64_t n, \
                                 const word_layout<K>& layout, W* words) {                   \
    if constexpr (sizeof(W) == 4) {                                                          \
      if (layout.is_rounded) {                                                               \
        return c.folds_ties ? make_words_as<K, W, true, true>(c, keys, n, layout, words)     \
                            : make_words_as<K, W, false, true>(c, keys, n, layout, words);   \
      }                                                                                      \
    }                                                                                        \
    c.folds_ties ? make_words_as<K, W, true, false>(c, keys, n, layout, words)               \
                 : make_words_as<K, W, false, false>(c, keys, n, layout, words);             \
  }
#define SPANSORT_DECODED_OF(K, KEY, W, WORD)                                                    \
  void decode_words_##KEY##_##WORD(const keys::codec_of<K>& c, const W* words, std::uint64_t n, \
                                   unsigned position_bits, K least, K* keys) {                  \
    decode_words_as(c, words, n, position_bits, least, keys);                                   \
  }
#define SPANSORT_RANGE_OF(K, KEY)                                                                           \
  key_range<K> find_range_##KEY(const keys::codec_of<K>& c, const K* keys, std::uint64_t n) {               \
    return c.folds_ties ? find_range_as<K, true>(c, keys, n) : find_range_as<K, false>(c, keys, n);         \
  }                                                                                                         \
  std::uint64_t count_descents_##KEY(const keys::codec_of<K>& c, const K* keys, std::uint64_t n) {          \
    return c.folds_ties ? count_descents_as<K, true>(c, keys, n) : count_descents_as<K, false>(c, keys, n); \
  }
SPANSORT_RANGE_OF(std::uint32_t, u32)
SPANSORT_RANGE_OF(std::uint64_t, u64)
SPANSORT_WIDTHS_OF_WORDS(SPANSORT_WORDS_OF)
SPANSORT_WIDTHS_OF_WORDS(SPANSORT_DECODED_OF)
#undef SPANSORT_WORDS_OF
#undef SPANSORT_DECODED_OF
#undef SPANSORT_RANGE_OF
#define SPANSORT_POSITIONS_OF(W, WORD, V, VALUE)                                                         \
  void take_positions_##WORD##_##VALUE(const W* words, std::uint64_t n, unsigned position_bits, V* to) { \
    take_positions_as(words, n, position_bits, to);                                                      \
  }
SPANSORT_WIDTHS_OF_POSITIONS(SPANSORT_POSITIONS_OF)
#undef SPANSORT_POSITIONS_OF
std::uint64_t count_ties_u32(const std::uint32_t* words, std::uint64_t n, unsigned position_bits) {
  return count_ties_as(words, n, position_bits);
}
std::uint64_t count_ties_u64(const std::uint64_t* words, std::uint64_t n, unsigned position_bits) {
  return count_ties_as(words, n, position_bits);
}
void gather_items_u32(const std::uint32_t* words, std::uint64_t n, unsigned position_bits, item_array from,
                      unsigned item_bytes, void* to) {
  gather_items_as(words, n, position_bits, from, item_bytes, to);
}
void gather_items_u64(const std::uint64_t* words, std::uint64_t n, unsigned position_bits, item_array from,
                      unsigned item_bytes, void* to) {
  gather_items_as(words, n, position_bits, from, item_bytes, to);
}
void gather_pairs_u32(const std::uint32_t* words, std::uint64_t n, unsigned position_bits, packed_array from,
                      std::uint32_t* keys, value4* values) {
  gather_pairs_as(words, n, position_bits, from, keys, values);
}
void gather_pairs_u64(const std::uint64_t* words, std::uint64_t n, unsigned position_bits, packed_array from,
                      std::uint32_t* keys, value4* values) {
  gather_pairs_as(words, n, position_bits, from, keys, values);
}
void pack_pairs_u32(const std::uint32_t* keys, const value4* values, std::uint64_t n, packed_pair* to) {
  pack_pairs_as(keys, values, n, to);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

#define SPANSORT_WORDS_OF(K, KEY, W, WORD)                                                                        \
  template <>                                                                                                     \
  void make_words<K, W>(const keys::codec_of<K>& c, const K* keys, std::uint64_t n, const word_layout<K>& layout, \
                        W* words) {                                                                               \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(make_words_##KEY##_##WORD);                                 \
    best(c, keys, n, layout, words);                                                                              \
  }
#define SPANSORT_DECODED_OF(K, KEY, W, WORD)                                                                   \
  template <>                                                                                                  \
  void decode_words<K, W>(const keys::codec_of<K>& c, const W* words, std::uint64_t n, unsigned position_bits, \
                          K least, K* keys) {                                                                  \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(decode_words_##KEY##_##WORD);                            \
    best(c, words, n, position_bits, least, keys);                                                             \
  }
#define SPANSORT_RANGE_OF(K, KEY)                                                               \
  template <>                                                                                   \
  key_range<K> find_range<K>(const keys::codec_of<K>& c, const K* keys, std::uint64_t n) {      \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(find_range_##KEY);                        \
    return best(c, keys, n);                                                                    \
  }                                                                                             \
  template <>                                                                                   \
  std::uint64_t count_descents<K>(const keys::codec_of<K>& c, const K* keys, std::uint64_t n) { \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(count_descents_##KEY);                    \
    return best(c, keys, n);                                                                    \
  }
SPANSORT_RANGE_OF(std::uint32_t, u32)
SPANSORT_RANGE_OF(std::uint64_t, u64)
SPANSORT_WIDTHS_OF_WORDS(SPANSORT_WORDS_OF)
SPANSORT_WIDTHS_OF_WORDS(SPANSORT_DECODED_OF)
#undef SPANSORT_WORDS_OF
#undef SPANSORT_DECODED_OF
#undef SPANSORT_RANGE_OF
#define SPANSORT_POSITIONS_OF(W, WORD, V, VALUE)                                           \
  template <>                                                                              \
  void take_positions<W>(const W* words, std::uint64_t n, unsigned position_bits, V* to) { \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(take_positions_##WORD##_##VALUE);    \
    best(words, n, position_bits, to);                                                     \
  }
SPANSORT_WIDTHS_OF_POSITIONS(SPANSORT_POSITIONS_OF)
#undef SPANSORT_POSITIONS_OF
template <>
std::uint64_t count_ties<std::uint32_t>(const std::uint32_t* words, std::uint64_t n, unsigned position_bits) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(count_ties_u32);
  return best(words, n, position_bits);
}
template <>
std::uint64_t count_ties<std::uint64_t>(const std::uint64_t* words, std::uint64_t n, unsigned position_bits) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(count_ties_u64);
  return best(words, n, position_bits);
}
template <>
void gather_items<std::uint32_t>(const std::uint32_t* words, std::uint64_t n, unsigned position_bits, item_array from,
                                 unsigned item_bytes, void* to) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(gather_items_u32);
  best(words, n, position_bits, from, item_bytes, to);
}
template <>
void gather_items<std::uint64_t>(const std::uint64_t* words, std::uint64_t n, unsigned position_bits, item_array from,
                                 unsigned item_bytes, void* to) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(gather_items_u64);
  best(words, n, position_bits, from, item_bytes, to);
}
template <>
void gather_pairs<std::uint32_t>(const std::uint32_t* words, std::uint64_t n, unsigned position_bits, packed_array from,
                                 std::uint32_t* keys, value4* values) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(gather_pairs_u32);
  best(words, n, position_bits, from, keys, values);
}
template <>
void gather_pairs<std::uint64_t>(const std::uint64_t* words, std::uint64_t n, unsigned position_bits, packed_array from,
                                 std::uint32_t* keys, value4* values) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(gather_pairs_u64);
  best(words, n, position_bits, from, keys, values);
}
void pack_pairs(const std::uint32_t* keys, const value4* values, std::uint64_t num_pairs, packed_pair* to,
                bool is_padded) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(pack_pairs_u32);
  if (!is_padded) return best(keys, values, num_pairs, to);
  constexpr std::uint64_t run = std::uint64_t{1} << padded_run_bits;
  for (std::uint64_t i = 0; i < num_pairs; i += run) {
    best(keys + i, values + i, std::min(run, num_pairs - i), to + padded_place(i));
  }
}

}  // namespace spansort::device::host
#endif
