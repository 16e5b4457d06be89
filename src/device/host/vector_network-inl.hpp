// SPDX-License-Identifier: Apache-2.0
// Sorting networks of 1 to 32 rows of vectors: each column is sorted first, then neighbouring columns are merged until
// one block of all lanes is left, sorted row by row. This header is included once for each of Highway's targets.
#if defined(SPANSORT_VECTOR_NETWORK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_NETWORK_INL
#undef SPANSORT_VECTOR_NETWORK_INL
#else
#define SPANSORT_VECTOR_NETWORK_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// ---- columns

template <class V>
HWY_INLINE void sort_rows(V& low, V& high) {
  const V smaller = hn::Min(low, high);
  high = hn::Max(low, high);
  low = smaller;
}

/// The 19 comparators of 8 inputs.
template <class V>
HWY_INLINE void sort_columns(V (&v)[8]) {
#define SPANSORT_ROWS(i, j) sort_rows(v[i], v[j])
  SPANSORT_ROWS(0, 2), SPANSORT_ROWS(1, 3), SPANSORT_ROWS(4, 6), SPANSORT_ROWS(5, 7);
  SPANSORT_ROWS(0, 4), SPANSORT_ROWS(1, 5), SPANSORT_ROWS(2, 6), SPANSORT_ROWS(3, 7);
  SPANSORT_ROWS(0, 1), SPANSORT_ROWS(2, 3), SPANSORT_ROWS(4, 5), SPANSORT_ROWS(6, 7);
  SPANSORT_ROWS(2, 4), SPANSORT_ROWS(3, 5), SPANSORT_ROWS(1, 4), SPANSORT_ROWS(3, 6);
  SPANSORT_ROWS(1, 2), SPANSORT_ROWS(3, 4), SPANSORT_ROWS(5, 6);
#undef SPANSORT_ROWS
}

/// Sorts 16 rows from `first` on: 60 comparators, the fewest known (Green; in the ten layers of Dobbelaere's list).
template <unsigned first, class V, std::size_t num_rows>
HWY_INLINE void sort_16_rows(V (&v)[num_rows]) {
#define SPANSORT_ROWS(i, j) sort_rows(v[first + i], v[first + j])
  SPANSORT_ROWS(0, 13), SPANSORT_ROWS(1, 12), SPANSORT_ROWS(2, 15), SPANSORT_ROWS(3, 14);
  SPANSORT_ROWS(4, 8), SPANSORT_ROWS(5, 6), SPANSORT_ROWS(7, 11), SPANSORT_ROWS(9, 10);
  SPANSORT_ROWS(0, 5), SPANSORT_ROWS(1, 7), SPANSORT_ROWS(2, 9), SPANSORT_ROWS(3, 4);
  SPANSORT_ROWS(6, 13), SPANSORT_ROWS(8, 14), SPANSORT_ROWS(10, 15), SPANSORT_ROWS(11, 12);
  SPANSORT_ROWS(0, 1), SPANSORT_ROWS(2, 3), SPANSORT_ROWS(4, 5), SPANSORT_ROWS(6, 8);
  SPANSORT_ROWS(7, 9), SPANSORT_ROWS(10, 11), SPANSORT_ROWS(12, 13), SPANSORT_ROWS(14, 15);
  SPANSORT_ROWS(0, 2), SPANSORT_ROWS(1, 3), SPANSORT_ROWS(4, 10), SPANSORT_ROWS(5, 11);
  SPANSORT_ROWS(6, 7), SPANSORT_ROWS(8, 9), SPANSORT_ROWS(12, 14), SPANSORT_ROWS(13, 15);
  SPANSORT_ROWS(1, 2), SPANSORT_ROWS(3, 12), SPANSORT_ROWS(4, 6), SPANSORT_ROWS(5, 7);
  SPANSORT_ROWS(8, 10), SPANSORT_ROWS(9, 11), SPANSORT_ROWS(13, 14);
  SPANSORT_ROWS(1, 4), SPANSORT_ROWS(2, 6), SPANSORT_ROWS(5, 8), SPANSORT_ROWS(7, 10);
  SPANSORT_ROWS(9, 13), SPANSORT_ROWS(11, 14);
  SPANSORT_ROWS(2, 4), SPANSORT_ROWS(3, 6), SPANSORT_ROWS(9, 12), SPANSORT_ROWS(11, 13);
  SPANSORT_ROWS(3, 5), SPANSORT_ROWS(6, 8), SPANSORT_ROWS(7, 9), SPANSORT_ROWS(10, 12);
  SPANSORT_ROWS(3, 4), SPANSORT_ROWS(5, 6), SPANSORT_ROWS(7, 8), SPANSORT_ROWS(9, 10), SPANSORT_ROWS(11, 12);
  SPANSORT_ROWS(6, 7), SPANSORT_ROWS(8, 9);
#undef SPANSORT_ROWS
}

