// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/value_classes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/value_classes.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/vector_quicksort-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

template <class K, class V>
void place_one_by_one(const K* keys, const V* values, std::uint64_t num_keys, std::span<const K> wanted,
                      class_places<V>& places) {
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    std::size_t v = 0;
    while (wanted[v] != keys[i]) ++v;
    *places.next[v]++ = values[i];
  }
}

/// A hash without collisions, found by trial: nine of ten trials find one.
template <class K>
class class_hash {
 public:
  explicit class_hash(std::span<const K> wanted) {
    constexpr unsigned most_trials = 64;
    multiplier_ = static_cast<K>(0x9E3779B97F4A7C15U);
    for (unsigned i = 0; i < most_trials && !found_; ++i) {
      multiplier_ = static_cast<K>(multiplier_ * 5 + 4);  // odd again
      std::fill_n(classes_, num_cells, none);
      std::size_t v = 0;
      for (; v < wanted.size() && classes_[cell_of(wanted[v])] == none; ++v) {
        classes_[cell_of(wanted[v])] = static_cast<std::uint8_t>(v);
      }
      found_ = v == wanted.size();
    }
  }
  [[nodiscard]] bool was_found() const { return found_; }
  HWY_INLINE std::size_t operator()(K key) const { return classes_[cell_of(key)]; }

 private:
  static constexpr unsigned cell_bits = 10;
  static constexpr std::size_t num_cells = std::size_t{1} << cell_bits;
  static constexpr std::uint8_t none = 255;
  HWY_INLINE std::size_t cell_of(K key) const {
    return static_cast<K>(key * multiplier_) >> (sizeof(K) * 8 - cell_bits);
  }

  K multiplier_ = 0;
  bool found_ = false;
  std::uint8_t classes_[num_cells];
};

template <class K, class V>
void place_hashed(const K* HWY_RESTRICT keys, const V* HWY_RESTRICT values, std::uint64_t num_keys,
                  std::span<const K> wanted, class_places<V>& places) {
  const class_hash<K> class_of(wanted);
  if (!class_of.was_found()) return place_one_by_one(keys, values, num_keys, wanted, places);
  V* nexts[most_few_values];
  std::copy(places.next.begin(), places.next.end(), nexts);
  std::uint64_t i = 0;
  for (; i + 8 <= num_keys; i += 8) {
    std::size_t classes[8];
    for (unsigned j = 0; j < 8; ++j) classes[j] = class_of(keys[i + j]);
    for (unsigned j = 0; j < 8; ++j) *nexts[classes[j]]++ = values[i + j];
  }
  for (; i < num_keys; ++i) *nexts[class_of(keys[i])]++ = values[i];
  std::copy(nexts, nexts + most_few_values, places.next.begin());
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// The lanes of a mask, in their order, at the front of a vector.
template <class W>
HWY_INLINE hn::Vec<full_tag<W>> lanes_first(full_tag<W> d, hn::Vec<full_tag<W>> x, hn::Mask<full_tag<W>> mask,
                                            std::uint64_t& count) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(W) == 4) {
    count = hn::CountTrue(d, mask);
    return hn::Compress(x, mask);
  }
#endif
  if constexpr (HWY_TARGET != HWY_AVX3 || sizeof(W) == 8) return lower_first(d, x, mask, count);
}

/// Keys and values of the same width W: whole vectors of values are stored as long as a class has room for them.
template <unsigned num_classes, class W, class V>
HWY_INLINE void place_group(const W* HWY_RESTRICT keys, const V* values, std::uint64_t num_vectors, const W* wanted,
                            V** nexts, V* const* ends) {
  using T = lane_type<W>;
  const full_tag<W> d;
  constexpr std::uint64_t lanes = lanes_of<W>();
  V* next[num_classes];
  V* last[num_classes];
  hn::Vec<full_tag<W>> key[num_classes];
  for (unsigned v = 0; v < num_classes; ++v) {
    next[v] = nexts[v];
    last[v] = ends[v] - std::min<std::ptrdiff_t>(lanes, ends[v] - nexts[v]);
    if (ends[v] - nexts[v] < static_cast<std::ptrdiff_t>(lanes)) last[v] = nexts[v] - 1;
    key[v] = hn::Set(d, static_cast<T>(wanted[v]));
  }
  for (std::uint64_t i = 0; i < num_vectors; ++i) {
    const auto x = hn::LoadU(d, reinterpret_cast<const T*>(keys) + i * lanes);
    const auto y = hn::LoadU(d, reinterpret_cast<const T*>(values + i * lanes));
    for (unsigned v = 0; v < num_classes; ++v) {
      std::uint64_t count = 0;
      const auto moved = lanes_first<W>(d, y, hn::Eq(x, key[v]), count);
      if (next[v] <= last[v]) [[likely]] {
        hn::StoreU(moved, d, reinterpret_cast<T*>(next[v]));
      } else {
        HWY_ALIGN T part[lanes];
        hn::Store(moved, d, part);
        std::memcpy(static_cast<void*>(next[v]), part, count * sizeof(T));
      }
      next[v] += count;
    }
  }
  for (unsigned v = 0; v < num_classes; ++v) nexts[v] = next[v];
}

