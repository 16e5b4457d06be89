// SPDX-License-Identifier: Apache-2.0
// Quicksort of lane bits on one thread: splits in place, networks at the end. This header is included once for each of
// Highway's targets.
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

#include "device/host/vector_finish-inl.hpp"
#include "device/host/vector_scale-inl.hpp"
#include "device/host/vector_split-inl.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

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

/// Sorts parts of an array on one thread. A part lies at the index at which it belongs in the result.
template <class K, bool identity>
class quicksorter {
 public:
  using T = lane_type<K>;
  quicksorter(const finisher<K, identity>& finish, K* result, const key_scale<K>& scale)
      : finish_(finish), result_(result), scale_(scale) {}

  /// Keys lie between `least` and `greatest`, and are overwritten. They do not overlap the result.
  void sort(T* keys, std::uint64_t num_keys, T least, T greatest, unsigned depth) const {
    sort(keys, 0, num_keys, least, greatest, depth, scale_.is != key_scale<K>::kind::none);
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
  /// Two orders of a vector take AVX2 as long as they save.
  static constexpr bool splits_three_ways = HWY_TARGET == HWY_AVX3;

  void sort(T* keys, std::uint64_t begin, std::uint64_t end, T least, T greatest, unsigned depth, bool by_scale) const {
    while (end - begin > network_size<K>()) {
      if (least == greatest) return finish_.fill(result_ + begin, end - begin, least);
      if (depth == 0) return sort_by_comparison(keys, begin, end, least, greatest);
      const std::uint64_t num_keys = end - begin;
      if (favours_networks() && num_keys <= 2 * network_size<K>()) {
        return finish_.sort_two(keys + begin, num_keys, result_ + begin, least, greatest);
      }
      --depth;
      const sampled_pivot sampled = by_scale ? sampled_pivot{} : sample(keys + begin, num_keys);
      if (splits_three_ways && sampled.repeats) {
        const split_ends<K> middle = split_in_place<K, true>(keys + begin, num_keys, sampled.median);
        const auto num_below = static_cast<std::uint64_t>(middle.left - (keys + begin));
        if (num_below != 0) sort(keys, begin, begin + num_below, least, sampled.median - 1, depth, false);
        finish_.fill(result_ + begin + num_below, static_cast<std::uint64_t>(middle.right - middle.left),
                     sampled.median);
        begin = static_cast<std::uint64_t>(middle.right - keys);
        if (begin == end) return;  // or there would be no greater key
        least = sampled.median + 1;
        continue;
      }
      T pivot = by_scale ? scaled_pivot(keys + begin, num_keys, least, greatest) : sampled.median;
      if (pivot == least) ++pivot;  // keys below are the least, all equal
      const std::uint64_t num_below = split_in_two<K>(keys + begin, num_keys, pivot);
      by_scale = by_scale && std::min(num_below, num_keys - num_below) >= num_keys / 8;  // the sample may have deceived
      // Parts are finished from left to right, for a network writes beyond its keys.
      sort(keys, begin, begin + num_below, least, pivot - 1, depth, by_scale);
      begin += num_below;
      least = pivot;
    }
    if (begin != end) finish_part(keys, begin, end, least, greatest);
  }

  /// Equal steps of the scale make parts that fill their networks, one or two of them.
  T scaled_pivot(const T* keys, std::uint64_t num_keys, T least, T greatest) const {
    const std::uint64_t wanted_keys = network_size<K>() * (favours_networks() ? 46 : 27) / 32;
    const std::uint64_t parts = (num_keys + wanted_keys - 1) / wanted_keys;
    const T pivot = scale_.between(least, greatest, static_cast<double>(parts / 2) / static_cast<double>(parts));
    return pivot < greatest ? pivot : sampled_median(keys, num_keys);
  }

  void finish_part(const T* keys, std::uint64_t begin, std::uint64_t end, T least, T greatest) const {
    finish_.sort(keys + begin, end - begin, result_ + begin, least, greatest);
  }

  void sort_by_comparison(T* keys, std::uint64_t begin, std::uint64_t end, T least, T greatest) const {
    std::sort(keys + begin, keys + end);
    for (std::uint64_t i = begin; i < end; i += network_size<K>()) {
      finish_part(keys, i, std::min(end, i + network_size<K>()), least, greatest);
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
