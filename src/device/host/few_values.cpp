// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/count_few.hpp"

#include <cstddef>
#include <cstring>

#include "device/host/key_sample.hpp"
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
std::uint64_t count_group_of(unsigned num_values, const K* keys, std::uint64_t num_vectors, const K* values,
                             std::uint64_t* counts) {
  std::uint64_t found = 0;
  unsigned v = 0;
  for (; v + 4 <= num_values; v += 4) found += count_group<4>(keys, num_vectors, values + v, counts + v);
  for (; v + 2 <= num_values; v += 2) found += count_group<2>(keys, num_vectors, values + v, counts + v);
  if (v < num_values) found += count_group<1>(keys, num_vectors, values + v, counts + v);
  return found;
}

template <class K>
bool count_values_as(const K* HWY_RESTRICT keys, std::uint64_t num_keys, std::span<const K> values,
                     std::uint64_t* counts) {
  constexpr std::uint64_t tile_keys = 16384 / sizeof(K);  // stays in the first-level cache from group to group
  const std::uint64_t lanes = hn::Lanes(hn::ScalableTag<K>());
  std::uint64_t begin = 0;
  for (; begin + lanes <= num_keys;) {
    const std::uint64_t num_vectors = std::min(tile_keys, num_keys - begin) / lanes;
    const auto num_values = static_cast<unsigned>(values.size());
    const std::uint64_t found = count_group_of(num_values, keys + begin, num_vectors, values.data(), counts);
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
  if (num_keys < lanes) return void(std::fill_n(destination, num_keys, key));
  const auto keys = hn::Set(d, key);
  hn::StoreU(keys, d, destination);
  std::uint64_t i = lanes - reinterpret_cast<std::uintptr_t>(destination) / sizeof(K) % lanes;
  if (stream) {
    for (; i + lanes <= num_keys; i += lanes) hn::Stream(keys, d, destination + i);
    finish_streaming();
  } else {
    for (; i + lanes <= num_keys; i += lanes) hn::Store(keys, d, destination + i);
  }
  hn::StoreU(keys, d, destination + num_keys - lanes);
}

// ---- values that are found while they are counted

/// Returns the first vector from `begin` on that holds another key than `values`, which there is.
template <class K>
std::uint64_t find_stranger(const K* keys, std::uint64_t begin, std::span<const K> values) {
  const hn::ScalableTag<K> d;
  for (std::uint64_t i = begin;; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, keys + i);
    auto known = hn::Eq(x, hn::Set(d, values[0]));
    for (const K value : values.subspan(1)) known = hn::Or(known, hn::Eq(x, hn::Set(d, value)));
    if (!hn::AllTrue(d, known)) return i;
  }
}

/// Returns whether eight of 64 keys tell all values of these, so that there are hardly more than two or three. It takes
/// few steps, and no branch that could be mispredicted.
template <class K>
bool may_hold_two_values(const K* keys, std::uint64_t num_keys) {
  const hn::ScalableTag<K> d;
  const std::uint64_t lanes = hn::Lanes(d);
  const std::uint64_t num_vectors = 64 / lanes;
  const std::uint64_t stride = (num_keys - lanes) / (num_vectors - 1);
  std::uint64_t num_known = 0;
  for (std::uint64_t v = 0; v < num_vectors; ++v) {
    const auto x = hn::LoadU(d, keys + v * stride);
    auto known = hn::Eq(x, hn::Set(d, keys[0]));
    for (std::uint64_t i = 1; i < 8; ++i) known = hn::Or(known, hn::Eq(x, hn::Set(d, keys[i * (num_keys / 8)])));
    num_known += hn::CountTrue(d, known);
  }
  return num_known == num_vectors * lanes;
}

/// Returns whether 64 of at least as many keys are worth a closer look: where 16 values are all there is, each of them
/// holds four. Keys are compared where they lie, for copies would be waited for.
template <class K>
bool may_hold_few_values(const K* keys, std::uint64_t num_keys) {
  constexpr std::uint64_t fewest_alike = 8;
  const hn::ScalableTag<K> d;
  const std::uint64_t lanes = hn::Lanes(d);
  const std::uint64_t num_vectors = 64 / lanes;
  const std::uint64_t stride = (num_keys - lanes) / (num_vectors - 1);
  std::uint64_t alike = 0;
  for (const std::uint64_t at : {std::uint64_t{0}, stride, (num_vectors - 2) * stride, (num_vectors - 1) * stride}) {
    const auto wanted = hn::Set(d, keys[at]);
    for (std::uint64_t v = 0; v < num_vectors; ++v) {
      alike += hn::CountTrue(d, hn::Eq(hn::LoadU(d, keys + v * stride), wanted));
    }
  }
  return alike >= fewest_alike;
}

