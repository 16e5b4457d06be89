// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/narrow_sort.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

#include "device/host/network_sort.hpp"
#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/narrow_sort.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/narrow_quicksort-inl.hpp"
#include "device/host/smallest_network-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using codec_of_16 = keys::codec_of<std::uint16_t>;
using codec_of_8 = keys::codec_of<std::uint8_t>;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

template <bool identity, bool compresses>
void sort_16_as(const codec_of_16& codec, std::uint16_t* keys, std::uint64_t num_keys, std::uint16_t* first,
                std::uint16_t* second) {
  const finisher<std::uint16_t, identity> finish(codec, keys + num_keys);
  if (num_keys <= network_size<std::uint16_t>()) return finish.sort_raw(keys, num_keys, keys);
  const auto [least, greatest] = encode_all<std::uint16_t, identity>(codec, keys, num_keys, first);
  const bool is_even = narrow_sample(first, num_keys).lies_evenly(least, greatest);
  const unsigned most_depth = 2 * static_cast<unsigned>(std::bit_width(num_keys));
  narrow_quicksorter<identity, compresses>(finish).sort(first, second, keys, {num_keys, least, greatest}, is_even,
                                                        most_depth);
}

template <bool compresses>
void sort_16(const codec_of_16& codec, std::uint16_t* keys, std::uint64_t num_keys, std::uint16_t* first,
             std::uint16_t* second) {
  if (num_keys == 0) return;
  if (codec.is_identity()) return sort_16_as<true, compresses>(codec, keys, num_keys, first, second);
  sort_16_as<false, compresses>(codec, keys, num_keys, first, second);
}

/// Returns the first of two functions where this processor compresses lanes of 16 bits.
template <class Function>
auto choose_16([[maybe_unused]] Function for_compresses, Function other) {
#if HWY_TARGET == HWY_AVX3
  if (__builtin_cpu_supports("avx512vbmi2")) return for_compresses;
#endif
  return other;
}
// AVX2 has no such lanes.
inline constexpr bool may_compress = HWY_TARGET == HWY_AVX3;

auto choose_sort_16() { return choose_16(&sort_16<may_compress>, &sort_16<false>); }

/// Stores the lanes of `x` whose bits are set together, and whatever behind them. Returns how many they are.
template <bool compresses>
HWY_INLINE std::uint64_t store_marked(narrow_vector x, unsigned marks, std::uint16_t* to) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (compresses) {
    hn::StoreU(narrow_vector{compress_16(x.raw, marks)}, narrow_tag(), to);
    return static_cast<std::uint64_t>(std::popcount(marks));
  }
#endif
  HWY_ALIGN std::uint16_t lanes[hn::MaxLanes(narrow_tag())];
  hn::Store(x, narrow_tag(), lanes);
  std::uint64_t count = 0;
  for (unsigned block = 0; block < hn::MaxLanes(narrow_tag()); block += 8) {
    const unsigned bits = marks >> block & 0xFF;
    const __m128i order = _mm_load_si128(reinterpret_cast<const __m128i*>(lane_orders.of_8_pairs[bits]));
    const __m128i keys = _mm_load_si128(reinterpret_cast<const __m128i*>(lanes + block));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + count), _mm_shuffle_epi8(keys, order));
    count += static_cast<std::uint64_t>(std::popcount(bits));
  }
  return count;
}

/// Returns which lanes are at most as great as those of `most`, a bit each.
HWY_INLINE unsigned marks_of_at_most(narrow_vector x, narrow_vector most) {
#if HWY_TARGET == HWY_AVX3
  return _mm512_cmple_epu16_mask(x.raw, most.raw);
#else
  const __m256i is_at_most = _mm256_cmpeq_epi16(_mm256_min_epu16(x.raw, most.raw), x.raw);
  const __m128i packed = _mm_packs_epi16(_mm256_castsi256_si128(is_at_most), _mm256_extracti128_si256(is_at_most, 1));
  return static_cast<unsigned>(_mm_movemask_epi8(packed));
#endif
}

template <bool identity, bool compresses>
std::uint64_t select_16_as(const codec_of_16& codec, const std::uint16_t* keys, std::uint64_t num_keys,
                           narrow_range range, std::uint16_t* to, std::uint64_t room) {
  const narrow_tag d;
  constexpr std::uint64_t lanes = hn::MaxLanes(narrow_tag());
  const lane_codec<std::uint16_t, identity, narrow_tag> lane(d, codec);
  const auto width = static_cast<std::uint16_t>(range.greatest - range.least);
  const narrow_vector least = hn::Set(d, range.least);
  const narrow_vector most = hn::Set(d, width);
  std::uint64_t count = 0;
  std::uint64_t i = 0;
  for (; i + lanes <= num_keys && count <= room; i += lanes) {
    const narrow_vector x = hn::LoadU(d, keys + i);
    count += store_marked<compresses>(x, marks_of_at_most(hn::Sub(lane.encode(x), least), most), to + count);
  }
  for (; i < num_keys && count <= room; ++i) {
    to[count] = keys[i];
    const std::uint16_t encoded = identity ? keys[i] : codec.encode_bits(keys[i]);
    count += static_cast<std::uint16_t>(encoded - range.least) <= width ? 1 : 0;
  }
  return count;
}

