// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include <algorithm>
#include <cstddef>

#include "device/host/count_few.hpp"
#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/set_aside.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/vector_quicksort-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// Stores the lanes of the mask together, and whatever behind them. Returns how many they are.
template <class D, class V>
HWY_INLINE std::uint64_t store_lanes_of(D d, V x, hn::Mask<D> mask, hn::TFromD<D>* to) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(*to) == 4) {
    hn::StoreU(V{_mm512_maskz_compress_epi32(mask.raw, x.raw)}, d, to);
  } else {
    hn::StoreU(V{_mm512_maskz_compress_epi64(mask.raw, x.raw)}, d, to);
  }
  return hn::CountTrue(d, mask);
#else
  std::uint64_t count = 0;
  hn::StoreU(lower_first(d, x, mask, count), d, to);
  return count;
#endif
}

/// Whole vectors, as few as the counters of lanes take.
template <unsigned num_values, class K>
std::uint64_t filter_vectors(const lane_type<K>* keys, std::uint64_t num_vectors, const K* values,
                             std::uint64_t* counts, lane_type<K>* others) {
  using T = lane_type<K>;
  const full_tag<K> d;
  constexpr std::uint64_t lanes = lanes_of<K>();
  using V = hn::Vec<full_tag<K>>;
  V wanted[num_values];
  V found[num_values];
  for (unsigned v = 0; v < num_values; ++v) {
    wanted[v] = hn::Set(d, static_cast<T>(values[v]));
    found[v] = hn::Zero(d);
  }
  const V one = hn::Set(d, T{1});
  std::uint64_t num_others = 0;
  for (std::uint64_t i = 0; i < num_vectors; ++i) {
    const V x = hn::LoadU(d, keys + i * lanes);
    auto known = hn::Eq(x, wanted[0]);
    found[0] = hn::IfThenElse(known, hn::Add(found[0], one), found[0]);
    for (unsigned v = 1; v < num_values; ++v) {
      const auto equal = hn::Eq(x, wanted[v]);
      found[v] = hn::IfThenElse(equal, hn::Add(found[v], one), found[v]);
      known = hn::Or(known, equal);
    }
    num_others += store_lanes_of(d, x, hn::Not(known), others + num_others);
  }
  for (unsigned v = 0; v < num_values; ++v) {
    HWY_ALIGN T of_lane[lanes];
    hn::Store(found[v], d, of_lane);
    for (std::uint64_t lane = 0; lane < lanes; ++lane) counts[v] += static_cast<std::uint64_t>(of_lane[lane]);
  }
  return num_others;
}

/// The first two values hold most of the keys, so that few of these are compared with the other values.
template <class K>
std::uint64_t set_others_aside_as(const K* keys, std::uint64_t num_keys, std::span<const K> values,
                                  std::uint64_t* counts, K* others) {
  using T = lane_type<K>;
  constexpr unsigned num_first = 2;
  constexpr std::uint64_t lanes = lanes_of<K>();
  constexpr std::uint64_t tile_vectors = 8192 / sizeof(K) / lanes;  // stays in the first-level cache
  K padded[most_heavy_values];
  std::uint64_t found[most_heavy_values] = {};
  std::fill(std::copy(values.begin(), values.end(), padded), padded + most_heavy_values, values[0]);
  const auto* const from = reinterpret_cast<const T*>(keys);
  auto* const to = reinterpret_cast<T*>(others);
  std::uint64_t begin = 0;
  std::uint64_t num_others = 0;
  std::uint64_t num_pending = 0;  // keys behind the others, other than the first values
  while (begin + lanes <= num_keys) {
    const std::uint64_t num_vectors = std::min(tile_vectors, (num_keys - begin) / lanes);
    num_pending +=
        filter_vectors<num_first, K>(from + begin, num_vectors, padded, found, to + num_others + num_pending);
    begin += num_vectors * lanes;
    const T* const pending = to + num_others;
    const std::uint64_t num_whole = values.size() <= num_first ? 0 : num_pending / lanes;
    num_others += values.size() <= num_first
                      ? num_pending
                      : filter_vectors<most_heavy_values - num_first, K>(pending, num_whole, padded + num_first,
                                                                         found + num_first, to + num_others);
    num_pending = values.size() <= num_first ? 0 : num_pending % lanes;
    const full_tag<K> d;
    if (num_pending != 0) hn::StoreU(hn::LoadU(d, pending + num_whole * lanes), d, to + num_others);
  }
  const auto look_at = [&](K key) {
    const auto at = static_cast<std::size_t>(std::find(values.begin(), values.end(), key) - values.begin());
    if (at == values.size()) {
      others[num_others++] = key;
    } else {
      ++found[at];
    }
  };
  K pending[lanes];
  std::copy_n(others + num_others, num_pending, pending);
  for (std::uint64_t i = 0; i < num_pending; ++i) look_at(pending[i]);
  for (; begin < num_keys; ++begin) look_at(keys[begin]);
  for (std::size_t v = 0; v < values.size(); ++v) counts[v] += found[v];
  return num_others;
}

#else  // other vectors are too narrow

template <class K>
std::uint64_t set_others_aside_as(const K*, std::uint64_t, std::span<const K>, std::uint64_t*, K*) {
  return 0;
}

#endif

// A choice at run time is one between plain functions.
std::uint64_t set_others_aside_u32(const std::uint32_t* keys, std::uint64_t n, std::span<const std::uint32_t> values,
                                   std::uint64_t* counts, std::uint32_t* others) {
  return set_others_aside_as(keys, n, values, counts, others);
}
std::uint64_t set_others_aside_u64(const std::uint64_t* keys, std::uint64_t n, std::span<const std::uint64_t> values,
                                   std::uint64_t* counts, std::uint64_t* others) {
  return set_others_aside_as(keys, n, values, counts, others);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

template <>
std::uint64_t set_others_aside<std::uint32_t>(const std::uint32_t* keys, std::uint64_t n,
                                              std::span<const std::uint32_t> values, std::uint64_t* counts,
                                              std::uint32_t* others) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(set_others_aside_u32);
  return best(keys, n, values, counts, others);
}
template <>
std::uint64_t set_others_aside<std::uint64_t>(const std::uint64_t* keys, std::uint64_t n,
                                              std::span<const std::uint64_t> values, std::uint64_t* counts,
                                              std::uint64_t* others) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(set_others_aside_u64);
  return best(keys, n, values, counts, others);
}

}  // namespace spansort::device::host
#endif
