// SPDX-License-Identifier: Apache-2.0
// Rows of words for the network of a few pairs, and the move of pairs by the positions in them. This header is included
// once for each of Highway's targets.
#if defined(SPANSORT_PAIR_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_PAIR_ROWS_INL
#undef SPANSORT_PAIR_ROWS_INL
#else
#define SPANSORT_PAIR_ROWS_INL
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "device/host/pair_network.hpp"
#include "device/host/vector_finish-inl.hpp"
#include "device/host/vector_network-inl.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

constexpr unsigned pair_position_bits = 6;
constexpr std::int64_t pair_position_mask = (1 << pair_position_bits) - 1;
static_assert(most_network_pairs == std::uint64_t{1} << pair_position_bits);

using word_tag = full_tag<std::uint64_t>;
using word_vector = hn::Vec<word_tag>;
constexpr std::uint64_t word_lanes = lanes_of<std::uint64_t>();

/// Keys in vectors as long as those of words.
template <class K>
using beside_words = hn::CappedTag<lane_type<K>, word_lanes>;

/// codec_of<K>::encode() on vectors.
template <class K, bool folds, class Tag = beside_words<K>>
struct row_codec {
  using D = Tag;
  using V = hn::Vec<D>;
  lane_codec<K, false, D> lanes;
  V magnitude_mask, infinity;

  explicit row_codec(const keys::codec_of<K>& c)
      : lanes(D(), c), magnitude_mask(lanes.set(c.magnitude_mask)), infinity(lanes.set(c.infinity)) {}

  HWY_INLINE V encode(V x) const {
    if constexpr (folds) {
      const hn::RebindToSigned<D> di;  // magnitudes are positive
      const V magnitude = hn::And(x, magnitude_mask);
      const auto is_nan = hn::RebindMask(D(), hn::Gt(hn::BitCast(di, magnitude), hn::BitCast(di, infinity)));
      x = hn::IfThenElse(is_nan, magnitude_mask, hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(D())), x));
    }
    return lanes.encode(x);
  }
};

/// What the network leaves to do.
enum class pair_order : std::uint8_t {
  in_order,  ///< nothing
  moved,     ///< the move to the positions
  whole,     ///< the same; lanes hold the encoded keys in their upper halves, in order, and positions in the lower ones
  may_tie    ///< the move, and keys that agree in all bits of their words to be put in order
};

#if HWY_TARGET == HWY_AVX3

/// The lanes of row `row` that hold keys.
HWY_INLINE __mmask8 lanes_of_row(std::uint64_t num_keys, unsigned row) {
  const std::uint64_t before = row * word_lanes;
  return num_keys >= before + word_lanes ? __mmask8{0xFF}
                                         : static_cast<__mmask8>((1U << (std::max(num_keys, before) - before)) - 1U);
}

/// Rows of lanes that have the greatest value behind the last key: returns whether they ascend.
template <unsigned rows>
HWY_INLINE bool rows_ascend(const word_vector (&v)[rows]) {
  __mmask8 descends = 0;
  for (unsigned r = 0; r + 1 < rows; ++r) {
    descends |= _mm512_cmpgt_epi64_mask(v[r].raw, _mm512_alignr_epi64(v[r + 1].raw, v[r].raw, 1));
  }
  const __m512i greatest = _mm512_set1_epi64(hwy::HighestValue<std::int64_t>());
  descends |= _mm512_cmpgt_epi64_mask(v[rows - 1].raw, _mm512_alignr_epi64(greatest, v[rows - 1].raw, 1));
  return descends == 0;
}

/// Returns whether the keys strictly descend. The first row tells so of nearly all others.
template <unsigned rows>
HWY_INLINE bool rows_descend(const word_vector (&v)[rows], std::uint64_t num_keys) {
  for (unsigned r = 0; r < rows; ++r) {
    const __m512i next = v[std::min(r + 1, rows - 1)].raw;
    const __mmask8 falls = _mm512_cmpgt_epi64_mask(v[r].raw, _mm512_alignr_epi64(next, v[r].raw, 1));
    if ((lanes_of_row(num_keys - 1, r) & ~falls) != 0) return false;
  }
  return true;
}

/// Loads a row of keys, and zeros behind the last. Masked instructions that reach pages without memory are slow even
/// where the mask has no bit, so a row without keys is read from the last row's place.
template <class T>
HWY_INLINE auto load_pair_row(const T* from, std::uint64_t num_keys, unsigned row) {
  const __mmask8 own = lanes_of_row(num_keys, row);
  const T* const begin = from + std::min(row * word_lanes, (num_keys - 1) / word_lanes * word_lanes);
  if constexpr (sizeof(T) == 4) {
    return _mm256_maskz_loadu_epi32(own, begin);
  } else {
    return _mm512_maskz_loadu_epi64(own, begin);
  }
}