template <bool compresses>
std::uint64_t select_16(const codec_of_16& codec, const std::uint16_t* keys, std::uint64_t num_keys, narrow_range range,
                        std::uint16_t* to, std::uint64_t room) {
  if (codec.is_identity()) return select_16_as<true, compresses>(codec, keys, num_keys, range, to, room);
  return select_16_as<false, compresses>(codec, keys, num_keys, range, to, room);
}

auto choose_select_16() { return choose_16(&select_16<may_compress>, &select_16<false>); }

using half_tag = hn::Rebind<std::uint8_t, full_tag<std::uint16_t>>;
using half_vector = hn::Vec<half_tag>;

/// Loads `count` keys of 8 bits, fewer than a vector of 16 has lanes, and anything into the other lanes.
HWY_INLINE half_vector load_first(const std::uint8_t* from, std::uint64_t count) {
#if HWY_TARGET == HWY_AVX3
  return half_vector{_mm256_maskz_loadu_epi8(~(~0U << count), from)};
#else
  HWY_ALIGN std::uint8_t copied[hn::MaxLanes(half_tag())] = {};
  std::memcpy(copied, from, count);
  return hn::Load(half_tag(), copied);
#endif
}

/// Stores as many.
HWY_INLINE void store_first(half_vector x, std::uint8_t* to, std::uint64_t count) {
#if HWY_TARGET == HWY_AVX3
  _mm256_mask_storeu_epi8(to, ~(~0U << count), x.raw);
#else
  HWY_ALIGN std::uint8_t all[hn::MaxLanes(half_tag())];
  hn::Store(x, half_tag(), all);
  std::memcpy(to, all, count);
#endif
}

/// Keys of 8 bits in the order of their encodings, widened by zeros, are sorted as they are by vectors of 16.
void sort_8(const void* any_codec, void* any_keys, std::uint64_t num_keys) {
  const auto& codec = *static_cast<const codec_of_8*>(any_codec);
  auto* const keys = static_cast<std::uint8_t*>(any_keys);
  constexpr std::uint64_t most = network_size<std::uint16_t>();
  HWY_ALIGN std::uint16_t wide[most];
  const full_tag<std::uint16_t> d;
  const half_tag half;
  constexpr std::uint64_t lanes = lanes_of<std::uint16_t>();
  const lane_codec<std::uint8_t, false, half_tag> lane(half, codec);
  const auto widen = [&](half_vector x, std::uint64_t at)
                         HWY_ATTR { hn::Store(hn::PromoteTo(d, lane.encode(x)), d, wide + at); };
  const auto narrowed = [&](std::uint64_t at) HWY_ATTR {
    const hn::RebindToSigned<full_tag<std::uint16_t>> di;
    return lane.decode(hn::DemoteTo(half, hn::BitCast(di, hn::Load(d, wide + at))));
  };
  hn::Store(hn::Zero(d), d, wide);  // for compilers, which do not know that there are keys
  const std::uint64_t num_whole = num_keys / lanes * lanes;
  for (std::uint64_t i = 0; i < num_whole; i += lanes) widen(hn::LoadU(half, keys + i), i);
  if (num_whole != num_keys) widen(load_first(keys + num_whole, num_keys - num_whole), num_whole);
  finisher<std::uint16_t, true>(codec_of_16{}, wide + most).sort(wide, num_keys, wide, 0, 0);
  for (std::uint64_t i = 0; i < num_whole; i += lanes) hn::StoreU(narrowed(i), half, keys + i);
  if (num_whole != num_keys) store_first(narrowed(num_whole), keys + num_whole, num_keys - num_whole);
}

network_sort network_sort_8(bool) { return {network_size<std::uint16_t>(), &sort_8}; }

template <bool identity>
network_sort network_sort_16_as() {
  using K = std::uint16_t;
  return {network_size<K>(),
          choose_16(&sort_by_network<K, identity, may_compress>, &sort_by_network<K, identity, false>)};
}
network_sort network_sort_16(bool is_identity) {
  return is_identity ? network_sort_16_as<true>() : network_sort_16_as<false>();
}

#else  // other vectors are too narrow

void sort_16(const codec_of_16&, std::uint16_t*, std::uint64_t, std::uint16_t*, std::uint16_t*) {}
auto choose_sort_16() { return &sort_16; }
std::uint64_t select_16(const codec_of_16&, const std::uint16_t*, std::uint64_t, narrow_range, std::uint16_t*,
                        std::uint64_t room) {
  return room + 1;
}
auto choose_select_16() { return &select_16; }
network_sort network_sort_8(bool) { return {}; }
network_sort network_sort_16(bool) { return {}; }

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

void narrow_sort(const keys::codec_of<std::uint16_t>& codec, std::uint16_t* keys, std::uint64_t num_keys,
                 std::uint16_t* first, std::uint16_t* second) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(choose_sort_16)();
  best(codec, keys, num_keys, first, second);
}

std::uint64_t narrow_select(const keys::codec_of<std::uint16_t>& codec, const std::uint16_t* keys,
                            std::uint64_t num_keys, narrow_range range, std::uint16_t* to, std::uint64_t room) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(choose_select_16)();
  return best(codec, keys, num_keys, range, to, room);
}

template <>
network_sort find_network_sort<std::uint8_t>(bool is_identity) {
  return SPANSORT_CHOOSE_FUNCTION(network_sort_8)(is_identity);
}
template <>
network_sort find_network_sort<std::uint16_t>(bool is_identity) {
  return SPANSORT_CHOOSE_FUNCTION(network_sort_16)(is_identity);
}

}  // namespace spansort::device::host
#endif
