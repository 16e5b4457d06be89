// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/vector_sort.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "device/host/network_sort.hpp"
#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/vector_sort.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/smallest_network-inl.hpp"
#include "device/host/vector_finish-inl.hpp"
#include "device/host/vector_quicksort-inl.hpp"
#include "device/host/vector_split-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// ---- slots

/// Scatters keys that lie evenly to slots without a count, then finishes each slot. Returns whether all slots held
/// what fell into them; the result has not been touched otherwise.
template <class K, bool identity>
bool sort_slots(const finisher<K, identity>& finish, const lane_type<K>* keys, std::uint64_t num_keys, K* result,
                lane_type<K> least, lane_type<K> greatest, const vector_sort_scratch<K>& scratch) {
  using T = lane_type<K>;
  constexpr std::uint64_t slot_keys = 16 * lanes_of<K>();
  // One line more than a power of two, or all slots fall into the same sets of the cache.
  constexpr std::uint64_t stride = slot_keys + 64 / sizeof(K);
  constexpr double filled = slot_keys == 256 ? 0.72 : slot_keys == 128 ? 0.60 : 0.48;
  const auto num_slots = static_cast<std::uint64_t>(static_cast<double>(num_keys) / (filled * slot_keys)) + 1;
  // A slot that overflows writes over its neighbours, the last one over what lies behind it.
  if (num_slots > scratch.num_cursors || num_slots * stride + num_keys > scratch.num_second_keys) return false;
  auto* const slots = reinterpret_cast<T*>(scratch.second);
  const std::uint64_t range = static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
  const unsigned shift = static_cast<unsigned>(std::max<int>(std::bit_width(range), 32) - 32);
  const std::uint64_t multiplier = (num_slots << 32) / ((range >> shift) + 1);
  std::uint32_t* HWY_RESTRICT cursors = scratch.cursors;
  for (std::uint64_t s = 0; s < num_slots; ++s) cursors[s] = static_cast<std::uint32_t>(s * stride);
  const auto slot_of = [&](T key) __attribute__((always_inline)) {
    return ((static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(least)) >> shift) * multiplier >> 32;
  };
  std::uint64_t num_alike = 0;
  // Puts eight keys that lie `distance` apart into their slots.
  const auto put_eight = [&](const T* from, std::uint64_t distance) __attribute__((always_inline)) {
    std::uint64_t slot[8];
    for (unsigned j = 0; j < 8; ++j) slot[j] = slot_of(from[j * distance]);
    num_alike += slot[0] == slot[1] ? 1 : 0;
    for (unsigned j = 0; j < 8; ++j) slots[cursors[slot[j]]++] = from[j * distance];
  };
  const auto count_fullest = [&]() HWY_ATTR {
    std::uint32_t fullest = 0;
    std::uint32_t begin = 0;
    for (std::uint64_t s = 0; s < num_slots; ++s, begin += static_cast<std::uint32_t>(stride)) {
      fullest = std::max(fullest, cursors[s] - begin);
    }
    return fullest;
  };
  // Slots of values that repeat are uneven long before they overflow: an eighth of the keys tells.
  constexpr std::uint64_t block = 64;
  const std::uint64_t num_blocks = num_keys / block;
  if (num_blocks < 8) return false;  // stretches are one block long at least
  for (std::uint64_t i = 0; i < num_blocks; ++i) put_eight(keys + i * block, 1);
  const double share = static_cast<double>(8 * num_blocks) / static_cast<double>(num_slots);
  if (static_cast<double>(count_fullest()) > share + 7 * std::sqrt(share)) return false;
  // In an input that is nearly in order each key would wait for the cursor that the one before it has moved: there
  // eight stretches take turns. An odd number of blocks long, they begin in different sets of the cache.
  const std::uint64_t stretch_blocks = 4 * num_alike > num_blocks ? (num_blocks / 8 - 1) | 1 : 0;
  for (std::uint64_t i = 0; i < stretch_blocks; ++i) {
    for (unsigned j = 8; j < block; ++j) put_eight(keys + i * block + j, stretch_blocks * block);
  }
  for (std::uint64_t i = 8 * stretch_blocks; i < num_blocks; ++i) {
    for (unsigned j = 8; j < block; j += 8) put_eight(keys + i * block + j, 1);
  }
  for (std::uint64_t i = num_blocks * block; i < num_keys; ++i) slots[cursors[slot_of(keys[i])]++] = keys[i];
  if (count_fullest() > slot_keys) return false;
  // A network is faster where it knows a range that its keys lie in.
  const std::uint64_t width = ((std::uint64_t{1} << 32) / multiplier + 1) << shift;
  const auto bounds_of = [&](std::uint64_t slot) __attribute__((always_inline)) {
    const std::uint64_t low = static_cast<std::uint64_t>(least) + ((slot << 32) / multiplier << shift);
    return std::pair(static_cast<T>(low), static_cast<T>(low + width));
  };
  K* to = result;
  for (std::uint64_t s = 0; s < num_slots; ++s) {
    const std::uint64_t count = cursors[s] - s * stride;
    if (count != 0) {
      const auto [low, high] = bounds_of(s);
      finish.sort(slots + s * stride, count, to, low, high);
    }
    to += count;
  }
  return true;
}

