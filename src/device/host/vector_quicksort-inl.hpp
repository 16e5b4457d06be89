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
#include "device/host/vector_pivot-inl.hpp"
#include "device/host/vector_scale-inl.hpp"
#include "device/host/vector_split-inl.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// Sorts parts of an array on one thread. A part lies at the index at which it belongs in the result.
template <class K, bool identity>
class quicksorter {
 public:
  using T = lane_type<K>;
  /// Keys are overwritten. The result is where they lie, or does not overlap them.
  quicksorter(const finisher<K, identity>& finish, T* keys, K* result, const key_scale<K>& scale)
      : finish_(finish),
        keys_(keys),
        result_(result),
        is_in_place_(static_cast<void*>(keys) == static_cast<void*>(result)),
        scale_(scale) {}

  /// Keys lie between `least` and `greatest`.
  void sort(std::uint64_t num_keys, T least, T greatest, unsigned depth) const {
    sort(0, num_keys, least, greatest, depth, scale_.is != key_scale<K>::kind::none);
  }

 private:
  void sort(std::uint64_t begin, std::uint64_t end, T least, T greatest, unsigned depth, bool by_scale) const {
    while (end - begin > network_size<K>()) {
      T* const keys = keys_ + begin;
      const std::uint64_t num_keys = end - begin;
      if (least == greatest) return finish_.fill(result_ + begin, num_keys, least);
      if (depth == 0) return sort_by_comparison(begin, end, least, greatest);
      if (favours_networks() && num_keys <= 2 * network_size<K>()) {
        return finish_of(end).sort_two(keys, num_keys, result_ + begin, least, greatest);
      }
      --depth;
      const sampled_pivot<K> sampled = by_scale ? sampled_pivot<K>{} : sample_pivot<K>(keys, num_keys);
      if (sampled.repeats) {
        const split_ends<K> middle = split_in_place<K, true>(keys, num_keys, sampled.key);
        const auto num_below = static_cast<std::uint64_t>(middle.left - keys);
        if (num_below != 0) sort(begin, begin + num_below, least, sampled.key - 1, depth, false);
        finish_.fill(result_ + begin + num_below, static_cast<std::uint64_t>(middle.right - middle.left), sampled.key);
        begin += static_cast<std::uint64_t>(middle.right - keys);
        if (begin == end) return;  // or there would be no greater key
        least = sampled.key + 1;
        continue;
      }
      T pivot = by_scale ? scaled_pivot(keys, num_keys, least, greatest) : sampled.key;
      if (pivot == least) ++pivot;  // keys below are the least, all equal
      const std::uint64_t num_below = split_in_two<K>(keys, num_keys, pivot);
      by_scale = by_scale && std::min(num_below, num_keys - num_below) >= num_keys / 8;  // the sample may have deceived
      // Parts are finished from left to right, for a network writes beyond its keys where the result lies apart.
      sort(begin, begin + num_below, least, pivot - 1, depth, by_scale);
      begin += num_below;
      least = pivot;
    }
    if (begin != end) finish_part(begin, end, least, greatest);
  }

  /// Equal steps of the scale make parts that fill their networks, one or two of them.
  T scaled_pivot(const T* keys, std::uint64_t num_keys, T least, T greatest) const {
    const std::uint64_t wanted_keys = network_size<K>() * (favours_networks() ? 46 : 27) / 32;
    const std::uint64_t parts = (num_keys + wanted_keys - 1) / wanted_keys;
    const T pivot = scale_.between(least, greatest, static_cast<double>(parts / 2) / static_cast<double>(parts));
    return pivot < greatest ? pivot : sample_pivot<K>(keys, num_keys).key;
  }

  /// Returns what finishes a part: in place it writes nothing beyond the end, where keys wait.
  [[nodiscard]] finisher<K, identity> finish_of(std::uint64_t end) const {
    return is_in_place_ ? finish_.up_to(result_ + end) : finish_;
  }

  void finish_part(std::uint64_t begin, std::uint64_t end, T least, T greatest) const {
    finish_of(end).sort(keys_ + begin, end - begin, result_ + begin, least, greatest);
  }

  void sort_by_comparison(std::uint64_t begin, std::uint64_t end, T least, T greatest) const {
    std::sort(keys_ + begin, keys_ + end);
    for (std::uint64_t i = begin; i < end; i += network_size<K>()) {
      finish_part(i, std::min(end, i + network_size<K>()), least, greatest);
    }
  }

  const finisher<K, identity>& finish_;
  T* keys_;
  K* result_;
  bool is_in_place_;
  key_scale<K> scale_;
};

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
