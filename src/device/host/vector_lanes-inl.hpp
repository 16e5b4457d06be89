// SPDX-License-Identifier: Apache-2.0
// Steps of a sorting network: between two rows of vectors, and between the lanes of one. This header is included once
// for each of Highway's targets.
#if defined(SPANSORT_VECTOR_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_LANES_INL
#undef SPANSORT_VECTOR_LANES_INL
#else
#define SPANSORT_VECTOR_LANES_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

template <class V>
HWY_INLINE void sort_rows(V& low, V& high) {
  const V smaller = hn::Min(low, high);
  high = hn::Max(low, high);
  low = smaller;
}

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

/// reverse_lanes() of doubles.
template <unsigned width, class V>
HWY_INLINE V reverse_numbers(V x) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (width == 2) return V{_mm512_permute_pd(x.raw, 0x55)};
  if constexpr (width == 4) return V{_mm512_permutex_pd(x.raw, 0x1B)};
  if constexpr (width == 8) return V{_mm512_permutexvar_pd(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), x.raw)};
#else
  if constexpr (width == 2) return V{_mm256_permute_pd(x.raw, 0x5)};
  if constexpr (width == 4) return V{_mm256_permute4x64_pd(x.raw, 0x1B)};
#endif
}

#if HWY_TARGET == HWY_AVX3
/// reverse_lanes() of floats, which are compared on AVX-512 alone.
template <unsigned width, class V>
HWY_INLINE V reverse_short_numbers(V x) {
  if constexpr (width == 2) return V{_mm512_permute_ps(x.raw, 0xB1)};
  if constexpr (width == 4) return V{_mm512_permute_ps(x.raw, 0x1B)};
  const __m512i last = _mm512_set1_epi32(static_cast<int>(width) - 1);
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return V{_mm512_permutexvar_ps(_mm512_xor_si512(lanes, last), x.raw)};
}

/// swap_lanes() of floats.
template <unsigned distance, class V>
HWY_INLINE V swap_short_numbers(V x) {
  if constexpr (distance == 1) return V{_mm512_permute_ps(x.raw, 0xB1)};
  if constexpr (distance == 2) return V{_mm512_permute_ps(x.raw, 0x4E)};
  if constexpr (distance >= 4) return V{_mm512_shuffle_f32x4(x.raw, x.raw, distance == 4 ? 0xB1 : 0x4E)};
}
#endif

/// Exchanges doubles that lie `distance` apart, in groups of twice as many.
template <unsigned distance, class V>
HWY_INLINE V swap_numbers(V x) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (distance == 1) return V{_mm512_permute_pd(x.raw, 0x55)};
  if constexpr (distance >= 2) return V{_mm512_shuffle_f64x2(x.raw, x.raw, distance == 2 ? 0xB1 : 0x4E)};
#else
  if constexpr (distance == 1) return V{_mm256_permute_pd(x.raw, 0x5)};
  if constexpr (distance == 2) return V{_mm256_permute2f128_pd(x.raw, x.raw, 0x01)};
#endif
}

/// Reverses every `width` lanes.
template <unsigned width, class D, class V>
HWY_INLINE V reverse_lanes(D d, V x) {
  if constexpr (std::is_same_v<hn::TFromD<D>, double>) {
    return reverse_numbers<width>(x);
#if HWY_TARGET == HWY_AVX3
  } else if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return reverse_short_numbers<width>(x);
#endif
  } else if constexpr (sizeof(hn::TFromD<D>) == 2) {
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
  if constexpr (std::is_same_v<hn::TFromD<D>, double>) {
    return swap_numbers<distance>(x);
  } else {
#if HWY_TARGET == HWY_AVX3
    if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
      return swap_short_numbers<distance>(x);
    } else if constexpr (bytes == 2) {
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
  if constexpr (std::is_same_v<T, double>) {
    return V{_mm512_mask_max_pd(hn::Min(x, other).raw, static_cast<__mmask8>(upper), x.raw, other.raw)};
  } else if constexpr (std::is_same_v<T, float>) {
    return V{_mm512_mask_max_ps(hn::Min(x, other).raw, static_cast<__mmask16>(upper), x.raw, other.raw)};
  } else if constexpr (sizeof(T) == 2) {
    return V{_mm512_mask_max_epu16(hn::Min(x, other).raw, static_cast<__mmask32>(upper), x.raw, other.raw)};
  } else if constexpr (sizeof(T) == 4) {
    return V{_mm512_mask_max_epu32(hn::Min(x, other).raw, static_cast<__mmask16>(upper), x.raw, other.raw)};
  } else {
    return V{_mm512_mask_max_epi64(hn::Min(x, other).raw, static_cast<__mmask8>(upper), x.raw, other.raw)};
  }
#else
  constexpr int upper =
      static_cast<int>(upper_lanes<distance, hn::MaxLanes(D()), std::max<unsigned>(sizeof(T) / 4, 1)>());
  if constexpr (std::is_same_v<T, double>) {
    constexpr int uppers = static_cast<int>(upper_lanes<distance, hn::MaxLanes(D()), 1>());
    return V{_mm256_blend_pd(hn::Min(x, other).raw, hn::Max(x, other).raw, uppers)};
  } else if constexpr (sizeof(T) == 2 && distance == 8) {
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

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