/// Quicksort takes fewer; more of them where a last split is saved by a merge of two networks.
template <class K>
std::uint64_t fewest_in_slots() {
  if (favours_networks()) return 64 * network_size<K>();
  return HWY_TARGET == HWY_AVX2 ? (sizeof(K) == 4 ? 32 : 8) * network_size<K>()
                                : (sizeof(K) == 4 ? 32 : 7) * network_size<K>();
}

/// Sorts lane bits, more than a network takes, which are overwritten. `result` is where they lie or does not overlap
/// them.
template <class K, bool identity>
void sort_encoded(const keys::codec_of<K>& codec, lane_type<K>* keys, K* result, std::uint64_t num_keys,
                  lane_type<K> least, lane_type<K> greatest, const vector_sort_scratch<K>& scratch) {
  const finisher<K, identity> finish(codec, result + num_keys);
  if (least == greatest) return finish.fill(result, num_keys, least);
  const key_scale<K> scale = fit_scale<K, identity>(codec, keys, num_keys, least, greatest);
  if (num_keys >= fewest_in_slots<K>() && scale.is == key_scale<K>::kind::bits &&
      sort_slots<K, identity>(finish, keys, num_keys, result, least, greatest, scratch)) {
    return;
  }
  const unsigned most_depth = 4 * static_cast<unsigned>(std::bit_width(num_keys));
  quicksorter<K, identity>(finish, keys, result, scale).sort(num_keys, least, greatest, most_depth);
}

/// Sorts any number of lane bits so.
template <class K, bool identity>
void sort_part(const keys::codec_of<K>& codec, lane_type<K>* keys, K* result, std::uint64_t num_keys,
               lane_type<K> least, lane_type<K> greatest, const vector_sort_scratch<K>& scratch) {
  if (num_keys == 0) return;
  if (num_keys <= network_size<K>()) {
    return finisher<K, identity>(codec, result + num_keys).sort(keys, num_keys, result, least, greatest);
  }
  sort_encoded<K, identity>(codec, keys, result, num_keys, least, greatest, scratch);
}

/// Partitions lane bits of `from` until parts and their slots fit into the scratch, and finishes those there.
template <class K, bool identity>
void sort_large_part(const keys::codec_of<K>& codec, lane_type<K>* from, lane_type<K>* to, K* result,
                     std::uint64_t num_keys, lane_type<K> least, lane_type<K> greatest, unsigned depth,
                     const vector_sort_scratch<K>& scratch) {
  using T = lane_type<K>;
  const bool has_slots = scratch.num_second_keys / vector_sort_spread >= scratch.num_keys;
  while (num_keys > (has_slots ? scratch.num_keys : scratch.num_keys / 3) && least != greatest && depth != 0) {
    --depth;
    T pivot = sample_pivot<K>(from, num_keys).key;
    if (pivot == least) ++pivot;  // keys below are the least, all equal
    const split_ends<K> ends = split_apart<K, permuted_split<K, false>>(from, num_keys, pivot, {to, to + num_keys});
    const auto middle = static_cast<std::uint64_t>(ends.left - to);
    std::swap(from, to);
    sort_large_part<K, identity>(codec, from, to, result, middle, least, pivot - 1, depth, scratch);
    from += middle;
    to += middle;
    result += middle;
    num_keys -= middle;
    least = pivot;
  }
  sort_part<K, identity>(codec, from, result, num_keys, least, greatest, scratch);
}

