// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "device/host/count_few.hpp"
#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/gather_others.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/vector_split-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// Counts `values`, but for the first where that is not wanted, in whole vectors, as few as the counters of lanes take,
/// and stores the other keys together. Returns how many these are.
template <unsigned num_values, bool counts_first, class K>
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
    if constexpr (counts_first) found[0] = hn::IfThenElse(known, hn::Add(found[0], one), found[0]);
    for (unsigned v = 1; v < num_values; ++v) {
      const auto equal = hn::Eq(x, wanted[v]);
      found[v] = hn::IfThenElse(equal, hn::Add(found[v], one), found[v]);
      known = hn::Or(known, equal);
    }
    num_others += store_lanes_of(d, x, hn::Not(known), others + num_others);
  }
  for (unsigned v = counts_first ? 0 : 1; v < num_values; ++v) {
    counts[v] += static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(d, found[v])));
  }
  return num_others;
}

/// Puts keys that are none of the values into `others`, which has room for two vectors more than there are keys.
/// Returns how many these are. The first value is not counted. The first two values hold most of the keys, so that few
/// of these are compared with the other values.
template <class K>
std::uint64_t filter_tile(const lane_type<K>* keys, std::uint64_t num_keys, std::span<const K> values, const K* padded,
                          std::uint64_t* counts, lane_type<K>* pending, lane_type<K>* others) {
  using T = lane_type<K>;
  constexpr unsigned num_first = 2;
  constexpr std::uint64_t lanes = lanes_of<K>();
  const bool are_two = values.size() <= num_first;
  const std::uint64_t num_vectors = num_keys / lanes;
  std::uint64_t num_others =
      filter_vectors<num_first, false>(keys, num_vectors, padded, counts, are_two ? others : pending);
  if (!are_two) {
    const std::uint64_t num_pending = num_others;
    const std::uint64_t num_padded = (num_pending + lanes - 1) / lanes * lanes;
    const full_tag<K> d;
    hn::StoreU(hn::Set(d, static_cast<T>(padded[num_first])), d, pending + num_pending);
    num_others = filter_vectors<most_heavy_values - num_first, true>(pending, num_padded / lanes, padded + num_first,
                                                                     counts + num_first, others);
    counts[num_first] -= num_padded - num_pending;
  }
  for (std::uint64_t i = num_vectors * lanes; i < num_keys; ++i) {
    const auto at =
        static_cast<std::size_t>(std::find(values.begin(), values.end(), static_cast<K>(keys[i])) - values.begin());
    if (at == values.size()) {
      others[num_others++] = keys[i];
    } else {
      ++counts[at];
    }
  }
  return num_others;
}

/// The last tile comes first, so that others take the place of keys that have been read.
template <class K>
std::uint64_t gather_others_as(K* keys, std::uint64_t num_keys, std::span<const K> values, std::uint64_t* counts) {
  using T = lane_type<K>;
  const full_tag<K> d;
  constexpr std::uint64_t lanes = lanes_of<K>();
  constexpr std::uint64_t line_keys = 64 / sizeof(K);
  constexpr std::uint64_t tile_keys = 8192 / sizeof(K);  // stays in the first-level cache
  K padded[most_heavy_values];
  std::uint64_t found[most_heavy_values] = {};
  std::fill(std::copy(values.begin(), values.end(), padded), padded + most_heavy_values, values[0]);
  const auto first_value = hn::Set(d, static_cast<T>(values[0]));
  HWY_ALIGN T pending[tile_keys + 2 * lanes];
  HWY_ALIGN T others[tile_keys + 2 * lanes];
  T* const all = reinterpret_cast<T*>(keys);
  std::uint64_t others_begin = num_keys;
  std::uint64_t begin = 0;
  for (std::uint64_t end = num_keys; end != 0; end = begin) {
    // Vectors of a tile that begins with a line do not lie across two.
    const std::uint64_t first_begin = end - std::min(end, tile_keys);
    const std::uint64_t in_line = reinterpret_cast<std::uintptr_t>(keys + first_begin) / sizeof(K) % line_keys;
    begin = first_begin == 0 ? 0 : first_begin + (line_keys - in_line) % line_keys;
    const std::uint64_t num_others = filter_tile<K>(all + begin, end - begin, values, padded, found, pending, others);
    others_begin -= num_others;
    std::memcpy(all + others_begin, others, num_others * sizeof(K));
    const std::uint64_t fill_end = std::min(end, others_begin);
    std::uint64_t i = begin;
    for (; i + lanes <= fill_end; i += lanes) hn::StoreU(first_value, d, all + i);
    for (; i < fill_end; ++i) keys[i] = values[0];
  }
  found[0] = others_begin;
  for (std::size_t v = 1; v < values.size(); ++v) found[0] -= found[v];
  for (std::size_t v = 0; v < values.size(); ++v) counts[v] += found[v];
  return num_keys - others_begin;
}

#else  // other vectors are too narrow

template <class K>
std::uint64_t gather_others_as(K*, std::uint64_t, std::span<const K>, std::uint64_t*) {
  return 0;
}

#endif

// A choice at run time is one between plain functions.
std::uint64_t gather_others_u32(std::uint32_t* keys, std::uint64_t n, std::span<const std::uint32_t> values,
                                std::uint64_t* counts) {
  return gather_others_as(keys, n, values, counts);
}
std::uint64_t gather_others_u64(std::uint64_t* keys, std::uint64_t n, std::span<const std::uint64_t> values,
                                std::uint64_t* counts) {
  return gather_others_as(keys, n, values, counts);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

template <>
std::uint64_t gather_others<std::uint32_t>(std::uint32_t* keys, std::uint64_t n, std::span<const std::uint32_t> values,
                                           std::uint64_t* counts) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(gather_others_u32);
  return best(keys, n, values, counts);
}
template <>
std::uint64_t gather_others<std::uint64_t>(std::uint64_t* keys, std::uint64_t n, std::span<const std::uint64_t> values,
                                           std::uint64_t* counts) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(gather_others_u64);
  return best(keys, n, values, counts);
}

}  // namespace spansort::device::host
#endif
