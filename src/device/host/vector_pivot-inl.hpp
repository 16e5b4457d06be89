// SPDX-License-Identifier: Apache-2.0
// The key by which a quicksort splits a part: near the middle of a sample, and one that repeats where there is any, for
// the keys that equal it are in their place after the split. This header is included once for each of Highway's
// targets.
#if defined(SPANSORT_VECTOR_PIVOT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_PIVOT_INL
#undef SPANSORT_VECTOR_PIVOT_INL
#else
#define SPANSORT_VECTOR_PIVOT_INL
#endif

#include <algorithm>
#include <cstdint>

#include "device/host/vector_lanes-inl.hpp"
#include "device/host/vector_network-inl.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

inline constexpr std::uint64_t num_pivot_samples = 64;
/// A split in three orders each vector twice on AVX2, which takes as long as is saved.
inline constexpr bool splits_three_ways = HWY_TARGET == HWY_AVX3;

template <class K>
struct sampled_pivot {
  lane_type<K> key = 0;
  bool repeats = false;  ///< it may be many keys, which a split in three sets apart
};

/// Sorts the lanes of one vector.
template <unsigned width, class D, class V>
HWY_INLINE V sort_vector(D d, V x) {
  if constexpr (width > hn::MaxLanes(D())) {
    return x;
  } else {
    const V merged = finish_row<width / 4>(d, sort_lanes<width / 2>(d, x, reverse_lanes<width>(d, x)));
    return sort_vector<width * 2>(d, merged);
  }
}

template <class V>
HWY_INLINE V median_of_three(V a, V b, V c) {
  return hn::Max(hn::Min(a, b), hn::Min(hn::Max(a, b), c));
}

/// Returns the median of the lanes' medians: of three keys at the begin, the middle and the end of a small part, of
/// nine spread over a large one. `num_keys` is a vector's and more.
template <class K>
sampled_pivot<K> median_of_lanes(const lane_type<K>* keys, std::uint64_t num_keys) {
  const full_tag<K> d;
  constexpr std::uint64_t lanes = lanes_of<K>();
  constexpr std::uint64_t large = 4096;
  const auto of_three = [&](std::uint64_t begin, std::uint64_t stride) HWY_ATTR {
    return median_of_three(hn::LoadU(d, keys + begin), hn::LoadU(d, keys + begin + stride),
                           hn::LoadU(d, keys + begin + 2 * stride));
  };
  auto medians = of_three(0, (num_keys - lanes) / 2);
  if (num_keys >= large) {
    const std::uint64_t stride = (num_keys - lanes) / 9;
    medians = median_of_three(of_three(stride, stride), of_three(4 * stride, stride), of_three(7 * stride, stride));
  }
  HWY_ALIGN lane_type<K> sorted[lanes];
  hn::Store(sort_vector<2>(d, medians), d, sorted);
  constexpr std::uint64_t near = std::max<std::uint64_t>(1, lanes / 8);
  return {sorted[lanes / 2],
          splits_three_ways && sorted[lanes / 2 - near] == sorted[std::min(lanes / 2 + near, lanes - 1)]};
}

/// Copies samples of at least as many keys.
template <class T>
void take_pivot_samples(const T* keys, std::uint64_t num_keys, T* samples) {
  const std::uint64_t stride = num_keys / num_pivot_samples;
  const std::uint64_t spread = std::min<std::uint64_t>(stride, 16);  // keys may have a period
  for (std::uint64_t s = 0; s < num_pivot_samples; ++s) samples[s] = keys[s * stride + s * 13 % spread];
}

/// Returns the key of which most samples are alike, two at least, among those that reach into the middle half of the
/// samples' order, or else the median. The samples are aligned; they are sorted here.
template <class K>
sampled_pivot<K> heaviest_or_median(lane_type<K>* samples) {
  const full_tag<K> d;
  constexpr std::uint64_t lanes = lanes_of<K>();
  hn::Vec<full_tag<K>> v[num_pivot_samples / lanes];
  for (std::uint64_t r = 0; r < num_pivot_samples / lanes; ++r) v[r] = hn::Load(d, samples + r * lanes);
  sort_network(d, v);
  for (std::uint64_t r = 0; r < num_pivot_samples / lanes; ++r) hn::Store(v[r], d, samples + r * lanes);
  sampled_pivot<K> chosen{samples[num_pivot_samples / 2]};
  if (!splits_three_ways) return chosen;
  std::uint64_t most = 1;
  for (std::uint64_t s = num_pivot_samples / 4; s < 3 * num_pivot_samples / 4;) {
    std::uint64_t run_end = s + 1;
    while (run_end < num_pivot_samples && samples[run_end] == samples[s]) ++run_end;
    if (run_end - s > most) {
      most = run_end - s;
      chosen = {samples[s], true};
    }
    s = run_end;
  }
  return chosen;
}

/// Returns the key by which to split `num_keys` keys, more than a network takes.
template <class K>
sampled_pivot<K> sample_pivot(const lane_type<K>* keys, std::uint64_t num_keys) {
  constexpr std::uint64_t worth_more_samples = std::uint64_t{1} << 13;
  if (num_keys >= worth_more_samples) {
    HWY_ALIGN lane_type<K> samples[num_pivot_samples];
    take_pivot_samples(keys, num_keys, samples);
    return heaviest_or_median<K>(samples);
  }
  return median_of_lanes<K>(keys, num_keys);
}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
