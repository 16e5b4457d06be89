// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/heavy_filter.hpp"

#include <algorithm>
#include <cstddef>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/heavy_filter.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

template <class K>
HWY_INLINE std::uint64_t filter_heavy_key(const K* HWY_RESTRICT cells, K multiplier, K key, std::uint64_t lane,
                                          K* HWY_RESTRICT light, std::uint32_t* HWY_RESTRICT counters) {
  using values = heavy_values<K>;
  const std::size_t cell = values::cell_of(key, multiplier);
  const bool is_light = cells[cell] != key;
  // Two selections without a branch: nobody could foretell it.
  const std::size_t counted = (is_light ? values::num_cells : cell) * values::num_lanes + lane;
  ++counters[counted];
  *light = key;
  return is_light ? 1 : 0;
}

#if HWY_TARGET == HWY_AVX3
// Intrinsics by width, which Highway does not offer for both.
HWY_INLINE __m512i cells_of(__m512i x, std::uint32_t multiplier, int cell_bits) {
  return _mm512_srli_epi32(_mm512_mullo_epi32(x, _mm512_set1_epi32(static_cast<int>(multiplier))),
                           static_cast<unsigned>(32 - cell_bits));
}
HWY_INLINE __m512i cells_of(__m512i x, std::uint64_t multiplier, int cell_bits) {
  return _mm512_srli_epi64(_mm512_mullo_epi64(x, _mm512_set1_epi64(static_cast<long long>(multiplier))),
                           static_cast<unsigned>(64 - cell_bits));
}
HWY_INLINE __m512i gather(const std::uint32_t* from, __m512i index) { return _mm512_i32gather_epi32(index, from, 4); }
HWY_INLINE __m512i gather(const std::uint64_t* from, __m512i index) { return _mm512_i64gather_epi64(index, from, 8); }
HWY_INLINE __m512i compress(std::uint32_t, unsigned mask, __m512i x) {
  return _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), x);
}
HWY_INLINE __m512i compress(std::uint64_t, unsigned mask, __m512i x) {
  return _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), x);
}

/// Filters whole vectors; returns how many keys that were. Cells reach the counters by way of an array, a step after
/// they were found: where the compiler may take them out of the vector at once, Zen 4 spends 3.0 ns a key instead of
/// 1.4.
template <class K>
HWY_INLINE std::uint64_t filter_heavy_vectors(const K* HWY_RESTRICT cells, K multiplier, const K* HWY_RESTRICT keys,
                                              std::uint64_t num_keys, K* HWY_RESTRICT light, std::uint64_t& num_light,
                                              std::uint32_t* HWY_RESTRICT counters) {
  using values = heavy_values<K>;
  const hn::ScalableTag<K> d;
  constexpr unsigned lanes = 64 / sizeof(K);
  constexpr std::uint64_t step = 8 * lanes;
  const auto lane = hn::And(hn::Iota(d, 0), hn::Set(d, values::num_lanes - 1));
  const auto no_cell = hn::Iota(d, values::num_cells * values::num_lanes);
  HWY_ALIGN K counted[step];
  const std::uint64_t end = num_keys / lanes * lanes;
  for (std::uint64_t i = 0; i < end;) {
    const std::uint64_t count = std::min(step, end - i);
    for (std::uint64_t j = 0; j < count; j += lanes) {
      const auto x = hn::LoadU(d, keys + i + j);
      const hn::Vec<hn::ScalableTag<K>> cell{cells_of(x.raw, multiplier, values::cell_bits)};
      const auto is_light = hn::Ne(x, hn::Vec<hn::ScalableTag<K>>{gather(cells, cell.raw)});
      _mm512_storeu_si512(light + num_light, compress(K{0}, is_light.raw, x.raw));
      num_light += static_cast<std::uint64_t>(_mm_popcnt_u32(is_light.raw));
      hn::Store(hn::IfThenElse(is_light, no_cell, hn::Add(hn::Add(cell, cell), lane)), d, counted + j);
    }
    for (std::uint64_t j = 0; j < count; ++j) ++counters[counted[j]];
    i += count;
  }
  return end;
}
#else
template <class K>
HWY_INLINE std::uint64_t filter_heavy_vectors(const K*, K, const K*, std::uint64_t, K*, std::uint64_t&,
                                              std::uint32_t*) {
  return 0;
}
#endif

template <class K>
std::uint64_t filter_heavy_of(const heavy_values<K>& heavy, const K* HWY_RESTRICT keys, std::uint64_t num_keys,
                              K* HWY_RESTRICT light, std::uint32_t* HWY_RESTRICT counters) {
  static_assert(heavy_values<K>::num_lanes == 2);
  std::uint64_t num_light = 0;
  const K* const cells = heavy.cells();
  const K multiplier = heavy.multiplier();
  std::uint64_t i = filter_heavy_vectors(cells, multiplier, keys, num_keys, light, num_light, counters);
  for (; i < num_keys; ++i)
    num_light += filter_heavy_key(cells, multiplier, keys[i], i % 2, light + num_light, counters);
  return num_light;
}

#else  // other vectors are too narrow

template <class K>
std::uint64_t filter_heavy_of(const heavy_values<K>&, const K*, std::uint64_t, K*, std::uint32_t*) {
  return 0;
}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

template <class K>
std::uint64_t filter_heavy(const heavy_values<K>& heavy, const K* keys, std::uint64_t num_keys, K* light,
                           std::uint32_t* counters) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(filter_heavy_of<K>);
  return best(heavy, keys, num_keys, light, counters);
}
template std::uint64_t filter_heavy<std::uint32_t>(const heavy_values<std::uint32_t>&, const std::uint32_t*,
                                                   std::uint64_t, std::uint32_t*, std::uint32_t*);
template std::uint64_t filter_heavy<std::uint64_t>(const heavy_values<std::uint64_t>&, const std::uint64_t*,
                                                   std::uint64_t, std::uint64_t*, std::uint32_t*);

}  // namespace spansort::device::host
#endif