/// A layer of Batcher's odd-even merge of two halves of 16 rows: those `distance` apart, but for the outermost.
template <unsigned distance, class V, std::size_t... i>
HWY_INLINE void merge_layer(V (&v)[32], std::index_sequence<i...>) {
  (sort_rows(v[distance + 2 * distance * (i / distance) + i % distance],
             v[2 * distance + 2 * distance * (i / distance) + i % distance]),
   ...);
}
template <class V, std::size_t... i>
HWY_INLINE void sort_halves(V (&v)[32], std::index_sequence<i...>) {
  (sort_rows(v[i], v[16 + i]), ...);
}

template <class V>
HWY_INLINE void sort_columns(V (&)[1]) {}
template <class V>
HWY_INLINE void sort_columns(V (&v)[2]) {
  sort_rows(v[0], v[1]);
}
template <class V>
HWY_INLINE void sort_columns(V (&v)[4]) {
  sort_rows(v[0], v[2]), sort_rows(v[1], v[3]);
  sort_rows(v[0], v[1]), sort_rows(v[2], v[3]);
  sort_rows(v[1], v[2]);
}
template <class V>
HWY_INLINE void sort_columns(V (&v)[16]) {
  sort_16_rows<0>(v);
}
/// No network of fewer than its 185 comparators is known.
template <class V>
HWY_INLINE void sort_columns(V (&v)[32]) {
  sort_16_rows<0>(v);
  sort_16_rows<16>(v);
  sort_halves(v, std::make_index_sequence<16>());
  merge_layer<8>(v, std::make_index_sequence<8>());
  merge_layer<4>(v, std::make_index_sequence<12>());
  merge_layer<2>(v, std::make_index_sequence<14>());
  merge_layer<1>(v, std::make_index_sequence<15>());
}

// ---- lanes

/// Exchanges neighbouring lanes of 16 bits.
template <class V>
HWY_INLINE V swap_halves(V x) {
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_rol_epi32(x.raw, 16)};
#else
  return V{_mm256_shufflehi_epi16(_mm256_shufflelo_epi16(x.raw, 0xB1), 0xB1)};
#endif
}

/// reverse_lanes() of 16 bits.
template <unsigned width, class V>
HWY_INLINE V reverse_narrow_lanes(V x) {
  if constexpr (width == 2) return swap_halves(x);
#if HWY_TARGET == HWY_AVX3
  if constexpr (width == 4) return V{_mm512_shufflehi_epi16(_mm512_shufflelo_epi16(x.raw, 0x1B), 0x1B)};
  if constexpr (width >= 8) {
    const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1));
    const __m512i blocks = _mm512_shuffle_epi8(x.raw, order);
    if constexpr (width == 8) return V{blocks};
    return V{_mm512_shuffle_i64x2(blocks, blocks, width == 16 ? 0xB1 : 0x1B)};
  }
#else
  if constexpr (width == 4) return V{_mm256_shufflehi_epi16(_mm256_shufflelo_epi16(x.raw, 0x1B), 0x1B)};
  if constexpr (width >= 8) {
    const __m256i order =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1));
    const __m256i blocks = _mm256_shuffle_epi8(x.raw, order);
    if constexpr (width == 8) return V{blocks};
    return V{_mm256_permute2x128_si256(blocks, blocks, 0x01)};
  }
#endif
}

/// Reverses every `width` lanes.
template <unsigned width, class D, class V>
HWY_INLINE V reverse_lanes(D d, V x) {
  if constexpr (sizeof(hn::TFromD<D>) == 2) {
    return reverse_narrow_lanes<width>(x);
  } else if constexpr (width == 2) {
    return hn::Reverse2(d, x);
  } else if constexpr (width == 4) {
    return hn::Reverse4(d, x);
  } else if constexpr (width == hn::MaxLanes(d)) {
    return hn::Reverse(d, x);
  } else {
    static_assert(width == 8);
    return hn::Reverse8(d, x);
  }
}

/// Exchanges lanes that lie `distance` apart, in groups of twice as many.
template <unsigned distance, class D, class V>
HWY_INLINE V swap_lanes(D, V x) {
  constexpr std::size_t bytes = distance * sizeof(hn::TFromD<D>);
#if HWY_TARGET == HWY_AVX3
  if constexpr (bytes == 2) {
    return swap_halves(x);
  } else if constexpr (bytes == 4) {
    return V{_mm512_shuffle_epi32(x.raw, static_cast<_MM_PERM_ENUM>(0xB1))};
  } else if constexpr (bytes == 8) {
    return V{_mm512_shuffle_epi32(x.raw, static_cast<_MM_PERM_ENUM>(0x4E))};
  } else {
    constexpr int blocks = bytes == 16 ? 0xB1 : 0x4E;
    return V{_mm512_shuffle_i64x2(x.raw, x.raw, blocks)};
  }
#else
  if constexpr (bytes == 2) {
    return swap_halves(x);
  } else if constexpr (bytes == 4) {
    return V{_mm256_shuffle_epi32(x.raw, 0xB1)};
  } else if constexpr (bytes == 8) {
    return V{_mm256_shuffle_epi32(x.raw, 0x4E)};
  } else {
    return V{_mm256_permute2x128_si256(x.raw, x.raw, 0x01)};
  }
#endif
}