/// Loads keys, encodes them, and widens them.
template <class K, unsigned rows, bool folds>
HWY_INLINE void load_encoded(const row_codec<K, folds>& codec, const K* keys, std::uint64_t num_keys,
                             word_vector (&v)[rows]) {
  const word_vector greatest = hn::Set(word_tag(), hwy::HighestValue<std::int64_t>());
  for (unsigned r = 0; r < rows; ++r) {
    const auto x = codec.encode({load_pair_row(keys, num_keys, r)});
    word_vector wide;
    if constexpr (sizeof(K) == 4) {
      wide.raw = _mm512_cvtepu32_epi64(x.raw);
    } else {
      wide = x;
    }
    v[r].raw = _mm512_mask_mov_epi64(greatest.raw, lanes_of_row(num_keys, r), wide.raw);
  }
}

/// Returns how far to the left keys of 64 bits may be moved: all agree in the bits above.
template <unsigned rows>
HWY_INLINE unsigned shared_bits(const word_vector (&v)[rows], std::uint64_t num_keys) {
  const __m512i first = _mm512_broadcastq_epi64(_mm512_castsi512_si128(v[0].raw));
  __m512i differing = _mm512_setzero_si512();
  for (unsigned r = 0; r < rows; ++r) {
    const __m512i own = _mm512_maskz_xor_epi64(lanes_of_row(num_keys, r), v[r].raw, first);
    differing = _mm512_or_si512(differing, own);
  }
  return static_cast<unsigned>(std::countl_zero(static_cast<std::uint64_t>(_mm512_reduce_or_epi64(differing)) | 1U));
}

/// Sorts words of encoded keys, which lose the upper `shift` bits; `v` then holds positions. Returns how many of the
/// keys' lowest bits had no room. Words that are compared as doubles are numbers from the smallest normal one on.
template <class K, bool as_numbers, unsigned rows>
HWY_INLINE unsigned sort_words(word_vector (&v)[rows], std::uint64_t num_keys, unsigned shift) {
  using form = number_form<std::uint64_t, true>;
  const word_tag d;
  constexpr unsigned spare_bits = as_numbers && sizeof(K) == 8 ? 2 : 0;
  constexpr unsigned low_bits = pair_position_bits + spare_bits;
  const word_vector position_bits = hn::Set(d, pair_position_mask);
  const word_vector smallest = hn::Set(d, static_cast<std::int64_t>(form::smallest));
  const word_vector greatest =
      hn::Set(d, as_numbers ? static_cast<std::int64_t>(form::infinity) : hwy::HighestValue<std::int64_t>());
  // Keys of 64 bits lose their common bits, and are compared as signed words again.
  const __m128i count = _mm_cvtsi32_si128(static_cast<int>(shift));
  const word_vector bias = hn::Set(d, sizeof(K) == 8 ? hwy::LowestValue<std::int64_t>() : 0);
  for (unsigned r = 0; r < rows; ++r) {
    const word_vector lanes = hn::Iota(d, static_cast<std::int64_t>(r * word_lanes));
    word_vector above{_mm512_sll_epi64(hn::Xor(v[r], bias).raw, count)};
    if constexpr (spare_bits != 0) above.raw = _mm512_srli_epi64(above.raw, spare_bits);
    const word_vector word = hn::OrAnd(hn::AndNot(position_bits, above), position_bits, lanes);
    const word_vector compared = as_numbers ? hn::Add(word, smallest) : hn::Xor(word, bias);
    v[r].raw = _mm512_mask_mov_epi64(greatest.raw, lanes_of_row(num_keys, r), compared.raw);
  }
  if constexpr (as_numbers) {
    const form::compared_tag dn;
    form::N numbers[rows];
    for (unsigned r = 0; r < rows; ++r) numbers[r] = hn::BitCast(dn, v[r]);
    sort_network(dn, numbers);
    for (unsigned r = 0; r < rows; ++r) v[r] = hn::BitCast(d, numbers[r]);
  } else {
    sort_network(d, v);
  }
  for (unsigned r = 0; r < rows; ++r) v[r] = hn::And(v[r], position_bits);
  return sizeof(K) == 8 ? low_bits - std::min(shift, low_bits) : 0;
}

/// The most pairs: rows of 64-bit words, and vectors of 16 keys.
constexpr unsigned most_rows = most_network_pairs / word_lanes;
constexpr unsigned most_vectors = most_rows / 2;
constexpr std::uint64_t narrow_lanes = 2 * word_lanes;

/// The lanes of a vector of 16 that hold keys.
HWY_INLINE __mmask16 lanes_of_vector(std::uint64_t num_keys, unsigned vector) {
  const std::uint64_t before = vector * narrow_lanes;
  return num_keys >= before + narrow_lanes ? __mmask16{0xFFFF}
                                           : static_cast<__mmask16>((1U << (std::max(num_keys, before) - before)) - 1U);
}