template <class K, bool identity>
void vector_sort_large_as(const keys::codec_of<K>& codec, K* keys, K* other, K* result, std::uint64_t num_keys,
                          const vector_sort_scratch<K>& scratch) {
  using T = lane_type<K>;
  T* const from = reinterpret_cast<T*>(keys);
  const auto [least, greatest] = encode_all<K, identity>(codec, keys, num_keys, from);
  const unsigned most_depth = 4 * static_cast<unsigned>(std::bit_width(num_keys));
  sort_large_part<K, identity>(codec, from, reinterpret_cast<T*>(other), result, num_keys, least, greatest, most_depth,
                               scratch);
}

// ---- parts

template <class K>
lane_type<K>* as_lanes(K* keys) {
  return reinterpret_cast<lane_type<K>*>(keys);
}

template <class K>
vector_part<K> whole_part(K* keys, std::uint64_t num_keys, lane_type<K> least, lane_type<K> greatest) {
  const unsigned most_depth = 4 * static_cast<unsigned>(std::bit_width(num_keys));
  return {keys, num_keys, static_cast<K>(least), static_cast<K>(greatest), most_depth};
}

template <class K>
vector_part<K> begin_of(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  const auto [least, greatest] = codec.is_identity() ? encode_all<K, true>(codec, keys, num_keys, as_lanes(keys))
                                                     : encode_all<K, false>(codec, keys, num_keys, as_lanes(keys));
  return whole_part(keys, num_keys, least, greatest);
}

/// Writes the keys that a split in three has left out between the lower and the upper ones. Returns these two parts.
template <class K>
std::pair<vector_part<K>, vector_part<K>> fill_between(const keys::codec_of<K>& codec, const vector_part<K>& part,
                                                       const split_ends<K>& ends, const sampled_pivot<K>& pivot) {
  using T = lane_type<K>;
  const auto least = static_cast<T>(part.least);
  const auto greatest = static_cast<T>(part.greatest);
  const auto num_below = static_cast<std::uint64_t>(ends.left - as_lanes(part.keys));
  const auto num_not_above = static_cast<std::uint64_t>(ends.right - as_lanes(part.keys));
  finisher<K, false>(codec, part.keys + part.num_keys)
      .fill(part.keys + num_below, num_not_above - num_below, pivot.key);
  const T last_below = pivot.key == least ? least : pivot.key - 1;
  const T first_above = pivot.repeats ? (pivot.key == greatest ? greatest : pivot.key + 1) : pivot.key;
  return {{part.keys, num_below, part.least, static_cast<K>(last_below), part.depth - 1},
          {part.keys + num_not_above, part.num_keys - num_not_above, static_cast<K>(first_above), part.greatest,
           part.depth - 1}};
}

template <class K>
std::pair<vector_part<K>, vector_part<K>> split_of(const keys::codec_of<K>& codec, const vector_part<K>& part) {
  using T = lane_type<K>;
  T* const keys = as_lanes(part.keys);
  const auto least = static_cast<T>(part.least);
  const auto greatest = static_cast<T>(part.greatest);
  const key_scale<K> scale = fit_scale<K, false>(codec, keys, part.num_keys, least, greatest);
  const bool by_scale = scale.is != key_scale<K>::kind::none;
  sampled_pivot<K> pivot =
      by_scale ? sampled_pivot<K>{scale.between(least, greatest, 0.5)} : sample_pivot<K>(keys, part.num_keys);
  if (!pivot.repeats && pivot.key == least) ++pivot.key;  // keys below are the least, all equal
  return fill_between(codec, part,
                      pivot.repeats ? split_in_place<K, true>(keys, part.num_keys, pivot.key)
                                    : split_in_place<K, false>(keys, part.num_keys, pivot.key),
                      pivot);
}

