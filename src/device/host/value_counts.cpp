// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/value_counts.hpp"

#include <cstddef>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/value_counts.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
// Intrinsics by width, which Highway does not offer for both.
HWY_INLINE __m512i cells_of(const cell_rule<std::uint32_t>& rule, std::uint32_t multiplier, __m512i x) {
  const __m512i product = _mm512_mullo_epi32(x, _mm512_set1_epi32(static_cast<int>(multiplier)));
  return _mm512_and_si512(_mm512_srli_epi32(product, rule.shift),
                          _mm512_set1_epi32(static_cast<int>(rule.num_cells() - 1)));
}
HWY_INLINE __m512i cells_of(const cell_rule<std::uint64_t>& rule, std::uint64_t multiplier, __m512i x) {
  const __m512i product = _mm512_mullo_epi64(x, _mm512_set1_epi64(static_cast<long long>(multiplier)));
  return _mm512_and_si512(_mm512_srli_epi64(product, rule.shift),
                          _mm512_set1_epi64(static_cast<long long>(rule.num_cells() - 1)));
}
HWY_INLINE __m512i gather(const std::uint32_t* from, __m512i index) { return _mm512_i32gather_epi32(index, from, 4); }
HWY_INLINE __m512i gather(const std::uint64_t* from, __m512i index) { return _mm512_i64gather_epi64(index, from, 8); }
HWY_INLINE __m512i compress(std::uint32_t, unsigned mask, __m512i x) {
  return _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), x);
}
HWY_INLINE __m512i compress(std::uint64_t, unsigned mask, __m512i x) {
  return _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), x);
}

HWY_INLINE void store_cells(std::uint32_t, __m512i cells, std::uint16_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(cells));
}
HWY_INLINE void store_cells(std::uint64_t, __m512i cells, std::uint16_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi64_epi16(cells));
}

/// Takes whole vectors; returns how many keys that were.
template <class K>
HWY_INLINE std::uint64_t find_cells_of_vectors(const cell_rule<K>& rule, K multiplier, const K* HWY_RESTRICT table,
                                               const K* HWY_RESTRICT keys, std::uint64_t num_keys,
                                               std::uint16_t* HWY_RESTRICT cells, K* HWY_RESTRICT others,
                                               std::uint64_t& num_others) {
  const hn::ScalableTag<K> d;
  constexpr unsigned lanes = 64 / sizeof(K);
  std::uint64_t i = 0;
  for (; i + lanes <= num_keys; i += lanes) {
    const auto x = hn::LoadU(d, keys + i);
    const __m512i cell = cells_of(rule, multiplier, x.raw);
    const auto is_other = hn::Ne(x, hn::Vec<hn::ScalableTag<K>>{gather(table, cell)});
    _mm512_storeu_si512(others + num_others, compress(K{0}, is_other.raw, x.raw));
    num_others += static_cast<std::uint64_t>(_mm_popcnt_u32(is_other.raw));
    store_cells(K{0}, cell, cells + i);
  }
  return i;
}
#else
template <class K>
HWY_INLINE std::uint64_t find_cells_of_vectors(const cell_rule<K>&, K, const K*, const K*, std::uint64_t,
                                               std::uint16_t*, K*, std::uint64_t&) {
  return 0;
}
#endif

template <class K>
std::uint64_t find_cells_of(const cell_rule<K>& rule_of_keys, K multiplier, const K* HWY_RESTRICT table,
                            const K* HWY_RESTRICT keys, std::uint64_t num_keys, std::uint16_t* HWY_RESTRICT cells,
                            K* HWY_RESTRICT others) {
  const cell_rule<K> rule = rule_of_keys;  // fields of a reference are read again behind every store
  std::uint64_t num_others = 0;
  for (std::uint64_t i = find_cells_of_vectors(rule, multiplier, table, keys, num_keys, cells, others, num_others);
       i < num_keys; ++i) {
    const K key = keys[i];
    const std::size_t cell = rule.of(key, multiplier);
    cells[i] = static_cast<std::uint16_t>(cell);
    others[num_others] = key;
    num_others += table[cell] != key ? 1 : 0;
  }
  return num_others;
}

template <class K>
void write_runs_of(std::span<const K> values, std::span<const std::uint64_t> ends, K* keys, std::uint64_t begin,
                   std::uint64_t end) {
  const hn::ScalableTag<K> d;
  const std::uint64_t lanes = hn::Lanes(d);
  auto v = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
  for (std::uint64_t at = begin; at < end; ++v) {
    const std::uint64_t run_end = std::min(ends[v], end);
    const auto key = hn::Set(d, values[v]);
    // What vectors write beyond a run belongs to those behind it.
    for (; at < run_end && at + lanes <= end; at += lanes) hn::StoreU(key, d, keys + at);
    for (; at < run_end; ++at) keys[at] = values[v];
    at = run_end;
  }
}

// A choice at run time is one between plain functions.
#define SPANSORT_VALUE_COUNTS(K, SUFFIX)                                                                   \
  std::uint64_t find_cells_##SUFFIX(const cell_rule<K>& rule, K multiplier, const K* table, const K* keys, \
                                    std::uint64_t n, std::uint16_t* cells, K* others) {                    \
    return find_cells_of(rule, multiplier, table, keys, n, cells, others);                                 \
  }                                                                                                        \
  void write_runs_##SUFFIX(std::span<const K> values, std::span<const std::uint64_t> ends, K* keys,        \
                           std::uint64_t begin, std::uint64_t end) {                                       \
    write_runs_of(values, ends, keys, begin, end);                                                         \
  }
SPANSORT_VALUE_COUNTS(std::uint32_t, u32)
SPANSORT_VALUE_COUNTS(std::uint64_t, u64)
#undef SPANSORT_VALUE_COUNTS

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

#define SPANSORT_DISPATCH(K, SUFFIX)                                                                                  \
  template <>                                                                                                         \
  std::uint64_t find_cells<K>(const cell_rule<K>& rule, K multiplier, const K* table, const K* keys, std::uint64_t n, \
                              std::uint16_t* cells, K* others) {                                                      \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(find_cells_##SUFFIX);                                           \
    return best(rule, multiplier, table, keys, n, cells, others);                                                     \
  }                                                                                                                   \
  template <>                                                                                                         \
  void write_runs<K>(std::span<const K> values, std::span<const std::uint64_t> ends, K * keys, std::uint64_t begin,   \
                     std::uint64_t end) {                                                                             \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(write_runs_##SUFFIX);                                           \
    best(values, ends, keys, begin, end);                                                                             \
  }
SPANSORT_DISPATCH(std::uint32_t, u32)
SPANSORT_DISPATCH(std::uint64_t, u64)
#undef SPANSORT_DISPATCH

}  // namespace spansort::device::host
#endif