/// Returns where such a vector begins: one without keys is read from the last one's place, as rows are.
HWY_INLINE std::uint64_t begin_of_vector(std::uint64_t num_keys, unsigned vector) {
  return std::min(vector * narrow_lanes, (num_keys - 1) / narrow_lanes * narrow_lanes);
}

/// The bit that makes an encoded key of 32 bits one that signed instructions compare.
constexpr std::uint32_t lowest_number = std::uint32_t{1} << 31;

/// Does what order_rows() does to the most rows of 32-bit keys, where integers are compared fast: the key is the upper
/// half of its word and the position the lower one, so that keys are loaded, encoded and looked at 16 a vector.
template <bool folds>
HWY_INLINE pair_order order_narrow(const keys::codec_of<std::uint32_t>& c, const std::uint32_t* keys,
                                   std::uint64_t num_keys, word_vector (&v)[most_rows]) {
  const row_codec<std::uint32_t, folds, full_tag<std::uint32_t>> codec(c);
  const __m512i greatest = _mm512_set1_epi32(hwy::HighestValue<std::int32_t>());
  // Encoded keys are compared as signed numbers. To flip bits takes one instruction where encode() takes five.
  const bool flips_alone = !folds && c.only_flips();
  const __m512i flips = _mm512_set1_epi32(static_cast<int>(lowest_number ^ (flips_alone ? c.to_positive : 0)));
  __m512i x[most_vectors];
  const auto load = [&](const auto& encode) HWY_ATTR {
    for (unsigned i = 0; i < most_vectors; ++i) {
      const __mmask16 own = lanes_of_vector(num_keys, i);
      const __m512i loaded = _mm512_maskz_loadu_epi32(own, keys + begin_of_vector(num_keys, i));
      x[i] = _mm512_mask_xor_epi32(greatest, own, encode(loaded), flips);
    }
  };
  if (flips_alone) {
    load([](__m512i loaded) HWY_ATTR { return loaded; });
  } else {
    load([&](__m512i loaded) HWY_ATTR { return codec.encode({loaded}).raw; });
  }
  __mmask16 descends = 0;
  bool falls = true;
  for (unsigned i = 0; i < most_vectors; ++i) {
    const __m512i next = _mm512_alignr_epi32(i + 1 < most_vectors ? x[i + 1] : greatest, x[i], 1);
    const __mmask16 above = _mm512_cmpgt_epi32_mask(x[i], next);
    descends |= above;
    falls = falls && (lanes_of_vector(num_keys - 1, i) & ~above) == 0;
  }
  if (descends == 0) return pair_order::in_order;
  if (falls) {
    const word_vector last = hn::Set(word_tag(), static_cast<std::int64_t>(num_keys - 1));
    for (unsigned r = 0; r < most_rows; ++r) {
      v[r] = hn::Sub(last, hn::Iota(word_tag(), static_cast<std::int64_t>(r * word_lanes)));
    }
    return pair_order::moved;
  }
  __m512i positions = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (unsigned i = 0; i < most_vectors; ++i) {
    v[2 * i].raw = _mm512_unpacklo_epi32(positions, x[i]);
    v[2 * i + 1].raw = _mm512_unpackhi_epi32(positions, x[i]);
    positions = _mm512_add_epi32(positions, _mm512_set1_epi32(narrow_lanes));
  }
  sort_network(word_tag(), v);
  return pair_order::whole;
}

/// Stores the keys of such words, whose codec folds no ties.
HWY_INLINE void store_upper_halves(const keys::codec_of<std::uint32_t>& c, const word_vector (&v)[most_rows],
                                   std::uint32_t* keys, std::uint64_t num_keys) {
  const row_codec<std::uint32_t, false, full_tag<std::uint32_t>> codec(c);
  const bool flips_alone = c.only_flips();
  const __m512i flips = _mm512_set1_epi32(static_cast<int>(lowest_number ^ (flips_alone ? c.to_positive : 0)));
  const __m512i upper_halves = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  for (unsigned i = 0; i < most_vectors; ++i) {
    const __m512i x = _mm512_permutex2var_epi32(v[2 * i].raw, upper_halves, v[2 * i + 1].raw);
    __m512i decoded = _mm512_xor_si512(x, flips);
    if (!flips_alone) decoded = codec.lanes.decode({decoded}).raw;
    _mm512_mask_storeu_epi32(keys + begin_of_vector(num_keys, i), lanes_of_vector(num_keys, i), decoded);
  }
}

