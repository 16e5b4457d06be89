// SPDX-License-Identifier: Apache-2.0
// The kernel of vector_scatter.hpp. It wants more of AVX-512 than Highway's target of that name: conflicts, and
// popcounts of lanes.

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 warns of its own intrinsics
#endif

#include "device/host/vector_scatter.hpp"

#include "device/host/vector_targets.hpp"

#if defined(__x86_64__) && !defined(SPANSORT_NARROW_VECTORS)
#define SPANSORT_HAS_SCATTER 1
#include <immintrin.h>
#else
#define SPANSORT_HAS_SCATTER 0
#endif

namespace spansort::device::host {

#if SPANSORT_HAS_SCATTER

namespace {

#define SPANSORT_SCATTER_TARGET gnu::target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vpopcntdq")
#define SPANSORT_SCATTER_INLINE [[SPANSORT_SCATTER_TARGET, gnu::always_inline]] inline

/// Returns where sixteen items of these classes go, those of one class in the order of their lanes.
SPANSORT_SCATTER_INLINE __m512i take_places(__m512i classes, std::uint32_t* cursors) {
  const __m512i begins = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), 0xFFFF, classes, cursors, 4);
  const __m512i places = _mm512_add_epi32(begins, _mm512_popcnt_epi32(_mm512_conflict_epi32(classes)));
  // Of lanes that write to one cursor the last one is the last to write.
  _mm512_i32scatter_epi32(cursors, classes, _mm512_add_epi32(places, _mm512_set1_epi32(1)), 4);
  return places;
}

SPANSORT_SCATTER_INLINE __m512i load_classes(const std::uint32_t* classes) { return _mm512_loadu_si512(classes); }
SPANSORT_SCATTER_INLINE __m512i load_classes(const std::uint64_t* classes) {
  const __m256i first = _mm512_cvtepi64_epi32(_mm512_loadu_si512(classes));
  return _mm512_inserti64x4(_mm512_castsi256_si512(first), _mm512_cvtepi64_epi32(_mm512_loadu_si512(classes + 8)), 1);
}

SPANSORT_SCATTER_INLINE void put_16(const std::uint32_t* items, __m512i places, std::uint32_t* to) {
  _mm512_i32scatter_epi32(to, places, _mm512_loadu_si512(items), 4);
}
SPANSORT_SCATTER_INLINE void put_16(const std::uint64_t* items, __m512i places, std::uint64_t* to) {
  _mm512_i32scatter_epi64(to, _mm512_castsi512_si256(places), _mm512_loadu_si512(items), 8);
  _mm512_i32scatter_epi64(to, _mm512_extracti64x4_epi64(places, 1), _mm512_loadu_si512(items + 8), 8);
}

template <class K>
SPANSORT_SCATTER_INLINE void scatter(const K* items, const K* classes, std::uint64_t num_items, std::uint32_t* cursors,
                                     K* to) {
  std::uint64_t i = 0;
  for (; i + 16 <= num_items; i += 16) put_16(items + i, take_places(load_classes(classes + i), cursors), to);
  for (; i < num_items; ++i) to[cursors[classes[i]]++] = items[i];
}

}  // namespace

bool has_vector_scatter() noexcept {
  static const bool has = best_instruction_set() >= instruction_set::avx3 &&
                          __builtin_cpu_supports("avx512vpopcntdq") && scatters_fast();
  return has;
}

[[SPANSORT_SCATTER_TARGET]] void scatter_by_class(const std::uint32_t* items, const std::uint32_t* classes,
                                                  std::uint64_t num_items, std::uint32_t* cursors, std::uint32_t* to) {
  scatter(items, classes, num_items, cursors, to);
}
[[SPANSORT_SCATTER_TARGET]] void scatter_by_class(const std::uint64_t* items, const std::uint64_t* classes,
                                                  std::uint64_t num_items, std::uint32_t* cursors, std::uint64_t* to) {
  scatter(items, classes, num_items, cursors, to);
}

#else

bool has_vector_scatter() noexcept { return false; }

void scatter_by_class(const std::uint32_t*, const std::uint32_t*, std::uint64_t, std::uint32_t*, std::uint32_t*) {}
void scatter_by_class(const std::uint64_t*, const std::uint64_t*, std::uint64_t, std::uint32_t*, std::uint64_t*) {}

#endif

}  // namespace spansort::device::host