template <class K, bool identity>
std::pair<vector_part<K>, vector_part<K>> split_first_as(const keys::codec_of<K>& codec, K* keys,
                                                         std::uint64_t num_keys) {
  HWY_ALIGN lane_type<K> samples[num_pivot_samples];
  take_pivot_samples(as_lanes(keys), num_keys, samples);
  encode_all<K, identity>(codec, reinterpret_cast<const K*>(samples), num_pivot_samples, samples);
  sampled_pivot<K> pivot = heaviest_or_median<K>(samples);
  const lane_type<K> least = samples[0];
  const lane_type<K> greatest = samples[num_pivot_samples - 1];
  if (!pivot.repeats && least != greatest) {
    // The middle between the ends of a scale is nearer the median of all than that of the samples.
    const key_scale<K> scale = fit_scale<K, identity>(codec, samples, num_pivot_samples, least, greatest);
    if (scale.is != key_scale<K>::kind::none) pivot.key = scale.between(least, greatest, 0.5);
  }
  const encoded_split<K> found = pivot.repeats ? encode_and_split<K, true, identity>(codec, keys, num_keys, pivot.key)
                                               : encode_and_split<K, false, identity>(codec, keys, num_keys, pivot.key);
  return fill_between(codec, whole_part(keys, num_keys, found.least, found.greatest), found.ends, pivot);
}

template <class K>
std::pair<vector_part<K>, vector_part<K>> split_first_of(const keys::codec_of<K>& codec, K* keys,
                                                         std::uint64_t num_keys) {
  return codec.is_identity() ? split_first_as<K, true>(codec, keys, num_keys)
                             : split_first_as<K, false>(codec, keys, num_keys);
}

template <class K, bool identity>
void finish_as(const keys::codec_of<K>& codec, const vector_part<K>& part, const vector_sort_scratch<K>& scratch) {
  using T = lane_type<K>;
  sort_part<K, identity>(codec, as_lanes(part.keys), part.keys, part.num_keys, static_cast<T>(part.least),
                         static_cast<T>(part.greatest), scratch);
}

template <class K>
void finish_of(const keys::codec_of<K>& codec, const vector_part<K>& part, const vector_sort_scratch<K>& scratch) {
  if (codec.is_identity()) return finish_as<K, true>(codec, part, scratch);
  finish_as<K, false>(codec, part, scratch);
}

template <class K, bool identity>
void vector_sort_as(const keys::codec_of<K>& codec, const K* from, K* result, std::uint64_t num_keys,
                    const vector_sort_scratch<K>& scratch) {
  const finisher<K, identity> finish(codec, result + num_keys);
  if (num_keys <= network_size<K>()) return finish.sort_raw(from, num_keys, result);
  if (num_keys <= 2 * network_size<K>()) return finish.sort_two_raw(from, num_keys, result);
  auto* const encoded = reinterpret_cast<lane_type<K>*>(scratch.first);
  const auto [least, greatest] = encode_all<K, identity>(codec, from, num_keys, encoded);
  sort_encoded<K, identity>(codec, encoded, result, num_keys, least, greatest, scratch);
}

template <class K, bool identity>
void vector_sort_runs_as(const keys::codec_of<K>& codec, std::span<const key_run<K>> runs, K* result,
                         std::uint64_t num_keys, const vector_sort_scratch<K>& scratch) {
  using T = lane_type<K>;
  T least = hwy::HighestValue<T>();
  T greatest = hwy::LowestValue<T>();
  T* to = reinterpret_cast<T*>(scratch.first);
  for (const key_run<K>& run : runs) {
    const auto [low, high] = encode_all<K, identity>(codec, run.keys, run.count, to);
    least = std::min(least, low);
    greatest = std::max(greatest, high);
    to += run.count;
  }
  sort_part<K, identity>(codec, reinterpret_cast<T*>(scratch.first), result, num_keys, least, greatest, scratch);
}