/// Counts keys of which a sample shows few values. Further values are added where they are met, some of them.
template <class K>
bool count_few_as(const K* HWY_RESTRICT keys, std::uint64_t num_keys, few_counts<K>& found) {
  constexpr std::uint64_t most_tile_keys = 16384 / sizeof(K);
  constexpr unsigned most_added = 4;
  constexpr std::uint64_t large_keys = 8192;  // beside which a vain try costs little
  // Quicksort takes fewer keys of many values in half a nanosecond each, where vectors are wide.
  const bool is_small = num_keys < (HWY_TARGET == HWY_AVX2 ? 512 : sizeof(K) == 4 ? 1024 : 2048);
  if (!(is_small ? may_hold_two_values(keys, num_keys) : may_hold_few_values(keys, num_keys))) return false;
  if (!key_sample<K>(keys, num_keys).take_values(num_keys < large_keys ? 2 : 4, sizeof(K) >= 4 && !is_small, found))
    return false;
  const unsigned most_values = std::min(found.count + most_added, most_few_values);
  const std::uint64_t lanes = hn::Lanes(hn::ScalableTag<K>());
  std::uint64_t tile_keys = 512;  // strangers are met early
  std::uint64_t begin = 0;
  while (begin + lanes <= num_keys) {
    const std::uint64_t num_vectors = std::min(tile_keys, num_keys - begin) / lanes;
    const K* const tile = keys + begin;
    std::uint64_t missing =
        num_vectors * lanes - count_group_of(found.count, tile, num_vectors, found.keys.data(), found.counts.data());
    for (std::uint64_t from = 0; missing != 0;) {
      if (found.count == most_values) return false;
      const std::span<const K> known(found.keys.data(), found.count);
      from = find_stranger(tile, from, known);
      const K* stranger = tile + from;
      while (std::find(known.begin(), known.end(), *stranger) != known.end()) ++stranger;
      found.keys[found.count] = *stranger;
      missing -= count_group<1>(tile, num_vectors, stranger, &found.counts[found.count++]);
    }
    begin += num_vectors * lanes;
    tile_keys = std::min(2 * tile_keys, most_tile_keys);
  }
  for (; begin < num_keys; ++begin) {
    const auto known_end = found.keys.begin() + found.count;
    const auto at = std::find(found.keys.begin(), known_end, keys[begin]);
    if (at == known_end) {
      if (found.count == most_values) return false;
      found.keys[found.count++] = keys[begin];
    }
    ++found.counts[static_cast<std::size_t>(at - found.keys.begin())];
  }
  return true;
}

// A choice at run time is one between plain functions.
bool count_values_u16(const std::uint16_t* keys, std::uint64_t n, std::span<const std::uint16_t> v, std::uint64_t* c) {
  return count_values_as(keys, n, v, c);
}
bool count_values_u32(const std::uint32_t* keys, std::uint64_t n, std::span<const std::uint32_t> v, std::uint64_t* c) {
  return count_values_as(keys, n, v, c);
}
bool count_values_u64(const std::uint64_t* keys, std::uint64_t n, std::span<const std::uint64_t> v, std::uint64_t* c) {
  return count_values_as(keys, n, v, c);
}
bool count_few_u16(const std::uint16_t* keys, std::uint64_t n, few_counts<std::uint16_t>& found) {
  return count_few_as(keys, n, found);
}
bool count_few_u32(const std::uint32_t* keys, std::uint64_t n, few_counts<std::uint32_t>& found) {
  return count_few_as(keys, n, found);
}
bool count_few_u64(const std::uint64_t* keys, std::uint64_t n, few_counts<std::uint64_t>& found) {
  return count_few_as(keys, n, found);
}
void fill_keys_u16(std::uint16_t* to, std::uint64_t n, std::uint16_t key, bool stream) {
  fill_keys_as(to, n, key, stream);
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
bool count_values<std::uint16_t>(const std::uint16_t* keys, std::uint64_t n, std::span<const std::uint16_t> values,
                                 std::uint64_t* counts) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(count_values_u16);
  return best(keys, n, values, counts);
}
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
bool count_few<std::uint16_t>(const std::uint16_t* keys, std::uint64_t n, few_counts<std::uint16_t>& found) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(count_few_u16);
  return best(keys, n, found);
}
template <>
bool count_few<std::uint32_t>(const std::uint32_t* keys, std::uint64_t n, few_counts<std::uint32_t>& found) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(count_few_u32);
  return best(keys, n, found);
}
template <>
bool count_few<std::uint64_t>(const std::uint64_t* keys, std::uint64_t n, few_counts<std::uint64_t>& found) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(count_few_u64);
  return best(keys, n, found);
}
template <>
void fill_keys<std::uint16_t>(std::uint16_t* to, std::uint64_t n, std::uint16_t key, bool stream) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(fill_keys_u16);
  best(to, n, key, stream);
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
