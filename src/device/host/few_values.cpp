// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/few_values.hpp"

#include <cstddef>

#include "device/host/vector_targets.hpp"
#include "device/streaming.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/few_values.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds the counts of `num_values` values over `num_vectors` vectors, and returns their sum.
template <unsigned num_values, class K>
HWY_INLINE std::uint64_t count_group(const K* HWY_RESTRICT keys, std::uint64_t num_vectors, const K* values,
                                     std::uint64_t* counts) {
  const hn::ScalableTag<K> d;
  const std::uint64_t lanes = hn::Lanes(d);
  using V = hn::Vec<decltype(d)>;
  V wanted[num_values];
  V found[num_values];
  for (unsigned v = 0; v < num_values; ++v) {
    wanted[v] = hn::Set(d, values[v]);
    found[v] = hn::Zero(d);
  }
  const V one = hn::Set(d, K{1});
  for (std::uint64_t i = 0; i < num_vectors; ++i) {
    const V x = hn::LoadU(d, keys + i * lanes);
    for (unsigned v = 0; v < num_values; ++v) {
#if HWY_TARGET <= HWY_AVX3
      found[v] = hn::IfThenElse(hn::Eq(x, wanted[v]), hn::Add(found[v], one), found[v]);
#else
      found[v] = hn::Sub(found[v], hn::VecFromMask(d, hn::Eq(x, wanted[v])));
#endif
    }
  }
  (void)one;
  std::uint64_t sum = 0;
  for (unsigned v = 0; v < num_values; ++v) {
    HWY_ALIGN K of_lane[HWY_MAX_BYTES / sizeof(K)];
    hn::Store(found[v], d, of_lane);
    std::uint64_t count = 0;
    for (std::uint64_t lane = 0; lane < lanes; ++lane) count += of_lane[lane];
    counts[v] += count;
    sum += count;
  }
  return sum;
}

template <class K>
bool count_values_as(const K* HWY_RESTRICT keys, std::uint64_t num_keys, std::span<const K> values,
                     std::uint64_t* counts) {
  constexpr std::uint64_t tile_keys = 16384 / sizeof(K);  // stays in the first-level cache from group to group
  const std::uint64_t lanes = hn::Lanes(hn::ScalableTag<K>());
  std::uint64_t begin = 0;
  for (; begin + lanes <= num_keys;) {
    const std::uint64_t num_vectors = std::min(tile_keys, num_keys - begin) / lanes;
    std::uint64_t found = 0;
    unsigned v = 0;
    const auto num_values = static_cast<unsigned>(values.size());
    for (; v + 4 <= num_values; v += 4) found += count_group<4>(keys + begin, num_vectors, &values[v], counts + v);
    for (; v + 2 <= num_values; v += 2) found += count_group<2>(keys + begin, num_vectors, &values[v], counts + v);
    if (v < num_values) found += count_group<1>(keys + begin, num_vectors, &values[v], counts + v);
    if (found != num_vectors * lanes) return false;
    begin += num_vectors * lanes;
  }
  for (; begin < num_keys; ++begin) {
    const auto at = static_cast<std::size_t>(std::find(values.begin(), values.end(), keys[begin]) - values.begin());
    if (at == values.size()) return false;
    ++counts[at];
  }
  return true;
}

template <class K>
void fill_keys_as(K* HWY_RESTRICT destination, std::uint64_t num_keys, K key, bool stream) {
  const hn::ScalableTag<K> d;
  const std::uint64_t lanes = hn::Lanes(d);
  std::uint64_t i = 0;
  for (; i < num_keys && reinterpret_cast<std::uintptr_t>(destination + i) % 64 != 0; ++i) destination[i] = key;
  const auto keys = hn::Set(d, key);
  if (stream && reinterpret_cast<std::uintptr_t>(destination + i) % 64 == 0) {
    for (; i + lanes <= num_keys; i += lanes) hn::Stream(keys, d, destination + i);
    finish_streaming();
  } else {
    for (; i + lanes <= num_keys; i += lanes) hn::StoreU(keys, d, destination + i);
  }
  for (; i < num_keys; ++i) destination[i] = key;
}

// A choice at run time is one between plain functions.
bool count_values_u32(const std::uint32_t* keys, std::uint64_t n, std::span<const std::uint32_t> v, std::uint64_t* c) {
  return count_values_as(keys, n, v, c);
}
bool count_values_u64(const std::uint64_t* keys, std::uint64_t n, std::span<const std::uint64_t> v, std::uint64_t* c) {
  return count_values_as(keys, n, v, c);
}
void fill_keys_u32(std::uint32_t* to, std::uint64_t n, std::uint32_t key, bool stream) {
  fill_keys_as(to, n, key, stream);
}
void fill_keys_u64(std::uint64_t* to, std::uint64_t n, std::uint64_t key, bool stream) {
  fill_keys_as(to, n, key, stream);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

template <>
bool count_values<std::uint32_t>(const std::uint32_t* keys, std::uint64_t n, std::span<const std::uint32_t> values,
                                 std::uint64_t* counts) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(count_values_u32);
  return best(keys, n, values, counts);
}
template <>
bool count_values<std::uint64_t>(const std::uint64_t* keys, std::uint64_t n, std::span<const std::uint64_t> values,
                                 std::uint64_t* counts) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(count_values_u64);
  return best(keys, n, values, counts);
}
template <>
void fill_keys<std::uint32_t>(std::uint32_t* to, std::uint64_t n, std::uint32_t key, bool stream) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(fill_keys_u32);
  best(to, n, key, stream);
}
template <>
void fill_keys<std::uint64_t>(std::uint64_t* to, std::uint64_t n, std::uint64_t key, bool stream) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(fill_keys_u64);
  best(to, n, key, stream);
}

}  // namespace spansort::device::host
#endif
