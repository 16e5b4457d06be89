// SPDX-License-Identifier: Apache-2.0
// Partition of lane bits in place, for arrays that are larger than a core's caches: what is read is written again while
// it lies there, where a second array would have to be fetched as well. This header is included once for each of
// Highway's targets.
#if defined(SPANSORT_VECTOR_SPLIT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_SPLIT_INL
#undef SPANSORT_VECTOR_SPLIT_INL
#else
#define SPANSORT_VECTOR_SPLIT_INL
#endif

#include <algorithm>
#include <cstdint>

#include "device/host/vector_quicksort-inl.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// Vectors that are read at a time, from the end that has less room.
constexpr std::uint64_t split_vectors = 8;

/// Writes the keys below the pivot from `left` on and the others up to `right`, which move towards each other. Whole
/// vectors are written at both ends.
template <class K>
HWY_INLINE void put_group(const lane_type<K>* from, const hn::Vec<partition_tag<K>>& pivots, lane_type<K>*& left,
                          lane_type<K>*& right) {
  const partition_tag<K> d;
  constexpr std::uint64_t lanes = hn::MaxLanes(partition_tag<K>());
  hn::Vec<partition_tag<K>> x[split_vectors];
  for (std::uint64_t v = 0; v < split_vectors; ++v) x[v] = hn::LoadU(d, from + v * lanes);
  for (std::uint64_t v = 0; v < split_vectors; ++v) {
    std::uint64_t num_below = 0;
    const auto ordered = lower_first(d, x[v], hn::Lt(x[v], pivots), num_below);
    hn::StoreU(ordered, d, left);
    hn::StoreU(ordered, d, right - lanes);
    left += num_below;
    right -= lanes - num_below;
  }
}

/// Puts keys below the pivot first; returns how many there are.
template <class K>
std::uint64_t partition_in_place(lane_type<K>* keys, std::uint64_t num_keys, lane_type<K> pivot) {
  using T = lane_type<K>;
  const partition_tag<K> d;
  constexpr std::uint64_t group = split_vectors * hn::MaxLanes(partition_tag<K>());
  HWY_ALIGN T kept[3 * group];  // the room between what has been read and what has been written
  const std::uint64_t num_kept = std::min(num_keys, 2 * group + num_keys % group);
  const std::uint64_t kept_left = num_kept - std::min(num_kept, group);
  std::copy_n(keys, kept_left, kept);
  std::copy_n(keys + num_keys - (num_kept - kept_left), num_kept - kept_left, kept + kept_left);

  const auto pivots = hn::Set(d, pivot);
  T* left = keys;
  T* right = keys + num_keys;
  const T* unread = keys + kept_left;
  const T* unread_end = keys + num_keys - (num_kept - kept_left);
  while (unread != unread_end) {
    // Nobody could foretell which end it is: no branch.
    const bool from_left = unread - left <= right - unread_end;
    const T* const from = from_left ? unread : unread_end - group;
    unread += from_left ? group : 0;
    unread_end -= from_left ? 0 : group;
    put_group<K>(from, pivots, left, right);
  }
  return static_cast<std::uint64_t>(left - keys) +
         quicksorter<K, false>::partition(kept, static_cast<std::uint64_t>(right - left), left, pivot);
}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