template <class K>
void vector_sort_runs_of(const keys::codec_of<K>& codec, std::span<const key_run<K>> runs, K* result,
                         std::uint64_t num_keys, const vector_sort_scratch<K>& scratch) {
  if (num_keys == 0) return;
  if (codec.is_identity()) return vector_sort_runs_as<K, true>(codec, runs, result, num_keys, scratch);
  vector_sort_runs_as<K, false>(codec, runs, result, num_keys, scratch);
}

template <class K>
void vector_sort_of(const keys::codec_of<K>& codec, const K* from, K* result, std::uint64_t num_keys,
                    const vector_sort_scratch<K>& scratch) {
  if (num_keys == 0) return;
  if (codec.is_identity()) return vector_sort_as<K, true>(codec, from, result, num_keys, scratch);
  vector_sort_as<K, false>(codec, from, result, num_keys, scratch);
}

template <class K>
void vector_sort_large_of(const keys::codec_of<K>& codec, K* keys, K* other, K* result, std::uint64_t num_keys,
                          const vector_sort_scratch<K>& scratch) {
  if (num_keys == 0) return;
  if (codec.is_identity()) return vector_sort_large_as<K, true>(codec, keys, other, result, num_keys, scratch);
  vector_sort_large_as<K, false>(codec, keys, other, result, num_keys, scratch);
}

template <class K>
network_sort network_sort_of(bool is_identity) {
  return {network_size<K>(), is_identity ? &sort_by_network<K, true> : &sort_by_network<K, false>};
}

bool has_sort() { return true; }

#else  // other vectors are too narrow

template <class K>
void vector_sort_of(const keys::codec_of<K>&, const K*, K*, std::uint64_t, const vector_sort_scratch<K>&) {}
template <class K>
void vector_sort_large_of(const keys::codec_of<K>&, K*, K*, K*, std::uint64_t, const vector_sort_scratch<K>&) {}
template <class K>
vector_part<K> begin_of(const keys::codec_of<K>&, K*, std::uint64_t) {
  return {};
}
template <class K>
std::pair<vector_part<K>, vector_part<K>> split_of(const keys::codec_of<K>&, const vector_part<K>&) {
  return {};
}
template <class K>
std::pair<vector_part<K>, vector_part<K>> split_first_of(const keys::codec_of<K>&, K*, std::uint64_t) {
  return {};
}
template <class K>
void finish_of(const keys::codec_of<K>&, const vector_part<K>&, const vector_sort_scratch<K>&) {}
template <class K>
void vector_sort_runs_of(const keys::codec_of<K>&, std::span<const key_run<K>>, K*, std::uint64_t,
                         const vector_sort_scratch<K>&) {}
template <class K>
network_sort network_sort_of(bool) {
  return {};
}
bool has_sort() { return false; }

#endif

// A choice at run time is one between plain functions.
#define SPANSORT_VECTOR_SORT(K, SUFFIX)                                                                                \
  void vector_sort_##SUFFIX(const keys::codec_of<K>& c, const K* from, K* to, std::uint64_t n,                         \
                            const vector_sort_scratch<K>& s) {                                                         \
    vector_sort_of(c, from, to, n, s);                                                                                 \
  }                                                                                                                    \
  void vector_sort_runs_##SUFFIX(const keys::codec_of<K>& c, std::span<const key_run<K>> runs, K* to, std::uint64_t n, \
                                 const vector_sort_scratch<K>& s) {                                                    \
    vector_sort_runs_of(c, runs, to, n, s);                                                                            \
  }                                                                                                                    \
  void vector_sort_large_##SUFFIX(const keys::codec_of<K>& c, K* keys, K* other, K* to, std::uint64_t n,               \
                                  const vector_sort_scratch<K>& s) {                                                   \
    vector_sort_large_of(c, keys, other, to, n, s);                                                                    \
  }                                                                                                                    \
  vector_part<K> begin_##SUFFIX(const keys::codec_of<K>& c, K* keys, std::uint64_t n) { return begin_of(c, keys, n); } \
  std::pair<vector_part<K>, vector_part<K>> split_##SUFFIX(const keys::codec_of<K>& c, const vector_part<K>& p) {      \
    return split_of(c, p);                                                                                             \
  }                                                                                                                    \
  std::pair<vector_part<K>, vector_part<K>> split_first_##SUFFIX(const keys::codec_of<K>& c, K* keys,                  \
                                                                 std::uint64_t n) {                                    \
    return split_first_of(c, keys, n);                                                                                 \
  }                                                                                                                    \
  void finish_##SUFFIX(const keys::codec_of<K>& c, const vector_part<K>& p, const vector_sort_scratch<K>& s) {         \
    finish_of(c, p, s);                                                                                                \
  }                                                                                                                    \
  network_sort network_sort_##SUFFIX(bool is_identity) { return network_sort_of<K>(is_identity); }