/// The lanes whose number has the bit `bit`, as a bit each of words of 32 bits or, on AVX-512, of lanes.
template <unsigned bit, unsigned num_lanes, unsigned words>
constexpr unsigned upper_lanes() {
  unsigned mask = 0;
  for (unsigned i = 0; i < num_lanes * words; ++i) mask |= (i / words & bit) != 0 ? 1U << i : 0U;
  return mask;
}

/// A step of a merge inside each row: `other` is the row with partners exchanged.
template <unsigned distance, class D, class V>
HWY_INLINE V sort_lanes(D d, V x, V other) {
  using T = hn::TFromD<D>;
#if HWY_TARGET == HWY_AVX3
  constexpr unsigned upper = upper_lanes<distance, hn::MaxLanes(D()), 1>();
  if constexpr (sizeof(T) == 2) {
    return V{_mm512_mask_max_epu16(hn::Min(x, other).raw, static_cast<__mmask32>(upper), x.raw, other.raw)};
  } else if constexpr (sizeof(T) == 4) {
    return V{_mm512_mask_max_epu32(hn::Min(x, other).raw, static_cast<__mmask16>(upper), x.raw, other.raw)};
  } else {
    return V{_mm512_mask_max_epi64(hn::Min(x, other).raw, static_cast<__mmask8>(upper), x.raw, other.raw)};
  }
#else
  constexpr int upper =
      static_cast<int>(upper_lanes<distance, hn::MaxLanes(D()), std::max<unsigned>(sizeof(T) / 4, 1)>());
  if constexpr (sizeof(T) == 2 && distance == 8) {
    return V{_mm256_blend_epi32(hn::Min(x, other).raw, hn::Max(x, other).raw, 0xF0)};
  } else if constexpr (sizeof(T) == 2) {  // the same in both blocks
    return V{_mm256_blend_epi16(hn::Min(x, other).raw, hn::Max(x, other).raw, upper & 0xFF)};
  } else if constexpr (sizeof(T) == 4) {
    return V{_mm256_blend_epi32(hn::Min(x, other).raw, hn::Max(x, other).raw, upper)};
  } else {
    // AVX2 compares 64 bits, and has no minimum of them: one comparison says which lanes to exchange.
    const __m256i ones = _mm256_set1_epi32(-1);
    const __m256i uppers = _mm256_blend_epi32(_mm256_setzero_si256(), ones, upper);
    const __m256i exchanged = _mm256_xor_si256(_mm256_cmpgt_epi64(x.raw, other.raw), uppers);
    return V{_mm256_blendv_epi8(x.raw, other.raw, exchanged)};
  }
#endif
}

template <unsigned distance, class D, class V>
HWY_INLINE V finish_row(D d, V x) {
  if constexpr (distance == 0) {
    return x;
  } else {
    return finish_row<distance / 2>(d, sort_lanes<distance>(d, x, swap_lanes<distance>(d, x)));
  }
}

// ---- merges

/// Half of a bitonic merge: rows `first` and up against their mirrored partners.
template <unsigned first, unsigned num_rows, unsigned width, class D, class V, std::size_t n, std::size_t... i>
HWY_INLINE void mirror_rows(D d, V (&v)[n], std::index_sequence<i...>) {
  ((v[first + num_rows - 1 - i] = reverse_lanes<width>(d, v[first + num_rows - 1 - i])), ...);
  (sort_rows(v[first + i], v[first + num_rows - 1 - i]), ...);
}

template <unsigned first, unsigned num_rows, unsigned width, class D, class V, std::size_t n>
HWY_INLINE void merge_rows(D d, V (&v)[n]) {
  if constexpr (num_rows == 1) {
    const V x = v[first];
    v[first] = finish_row<width / 4>(d, sort_lanes<width / 2>(d, x, reverse_lanes<width>(d, x)));
  } else {
    mirror_rows<first, num_rows, width>(d, v, std::make_index_sequence<num_rows / 2>());
    merge_rows<first, num_rows / 2, width>(d, v);
    merge_rows<first + num_rows / 2, num_rows / 2, width>(d, v);
  }
}

/// Merges blocks of `width` / 2 columns, sorted row by row, until one block is left.
template <unsigned width, class D, class V, std::size_t n>
HWY_INLINE void merge_columns(D d, V (&v)[n]) {
  if constexpr (width <= hn::MaxLanes(d)) {
    merge_rows<0, n, width>(d, v);
    merge_columns<width * 2>(d, v);
  }
}

/// Sorts all lanes of all rows.
template <class D, class V, std::size_t n>
HWY_INLINE void sort_network(D d, V (&v)[n]) {
  sort_columns(v);
  merge_columns<2>(d, v);
}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