template <class K, class V>
void place_values_of(const K* HWY_RESTRICT keys, const V* values, std::uint64_t num_keys, std::span<const K> wanted,
                     class_places<V>& places) {
  constexpr std::size_t most_compressed = sizeof(K) == 4 ? 12 : 6;
  if constexpr (sizeof(K) != sizeof(V)) {
    place_hashed(keys, values, num_keys, wanted, places);
  } else {
    if (wanted.size() > most_compressed) return place_hashed(keys, values, num_keys, wanted, places);
    constexpr std::uint64_t tile_vectors = 8192 / sizeof(K) / lanes_of<K>();  // stays in the first-level cache
    const std::uint64_t num_vectors = num_keys / lanes_of<K>();
    const auto num_classes = static_cast<unsigned>(wanted.size());
    for (std::uint64_t begin = 0; begin < num_vectors; begin += tile_vectors) {
      const std::uint64_t n = std::min(tile_vectors, num_vectors - begin);
      const K* const from = keys + begin * lanes_of<K>();
      const V* const with = values + begin * lanes_of<K>();
      unsigned v = 0;
      for (; v + 4 <= num_classes; v += 4) {
        place_group<4>(from, with, n, &wanted[v], &places.next[v], &places.end[v]);
      }
      for (; v + 2 <= num_classes; v += 2) {
        place_group<2>(from, with, n, &wanted[v], &places.next[v], &places.end[v]);
      }
      if (v < num_classes) place_group<1>(from, with, n, &wanted[v], &places.next[v], &places.end[v]);
    }
    const std::uint64_t done = num_vectors * lanes_of<K>();
    place_one_by_one(keys + done, values + done, num_keys - done, wanted, places);
  }
}

#else

template <class K, class V>
void place_values_of(const K* keys, const V* values, std::uint64_t num_keys, std::span<const K> wanted,
                     class_places<V>& places) {
  place_hashed(keys, values, num_keys, wanted, places);
}

#endif

// A choice at run time is one between plain functions.
#define SPANSORT_PLACE_VALUES(K, KEY, V, VALUE)                                                            \
  void place_values_##KEY##_##VALUE(const K* keys, const V* values, std::uint64_t n, std::span<const K> w, \
                                    class_places<V>& places) {                                             \
    place_values_of(keys, values, n, w, places);                                                           \
  }
SPANSORT_PLACE_VALUES(std::uint32_t, u32, value4, 4)
SPANSORT_PLACE_VALUES(std::uint32_t, u32, value8, 8)
SPANSORT_PLACE_VALUES(std::uint32_t, u32, value16, 16)
SPANSORT_PLACE_VALUES(std::uint64_t, u64, value4, 4)
SPANSORT_PLACE_VALUES(std::uint64_t, u64, value8, 8)
SPANSORT_PLACE_VALUES(std::uint64_t, u64, value16, 16)
#undef SPANSORT_PLACE_VALUES

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

#define SPANSORT_PLACE_VALUES(K, KEY, V, VALUE)                                                  \
  template <>                                                                                    \
  void place_values<K, V>(const K* keys, const V* values, std::uint64_t n, std::span<const K> w, \
                          class_places<V>& places) {                                             \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(place_values_##KEY##_##VALUE);             \
    best(keys, values, n, w, places);                                                            \
  }
SPANSORT_PLACE_VALUES(std::uint32_t, u32, value4, 4)
SPANSORT_PLACE_VALUES(std::uint32_t, u32, value8, 8)
SPANSORT_PLACE_VALUES(std::uint32_t, u32, value16, 16)
SPANSORT_PLACE_VALUES(std::uint64_t, u64, value4, 4)
SPANSORT_PLACE_VALUES(std::uint64_t, u64, value8, 8)
SPANSORT_PLACE_VALUES(std::uint64_t, u64, value16, 16)
#undef SPANSORT_PLACE_VALUES

}  // namespace spansort::device::host
#endif