/// Moves the rows of `from` to where `positions` say, of which other bits may be set; up to eight rows of words.
template <unsigned rows>
HWY_INLINE __m512i pick_words(const __m512i (&from)[rows], __m512i positions) {
  if constexpr (rows == 1) {
    return _mm512_permutexvar_epi64(positions, from[0]);
  } else if constexpr (rows == 2) {
    return _mm512_permutex2var_epi64(from[0], positions, from[1]);
  } else if constexpr (rows == 4) {
    return _mm512_mask_mov_epi64(_mm512_permutex2var_epi64(from[0], positions, from[1]),
                                 _mm512_test_epi64_mask(positions, _mm512_set1_epi64(16)),
                                 _mm512_permutex2var_epi64(from[2], positions, from[3]));
  } else {
    const __mmask8 second = _mm512_test_epi64_mask(positions, _mm512_set1_epi64(16));
    const __m512i low = _mm512_mask_mov_epi64(_mm512_permutex2var_epi64(from[0], positions, from[1]), second,
                                              _mm512_permutex2var_epi64(from[2], positions, from[3]));
    const __m512i high = _mm512_mask_mov_epi64(_mm512_permutex2var_epi64(from[4], positions, from[5]), second,
                                               _mm512_permutex2var_epi64(from[6], positions, from[7]));
    return _mm512_mask_mov_epi64(low, _mm512_test_epi64_mask(positions, _mm512_set1_epi64(32)), high);
  }
}

/// Moves halves as long likewise, up to four rows: two rows of them lie in one vector of `from`.
template <unsigned rows>
HWY_INLINE __m256i pick_halves(const __m512i (&from)[rows], __m256i positions) {
  const __m512i at = _mm512_castsi256_si512(positions);
  if constexpr (rows == 1) {
    return _mm512_castsi512_si256(_mm512_permutexvar_epi32(at, from[0]));
  } else {
    return _mm512_castsi512_si256(_mm512_permutex2var_epi32(from[0], at, from[1]));
  }
}

/// Moves an array of the most rows, of 32 bits, in place. Upper halves of `positions` are not looked at.
HWY_INLINE void move_narrow(const word_vector (&positions)[most_rows], std::uint32_t* array, std::uint64_t num_keys) {
  const __m512i lower_halves = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  __m512i from[most_vectors];
  for (unsigned i = 0; i < most_vectors; ++i) {
    from[i] = _mm512_maskz_loadu_epi32(lanes_of_vector(num_keys, i), array + begin_of_vector(num_keys, i));
  }
  for (unsigned i = 0; i < most_vectors; ++i) {
    const __m512i at = _mm512_permutex2var_epi32(positions[2 * i].raw, lower_halves, positions[2 * i + 1].raw);
    const __m512i moved = _mm512_mask_mov_epi32(_mm512_permutex2var_epi32(from[0], at, from[1]),
                                                _mm512_test_epi32_mask(at, _mm512_set1_epi32(32)),
                                                _mm512_permutex2var_epi32(from[2], at, from[3]));
    _mm512_mask_storeu_epi32(array + begin_of_vector(num_keys, i), lanes_of_vector(num_keys, i), moved);
  }
}

/// Stores the first lanes of rows, as many as there are keys.
template <unsigned rows, class W, class RowAt>
HWY_INLINE void store_pair_rows(W* to, std::uint64_t num_keys, const RowAt& row_at) {
  for (unsigned r = 0; r < rows; ++r) {
    const __mmask8 own = lanes_of_row(num_keys, r);
    W* const begin = to + std::min(r * word_lanes, (num_keys - 1) / word_lanes * word_lanes);
    if constexpr (sizeof(W) == 4) {
      _mm256_mask_storeu_epi32(begin, own, row_at(r));
    } else {
      _mm512_mask_storeu_epi64(begin, own, row_at(r));
    }
  }
}

/// Moves an array in place.
template <unsigned rows, class W>
HWY_INLINE void move_by(const word_vector (&positions)[rows], W* array, std::uint64_t num_keys) {
  if constexpr (sizeof(W) == 8) {
    __m512i from[rows];
    for (unsigned r = 0; r < rows; ++r) from[r] = load_pair_row(array, num_keys, r);
    store_pair_rows<rows>(array, num_keys, [&](unsigned r) HWY_ATTR { return pick_words(from, positions[r].raw); });
  } else if constexpr (rows == most_rows) {
    move_narrow(positions, array, num_keys);
  } else {
    __m512i from[(rows + 1) / 2];
    for (unsigned r = 0; r < rows; r += 2) {
      const __m512i low = _mm512_castsi256_si512(load_pair_row(array, num_keys, r));
      from[r / 2] = rows == 1 ? low : _mm512_inserti64x4(low, load_pair_row(array, num_keys, r + 1), 1);
    }
    store_pair_rows<rows>(array, num_keys, [&](unsigned r) HWY_ATTR {
      return pick_halves(from, _mm512_cvtepi64_epi32(positions[r].raw));
    });
  }
}

#endif
#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