SPANSORT_VECTOR_SORT(std::uint32_t, u32)
SPANSORT_VECTOR_SORT(std::uint64_t, u64)
#undef SPANSORT_VECTOR_SORT

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

bool has_vector_sort() {
  static const bool has = SPANSORT_CHOOSE_FUNCTION(has_sort)();
  return has;
}
#define SPANSORT_DISPATCH(K, SUFFIX)                                                                                 \
  template <>                                                                                                        \
  void vector_sort<K>(const keys::codec_of<K>& c, const K* from, K* to, std::uint64_t n,                             \
                      const vector_sort_scratch<K>& s) {                                                             \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(vector_sort_##SUFFIX);                                         \
    best(c, from, to, n, s);                                                                                         \
  }                                                                                                                  \
  template <>                                                                                                        \
  void vector_sort_runs<K>(const keys::codec_of<K>& c, std::span<const key_run<K>> runs, K* to, std::uint64_t n,     \
                           const vector_sort_scratch<K>& s) {                                                        \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(vector_sort_runs_##SUFFIX);                                    \
    best(c, runs, to, n, s);                                                                                         \
  }                                                                                                                  \
  template <>                                                                                                        \
  void vector_sort_large<K>(const keys::codec_of<K>& c, K* keys, K* other, K* to, std::uint64_t n,                   \
                            const vector_sort_scratch<K>& s) {                                                       \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(vector_sort_large_##SUFFIX);                                   \
    best(c, keys, other, to, n, s);                                                                                  \
  }                                                                                                                  \
  template <>                                                                                                        \
  vector_part<K> vector_sort_begin<K>(const keys::codec_of<K>& c, K* keys, std::uint64_t n) {                        \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(begin_##SUFFIX);                                               \
    return best(c, keys, n);                                                                                         \
  }                                                                                                                  \
  template <>                                                                                                        \
  std::pair<vector_part<K>, vector_part<K>> vector_sort_split<K>(const keys::codec_of<K>& c,                         \
                                                                 const vector_part<K>& p) {                          \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(split_##SUFFIX);                                               \
    return best(c, p);                                                                                               \
  }                                                                                                                  \
  template <>                                                                                                        \
  std::pair<vector_part<K>, vector_part<K>> vector_sort_split_first<K>(const keys::codec_of<K>& c, K* keys,          \
                                                                       std::uint64_t n) {                            \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(split_first_##SUFFIX);                                         \
    return best(c, keys, n);                                                                                         \
  }                                                                                                                  \
  template <>                                                                                                        \
  void vector_sort_finish<K>(const keys::codec_of<K>& c, const vector_part<K>& p, const vector_sort_scratch<K>& s) { \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(finish_##SUFFIX);                                              \
    best(c, p, s);                                                                                                   \
  }                                                                                                                  \
  template <>                                                                                                        \
  network_sort find_network_sort<K>(bool is_identity) {                                                              \
    return SPANSORT_CHOOSE_FUNCTION(network_sort_##SUFFIX)(is_identity);                                             \
  }
SPANSORT_DISPATCH(std::uint32_t, u32)
SPANSORT_DISPATCH(std::uint64_t, u64)
#undef SPANSORT_DISPATCH

}  // namespace spansort::device::host
#endif
