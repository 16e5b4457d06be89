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
#include "device/host/vector_finish-inl.hpp"
#include "device/host/vector_scale-inl.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// Keys of 32 bits are partitioned eight at a time on AVX-512 too: AMD's Zen 5 takes 3 cycles to compress a vector,
// which makes 0.14 ns a key, and the table of eight lanes 0.09.
template <class K>
using partition_tag = hn::CappedTag<lane_type<K>, 8>;

/// Lanes `x` with those of the mask first, the others behind them, both in their order; adds how many come first.
template <class D, class V>
HWY_INLINE V lower_first(D, V x, hn::Mask<D> mask, std::uint64_t& count) {
  constexpr bool is_wide = sizeof(hn::TFromD<D>) == 8;
#if HWY_TARGET == HWY_AVX2
  const auto bits = static_cast<unsigned>(is_wide ? _mm256_movemask_pd(_mm256_castsi256_pd(mask.raw))
                                                  : _mm256_movemask_ps(_mm256_castsi256_ps(mask.raw)));
  const auto& orders = is_wide ? lane_orders.of_4_halves[bits] : lane_orders.of_8[bits];
#else
  const auto bits = static_cast<unsigned>(mask.raw);
  const auto& orders = lane_orders.of_8[bits];
#endif
  count = static_cast<std::uint64_t>(std::popcount(bits));
  const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(orders));
#if HWY_TARGET == HWY_AVX3
  if constexpr (is_wide) return V{_mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(order), x.raw)};
#endif
  if constexpr (sizeof(x.raw) == 32) return V{_mm256_permutevar8x32_epi32(x.raw, _mm256_cvtepu8_epi32(order))};
}

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
  quicksorter(const finisher<K, identity>& finish, K* result, const key_scale<K>& scale)
      : finish_(finish), result_(result), scale_(scale) {}

  /// Keys lie in `from`, between `least` and `greatest`.
  void sort(T* from, T* to, std::uint64_t begin, std::uint64_t end, T least, T greatest, unsigned depth) const {
    sort(from, to, begin, end, least, greatest, depth, scale_.is != key_scale<K>::kind::none);
  }

  /// Returns how many keys are below the pivot: these come first in `to`, the others behind. `to` may be written up to
  /// its end, and no further.
  static std::uint64_t partition(const T* HWY_RESTRICT from, std::uint64_t num_keys, T* HWY_RESTRICT to, T pivot) {
    const partition_tag<K> d;
    constexpr std::uint64_t lanes = hn::MaxLanes(partition_tag<K>());
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
      const auto ordered = lower_first(d, x, below, num_below);
      hn::StoreU(ordered, d, to + left);
      hn::StoreU(ordered, d, to + right - lanes);
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

  /// The keys that are neither below nor above a pivot.
  struct middle_range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  /// Puts keys below the pivot first in `to` and those above it last. Between them there is room for those equal to it,
  /// which are not written.
  static middle_range partition_three_ways(const T* HWY_RESTRICT from, std::uint64_t num_keys, T* HWY_RESTRICT to,
                                           T pivot) {
    const partition_tag<K> d;
    constexpr std::uint64_t lanes = hn::MaxLanes(partition_tag<K>());
    const auto pivots = hn::Set(d, pivot);
    std::uint64_t left = 0;
    std::uint64_t right = num_keys;
    std::uint64_t i = 0;
    for (; i + 2 * lanes <= num_keys; i += lanes) {
      const auto x = hn::LoadU(d, from + i);
      std::uint64_t num_below = 0;
      std::uint64_t num_not_above = 0;
      hn::StoreU(lower_first(d, x, hn::Lt(x, pivots), num_below), d, to + left);
      hn::StoreU(lower_first(d, x, hn::Not(hn::Gt(x, pivots)), num_not_above), d, to + right - lanes);
      left += num_below;
      right -= lanes - num_not_above;
    }
    for (; i < num_keys; ++i) {
      if (from[i] < pivot) to[left++] = from[i];
      if (from[i] > pivot) to[--right] = from[i];
    }
    return {left, right};
  }

  struct sampled_pivot {
    T median = 0;
    bool repeats = false;  ///< other lanes have the same median: it is likely to be many keys
  };

  /// Returns the median of the lanes' medians: of three keys at the begin, the middle and the end of a small part, of
  /// nine spread over a large one.
  static sampled_pivot sample(const T* keys, std::uint64_t num_keys) {
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
    constexpr std::uint64_t near = std::max<std::uint64_t>(1, lanes / 8);
    return {sorted[lanes / 2], sorted[lanes / 2 - near] == sorted[std::min(lanes / 2 + near, lanes - 1)]};
  }
  static T sampled_median(const T* keys, std::uint64_t num_keys) { return sample(keys, num_keys).median; }

 private:
  /// Two orders of a vector a time take AVX2 as long as they save.
  static constexpr bool splits_three_ways = HWY_TARGET == HWY_AVX3;

  void sort(T* from, T* to, std::uint64_t begin, std::uint64_t end, T least, T greatest, unsigned depth,
            bool by_scale) const {
    while (end - begin > network_size<K>()) {
      if (least == greatest) return finish_.fill(result_ + begin, end - begin, least);
      if (depth == 0) return sort_by_comparison(from, begin, end);
      --depth;
      const std::uint64_t num_keys = end - begin;
      const sampled_pivot sampled = by_scale ? sampled_pivot{} : sample(from + begin, num_keys);
      if (splits_three_ways && sampled.repeats) {
        const middle_range middle = partition_three_ways(from + begin, num_keys, to + begin, sampled.median);
        std::swap(from, to);
        if (middle.begin != 0) sort(from, to, begin, begin + middle.begin, least, sampled.median - 1, depth, false);
        finish_.fill(result_ + begin + middle.begin, middle.end - middle.begin, sampled.median);
        begin += middle.end;
        if (begin == end) return;  // or there would be no greater key
        least = sampled.median + 1;
        continue;
      }
      T pivot = by_scale ? scaled_pivot(from + begin, num_keys, least, greatest) : sampled.median;
      if (pivot == least) ++pivot;  // keys below are the least, all equal
      const std::uint64_t num_below = partition(from + begin, num_keys, to + begin, pivot);
      by_scale = by_scale && std::min(num_below, num_keys - num_below) >= num_keys / 8;  // the sample may have deceived
      std::swap(from, to);
      // Parts are finished from left to right, for a network writes beyond its keys.
      sort(from, to, begin, begin + num_below, least, pivot - 1, depth, by_scale);
      begin += num_below;
      least = pivot;
    }
    if (begin != end) finish_part(from, begin, end);
  }

  /// Equal steps of the scale make parts that fill their networks.
  T scaled_pivot(const T* keys, std::uint64_t num_keys, T least, T greatest) const {
    constexpr std::uint64_t wanted_keys = network_size<K>() * 27 / 32;
    const std::uint64_t parts = (num_keys + wanted_keys - 1) / wanted_keys;
    const T pivot = scale_.between(least, greatest, static_cast<double>(parts / 2) / static_cast<double>(parts));
    return pivot < greatest ? pivot : sampled_median(keys, num_keys);
  }

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
  key_scale<K> scale_;
};

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
