// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/select_pairs.hpp"

#include <bit>
#include <cstddef>

#include "device/host/vector_targets.hpp"

// F(K, its name, V, its name) for all that there are kernels for.
#undef SPANSORT_SELECTED_WIDTHS
#define SPANSORT_SELECTED_WIDTHS(F) \
  F(std::uint32_t, u32, value4, 4)  \
  F(std::uint32_t, u32, value8, 8)  \
  F(std::uint64_t, u64, value4, 4)  \
  F(std::uint64_t, u64, value8, 8)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/select_pairs.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/pair_rows-inl.hpp"
#include "device/host/vector_split-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

/// Each pair is written, and the next one over it where it is none of the wanted ones: no branch has to guess.
template <class K, class V>
std::uint64_t select_one_by_one(const keys::codec_of<K>& codec, split_records<K, V> from, std::uint64_t num_keys,
                                std::uint64_t first, key_interval<K> wanted, split_records<K, V> to,
                                std::uint64_t room) {
  const K range = static_cast<K>(wanted.greatest - wanted.least);
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < num_keys && count <= room; ++i) {
    const K key = from.keys[i];
    to.keys[count] = key;
    if (from.values != nullptr) {
      to.values[count] = from.values[i];
    } else {
      to.values[count].word = static_cast<decltype(to.values[count].word)>(first + i);
    }
    count += static_cast<K>(codec.encode(key) - wanted.least) <= range ? 1 : 0;
  }
  return count;
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

#if HWY_TARGET == HWY_AVX3

/// Eight numbers from `first` on.
HWY_INLINE __m512i eight_positions(std::uint64_t first) {
  return _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(first)), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
}

template <bool are_positions>
HWY_INLINE void put_eight(const value8* values, std::uint64_t position, unsigned mask, value8* to) {
  const __m512i x = are_positions ? eight_positions(position) : _mm512_loadu_si512(values);
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), x));
}

template <bool are_positions>
HWY_INLINE void put_eight(const value4* values, std::uint64_t position, unsigned mask, value4* to) {
  const __m256i x = are_positions ? _mm512_cvtepi64_epi32(eight_positions(position))
                                  : _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_maskz_compress_epi32(static_cast<__mmask8>(mask), x));
}

/// Stores the values beside a vector of keys of the mask together, or their positions. A compression in registers takes
/// two cycles, one to memory hundreds on some machines.
template <class K, bool are_positions, class V>
HWY_INLINE void put_values(const V* values, std::uint64_t position, unsigned mask, V* to) {
  if constexpr (sizeof(K) == 8) {
    put_eight<are_positions>(values, position, mask, to);
  } else if constexpr (sizeof(V) == 4) {
    const __m512i iota = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i x = are_positions ? _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(position)), iota)
                                    : _mm512_loadu_si512(values);
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), x));
  } else {
    put_eight<are_positions>(values, position, mask & 0xFF, to);
    put_eight<are_positions>(values + 8, position + 8, mask >> 8, to + std::popcount(mask & 0xFF));
  }
}

#endif

/// Keys and values of widths that vectors take together.
template <class K, class V>
inline constexpr bool has_select = HWY_TARGET == HWY_AVX3 || sizeof(K) == sizeof(V);

template <class K, class V, bool folds, bool are_positions>
std::uint64_t select_vectors(const keys::codec_of<K>& c, split_records<K, V> from, std::uint64_t num_keys,
                             std::uint64_t first, key_interval<K> wanted, split_records<K, V> to, std::uint64_t room) {
  using D = full_tag<K>;
  using T = lane_type<K>;
  const D d;
  constexpr std::uint64_t lanes = lanes_of<K>();
  static_assert(lanes <= spare_selected_pairs);
  const row_codec<K, folds, D> codec(c);
  const auto least = hn::Set(d, static_cast<T>(to_lane_bits(wanted.least)));
  const auto greatest = hn::Set(d, static_cast<T>(to_lane_bits(wanted.greatest)));
  std::uint64_t count = 0;
  std::uint64_t i = 0;
  for (; i + lanes <= num_keys && count <= room; i += lanes) {
    const auto keys = hn::LoadU(d, reinterpret_cast<const T*>(from.keys + i));
    const auto encoded = codec.encode(keys);
    const auto others = hn::Or(hn::Lt(encoded, least), hn::Gt(encoded, greatest));
    const auto is_wanted = hn::Not(others);
    const std::uint64_t added = store_lanes_of(d, keys, is_wanted, reinterpret_cast<T*>(to.keys + count));
#if HWY_TARGET == HWY_AVX3
    put_values<K, are_positions>(from.values + i, first + i, is_wanted.raw, to.values + count);
#else
    auto values = hn::Iota(d, static_cast<T>(first + i));
    if constexpr (!are_positions) values = hn::LoadU(d, reinterpret_cast<const T*>(from.values + i));
    static_cast<void>(store_lanes_of(d, values, is_wanted, reinterpret_cast<T*>(to.values + count)));
#endif
    count += added;
  }
  if (count > room) return count;
  split_records<K, V> rest = from;
  rest.keys += i;
  if constexpr (!are_positions) rest.values += i;
  return count + select_one_by_one(c, rest, num_keys - i, first + i, wanted, to + count, room - count);
}

template <class K, class V>
std::uint64_t select_pairs_of(const keys::codec_of<K>& codec, split_records<K, V> from, std::uint64_t num_keys,
                              std::uint64_t first, key_interval<K> wanted, split_records<K, V> to, std::uint64_t room) {
  if constexpr (has_select<K, V>) {
    const bool are_positions = from.values == nullptr;
    const auto select = codec.folds_ties
                            ? (are_positions ? select_vectors<K, V, true, true> : select_vectors<K, V, true, false>)
                            : (are_positions ? select_vectors<K, V, false, true> : select_vectors<K, V, false, false>);
    return select(codec, from, num_keys, first, wanted, to, room);
  }
  return select_one_by_one(codec, from, num_keys, first, wanted, to, room);
}

#else

template <class K, class V>
std::uint64_t select_pairs_of(const keys::codec_of<K>& codec, split_records<K, V> from, std::uint64_t num_keys,
                              std::uint64_t first, key_interval<K> wanted, split_records<K, V> to, std::uint64_t room) {
  return select_one_by_one(codec, from, num_keys, first, wanted, to, room);
}

#endif

// A choice at run time is one between plain functions.
#define SPANSORT_SELECT(K, KEY, V, VALUE)                                                                  \
  std::uint64_t select_pairs_##KEY##_##VALUE(const keys::codec_of<K>& codec, split_records<K, V> from,     \
                                             std::uint64_t n, std::uint64_t first, key_interval<K> wanted, \
                                             split_records<K, V> to, std::uint64_t room) {                 \
    return select_pairs_of(codec, from, n, first, wanted, to, room);                                       \
  }
SPANSORT_SELECTED_WIDTHS(SPANSORT_SELECT)
#undef SPANSORT_SELECT

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

#define SPANSORT_SELECT(K, KEY, V, VALUE)                                                                     \
  template <>                                                                                                 \
  std::uint64_t select_pairs<K, V>(const keys::codec_of<K>& codec, split_records<K, V> from, std::uint64_t n, \
                                   std::uint64_t first, key_interval<K> wanted, split_records<K, V> to,       \
                                   std::uint64_t room) {                                                      \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(select_pairs_##KEY##_##VALUE);                          \
    return best(codec, from, n, first, wanted, to, room);                                                     \
  }
SPANSORT_SELECTED_WIDTHS(SPANSORT_SELECT)
#undef SPANSORT_SELECT

}  // namespace spansort::device::host
#endif
