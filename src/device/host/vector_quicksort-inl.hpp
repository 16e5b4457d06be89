// SPDX-License-Identifier: Apache-2.0
// Quicksort of lane bits on one thread: partitions from one array to the other, networks at the end. This header is
// included once for each of Highway's targets.
#if defined(SPANSORT_VECTOR_QUICKSORT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_QUICKSORT_INL
#undef SPANSORT_VECTOR_QUICKSORT_INL
#else
#define SPANSORT_VECTOR_QUICKSORT_INL
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "device/host/lane_orders.hpp"
#include "device/host/vector_network-inl.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

#if HWY_TARGET == HWY_AVX2
/// Lanes `x` with those of the mask first, the others behind them, both in their order; adds how many come first.
HWY_INLINE hn::Vec<full_tag<std::uint32_t>> lower_first(full_tag<std::uint32_t>, hn::Vec<full_tag<std::uint32_t>> x,
                                                        hn::Mask<full_tag<std::uint32_t>> mask, std::uint64_t& count) {
  const auto bits = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(mask.raw)));
  count = static_cast<std::uint64_t>(std::popcount(bits));
  const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(lane_orders.of_8[bits]));
  return {_mm256_permutevar8x32_epi32(x.raw, _mm256_cvtepu8_epi32(order))};
}
HWY_INLINE hn::Vec<full_tag<std::uint64_t>> lower_first(full_tag<std::uint64_t>, hn::Vec<full_tag<std::uint64_t>> x,
                                                        hn::Mask<full_tag<std::uint64_t>> mask, std::uint64_t& count) {
  const auto bits = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(mask.raw)));
  count = static_cast<std::uint64_t>(std::popcount(bits));
  const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(lane_orders.of_4_halves[bits]));
  return {_mm256_permutevar8x32_epi32(x.raw, _mm256_cvtepu8_epi32(order))};
}
#else
HWY_INLINE hn::Vec<full_tag<std::uint64_t>> lower_first(full_tag<std::uint64_t>, hn::Vec<full_tag<std::uint64_t>> x,
                                                        hn::Mask<full_tag<std::uint64_t>> mask, std::uint64_t& count) {
  const auto bits = static_cast<unsigned>(mask.raw);
  count = static_cast<std::uint64_t>(std::popcount(bits));
  const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(lane_orders.of_8[bits]));
  return {_mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(order), x.raw)};
}
#endif

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

/// Sorts parts of an array on one thread. A part lies in one of two arrays, at the index at which it belongs in the
/// result, and is partitioned into the other.
template <class K, bool identity>
class quicksorter {
 public:
  using T = lane_type<K>;
  quicksorter(const finisher<K, identity>& finish, K* result) : finish_(finish), result_(result) {}

  /// Keys lie in `from`, between `least` and `greatest`.
  void sort(T* from, T* to, std::uint64_t begin, std::uint64_t end, T least, T greatest, unsigned depth) const {
    while (end - begin > network_size<K>()) {
      if (least == greatest) return finish_.fill(result_ + begin, end - begin, least);
      if (depth == 0) return sort_by_comparison(from, begin, end);
      --depth;
      T pivot = sampled_median(from + begin, end - begin);
      if (pivot == least) ++pivot;  // keys below are the least, all equal
      const std::uint64_t middle = begin + partition(from + begin, end - begin, to + begin, pivot);
      std::swap(from, to);
      // Parts are finished from left to right, for a network writes beyond its keys.
      sort(from, to, begin, middle, least, pivot - 1, depth);
      begin = middle;
      least = pivot;
    }
    if (begin != end) finish_part(from, begin, end);
  }

  /// Returns how many keys are below the pivot: these come first in `to`, the others behind. `to` may be written up to
  /// its end, and no further.
  static std::uint64_t partition(const T* HWY_RESTRICT from, std::uint64_t num_keys, T* HWY_RESTRICT to, T pivot) {
    const full_tag<K> d;
    constexpr std::uint64_t lanes = lanes_of<K>();
    const auto pivots = hn::Set(d, pivot);
    std::uint64_t left = 0;
    std::uint64_t right = num_keys;
    std::uint64_t i = 0;
    // Whole vectors are stored at both ends, and what they write beyond their keys is written again: room for two is
    // between the ends as long as two are to be read.
    for (; i + 2 * lanes <= num_keys; i += lanes) {
      const auto x = hn::LoadU(d, from + i);
      const auto below = hn::Lt(x, pivots);
      std::uint64_t num_below = 0;
      if constexpr (lanes == 16) {
        num_below = hn::CountTrue(d, below);
        hn::StoreU(hn::Compress(x, below), d, to + left);
        // Keys are compressed in registers first: compressed stores to memory take hundreds of cycles on AMD's Zen.
        hn::BlendedStore(hn::Compress(x, hn::Not(below)), hn::FirstN(d, lanes - num_below), d,
                         to + right - (lanes - num_below));
      } else {
        const auto ordered = lower_first(d, x, below, num_below);
        hn::StoreU(ordered, d, to + left);
        hn::StoreU(ordered, d, to + right - lanes);
      }
      left += num_below;
      right -= lanes - num_below;
    }
    for (; i < num_keys; ++i) {
      if (from[i] < pivot) {
        to[left++] = from[i];
      } else {
        to[--right] = from[i];
      }
    }
    return left;
  }

  /// Returns the median of the lanes' medians: of three keys at the begin, the middle and the end of a small part, of
  /// nine spread over a large one.
  static T sampled_median(const T* keys, std::uint64_t num_keys) {
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
    HWY_ALIGN T sorted[lanes];
    hn::Store(sort_vector<2>(d, medians), d, sorted);
    return sorted[lanes / 2];
  }

 private:
  void finish_part(const T* from, std::uint64_t begin, std::uint64_t end) const {
    finish_.sort(from + begin, end - begin, result_ + begin);
  }

  void sort_by_comparison(T* from, std::uint64_t begin, std::uint64_t end) const {
    std::sort(from + begin, from + end);
    for (std::uint64_t i = begin; i < end; i += network_size<K>()) {
      finish_part(from, i, std::min(end, i + network_size<K>()));
    }
  }

  template <class V>
  static HWY_INLINE V median_of_three(V a, V b, V c) {
    return hn::Max(hn::Min(a, b), hn::Min(hn::Max(a, b), c));
  }

  const finisher<K, identity>& finish_;
  K* result_;
};

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
