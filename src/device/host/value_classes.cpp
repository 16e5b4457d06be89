// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/value_classes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "device/host/vector_targets.hpp"

// F(K, its name, V, its name) for all that there are kernels for, and for those whose values may be positions.
#undef SPANSORT_WIDTHS_OF_ORDERS
#define SPANSORT_WIDTHS_OF_ORDERS(F) \
  F(std::uint32_t, u32, value4, 4)   \
  F(std::uint32_t, u32, value8, 8)   \
  F(std::uint64_t, u64, value4, 4)   \
  F(std::uint64_t, u64, value8, 8)
#undef SPANSORT_WIDTHS_OF_PAIRS
#define SPANSORT_WIDTHS_OF_PAIRS(F)  \
  SPANSORT_WIDTHS_OF_ORDERS(F)       \
  F(std::uint32_t, u32, value16, 16) \
  F(std::uint64_t, u64, value16, 16)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/value_classes.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/vector_quicksort-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

/// Positions in the place of values, from `first` on.
template <class V>
struct positions_from {
  std::uint64_t first = 0;
  HWY_INLINE V operator[](std::uint64_t i) const { return V{static_cast<decltype(V::word)>(first + i)}; }
};

template <class K, class Values, class V>
void place_one_by_one(const K* keys, const Values& values, std::uint64_t num_keys, std::span<const K> wanted,
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

template <class K, class Values, class V>
void place_hashed(const K* HWY_RESTRICT keys, const Values& values, std::uint64_t num_keys, std::span<const K> wanted,
                  class_places<V>& places) {
  const class_hash<K> class_of(wanted);
  if (!class_of.was_found()) return place_one_by_one(keys, values, num_keys, wanted, places);
  // The first half goes up from where the values of each key begin, and the second one down from where they end: of two
  // equal keys in a row one waits for what the other has stored.
  V* nexts[most_few_values];
  V* ends[most_few_values];
  std::copy(places.next.begin(), places.next.end(), nexts);
  std::copy(places.end.begin(), places.end.end(), ends);
  std::uint64_t begin = 0;
  std::uint64_t end = num_keys;
  for (; begin + 4 <= end; begin += 2, end -= 2) {
    const std::size_t up[] = {class_of(keys[begin]), class_of(keys[begin + 1])};
    const std::size_t down[] = {class_of(keys[end - 1]), class_of(keys[end - 2])};
    *nexts[up[0]]++ = values[begin];
    *--ends[down[0]] = values[end - 1];
    *nexts[up[1]]++ = values[begin + 1];
    *--ends[down[1]] = values[end - 2];
  }
  for (; begin < end; ++begin) *nexts[class_of(keys[begin])]++ = values[begin];
  std::copy(places.end.begin(), places.end.end(), places.next.begin());
}

/// The compiler's own vectors serve.
template <class K>
void count_heavy_of(const K* HWY_RESTRICT keys, std::uint64_t num_keys, std::span<const K> heavy,
                    std::uint64_t* counts) {
  constexpr std::uint64_t tile_keys = 16384 / sizeof(K);  // stays in the first-level cache from key to key
  for (std::uint64_t begin = 0; begin < num_keys; begin += tile_keys) {
    const std::uint64_t end = std::min(num_keys, begin + tile_keys);
    for (std::size_t h = 0; h < heavy.size(); ++h) {
      const K key = heavy[h];
      K count = 0;  // as wide as the keys, for the sake of the vectors
      for (std::uint64_t i = begin; i < end; ++i) count += keys[i] == key ? 1 : 0;
      counts[h] += count;
    }
  }
}

/// Writes what is left behind what has been read, so that it may go where it came from. `room` is for what is left.
template <class K, class V>
void split_one_by_one(split_records<K, V> from, std::uint64_t num_keys, std::span<const K> heavy,
                      class_places<V>& places, split_records<K, V> to, std::uint64_t room) {
  V* next[most_heavy_pairs + 1];
  const std::size_t other = heavy.size();
  for (std::size_t h = 0; h < other; ++h) next[h] = places.next[h];
  next[other] = to.values;
  K* next_key = to.keys;
  const K* const end = to.keys + room;
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    const K key = from.keys[i];
    const V value = from.values[i];
    std::size_t found = other;
    for (std::size_t h = 0; h < other; ++h) found = key == heavy[h] ? h : found;
    *next[found]++ = value;
    // Each key is written, and the next one over it where it is heavy: no branch has to guess.
    if (next_key != end) [[likely]]
      *next_key = key;
    next_key += found == other ? 1 : 0;
  }
  for (std::size_t h = 0; h < other; ++h) places.next[h] = next[h];
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

/// Lanes that stand at the front of a vector are stored whole where there is room for a vector.
template <class D, class To>
HWY_INLINE void store_front(D d, hn::Vec<D> front, std::uint64_t count, To* to, const To* last) {
  using T = hn::TFromD<D>;
  if (to <= last) [[likely]] {
    hn::StoreU(front, d, reinterpret_cast<T*>(to));
  } else {
    HWY_ALIGN T part[hn::MaxLanes(D())];
    hn::Store(front, d, part);
    std::memcpy(static_cast<void*>(to), part, count * sizeof(T));
  }
}

/// The last place at which there is room for a vector; one before `begin` where there is none.
template <class D, class To>
HWY_INLINE To* last_whole(D, To* begin, To* end) {
  constexpr std::ptrdiff_t lanes = hn::MaxLanes(D());
  return end - begin < lanes ? begin - 1 : end - lanes;
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
    last[v] = last_whole(d, nexts[v], ends[v]);
    key[v] = hn::Set(d, static_cast<T>(wanted[v]));
  }
  for (std::uint64_t i = 0; i < num_vectors; ++i) {
    const auto x = hn::LoadU(d, reinterpret_cast<const T*>(keys) + i * lanes);
    const auto y = hn::LoadU(d, reinterpret_cast<const T*>(values + i * lanes));
    for (unsigned v = 0; v < num_classes; ++v) {
      std::uint64_t count = 0;
      const auto moved = lanes_first<W>(d, y, hn::Eq(x, key[v]), count);
      store_front(d, moved, count, next[v], last[v]);
      next[v] += count;
    }
  }
  for (unsigned v = 0; v < num_classes; ++v) nexts[v] = next[v];
}

/// Stores positions that stand at the front of a vector, as wide as V, whole where there is room for a vector.
template <class D, class V>
HWY_INLINE void store_positions(D d, hn::Vec<D> front, std::uint64_t count, V* to, const V* last) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(V)) {
    store_front(d, front, count, to, last);
  } else {
    const hn::ScalableTag<std::uint64_t> wide;
    const hn::Half<D> half;
    const auto lower = hn::PromoteTo(wide, hn::LowerHalf(half, front));
    const auto upper = hn::PromoteTo(wide, hn::UpperHalf(half, front));
    constexpr std::size_t lanes = hn::MaxLanes(hn::ScalableTag<std::uint64_t>());
    HWY_ALIGN std::uint64_t part[2 * lanes];
    std::uint64_t* const whole = to <= last ? reinterpret_cast<std::uint64_t*>(to) : part;
    hn::StoreU(lower, wide, whole);
    hn::StoreU(upper, wide, whole + lanes);
    if (to > last) [[unlikely]]
      std::memcpy(static_cast<void*>(to), part, count * sizeof(V));
  }
}

/// Does what place_group() does with the positions from `first` on in the place of values.
template <unsigned num_classes, class W, class V>
HWY_INLINE void place_position_group(const W* HWY_RESTRICT keys, std::uint64_t first, std::uint64_t num_vectors,
                                     const W* wanted, V** nexts, V* const* ends) {
  using T = lane_type<W>;
  const full_tag<W> d;
  constexpr std::uint64_t lanes = lanes_of<W>();
  V* next[num_classes];
  V* last[num_classes];
  hn::Vec<full_tag<W>> key[num_classes];
  for (unsigned v = 0; v < num_classes; ++v) {
    next[v] = nexts[v];
    last[v] = last_whole(d, nexts[v], ends[v]);
    key[v] = hn::Set(d, static_cast<T>(wanted[v]));
  }
  auto position = hn::Iota(d, static_cast<T>(first));
  for (std::uint64_t i = 0; i < num_vectors; ++i) {
    const auto x = hn::LoadU(d, reinterpret_cast<const T*>(keys) + i * lanes);
    for (unsigned v = 0; v < num_classes; ++v) {
      std::uint64_t count = 0;
      const auto moved = lanes_first<W>(d, position, hn::Eq(x, key[v]), count);
      store_positions(d, moved, count, next[v], last[v]);
      next[v] += count;
    }
    position = hn::Add(position, hn::Set(d, static_cast<T>(lanes)));
  }
  for (unsigned v = 0; v < num_classes; ++v) nexts[v] = next[v];
}

/// Calls place.operator()<n>(first key, vectors, first class) for groups of n classes, tile by tile. Returns how many
/// keys are in whole vectors.
template <class K, class Place>
HWY_INLINE std::uint64_t place_by_groups(std::uint64_t num_keys, std::size_t num_classes, const Place& place) {
  constexpr std::uint64_t tile_vectors = 8192 / sizeof(K) / lanes_of<K>();  // stays in the first-level cache
  const std::uint64_t num_vectors = num_keys / lanes_of<K>();
  for (std::uint64_t begin = 0; begin < num_vectors; begin += tile_vectors) {
    const std::uint64_t n = std::min(tile_vectors, num_vectors - begin);
    const std::uint64_t first = begin * lanes_of<K>();
    std::size_t v = 0;
    for (; v + 4 <= num_classes; v += 4) place.template operator()<4>(first, n, v);
    switch (num_classes - v) {
      case 3: place.template operator()<3>(first, n, v); break;
      case 2: place.template operator()<2>(first, n, v); break;
      case 1: place.template operator()<1>(first, n, v); break;
      default: break;
    }
  }
  return num_vectors * lanes_of<K>();
}

template <class K, class V>
void place_values_of(const K* HWY_RESTRICT keys, const V* values, std::uint64_t num_keys, std::span<const K> wanted,
                     class_places<V>& places) {
  constexpr std::size_t most_compressed = sizeof(K) == 4 ? 12 : 6;
  if constexpr (sizeof(K) != sizeof(V)) {
    place_hashed(keys, values, num_keys, wanted, places);
  } else {
    if (wanted.size() > most_compressed) return place_hashed(keys, values, num_keys, wanted, places);
    const auto place = [&]<unsigned n>(std::uint64_t first, std::uint64_t num_vectors, std::size_t v) HWY_ATTR {
      place_group<n>(keys + first, values + first, num_vectors, &wanted[v], &places.next[v], &places.end[v]);
    };
    const std::uint64_t done = place_by_groups<K>(num_keys, wanted.size(), place);
    place_one_by_one(keys + done, values + done, num_keys - done, wanted, places);
  }
}

template <class K, class V>
void place_positions_of(const K* HWY_RESTRICT keys, std::uint64_t num_keys, std::span<const K> wanted,
                        class_places<V>& places) {
  constexpr std::size_t most_compressed = sizeof(K) == 4 ? (sizeof(V) == 4 ? 12 : 8) : 6;
  if constexpr (sizeof(K) > sizeof(V)) {
    place_hashed(keys, positions_from<V>(), num_keys, wanted, places);
  } else {
    if (wanted.size() > most_compressed) return place_hashed(keys, positions_from<V>(), num_keys, wanted, places);
    const auto place = [&]<unsigned n>(std::uint64_t first, std::uint64_t num_vectors, std::size_t v) HWY_ATTR {
      place_position_group<n>(keys + first, first, num_vectors, &wanted[v], &places.next[v], &places.end[v]);
    };
    const std::uint64_t done = place_by_groups<K>(num_keys, wanted.size(), place);
    place_one_by_one(keys + done, positions_from<V>{done}, num_keys - done, wanted, places);
  }
}

/// Keys and values of the same width W; what is none of the heavy keys goes to `to`, which has room for so many.
template <unsigned num_heavy, bool rarely_others, class W, class V>
void split_group(split_records<W, V> from, std::uint64_t num_keys, std::span<const W> heavy, class_places<V>& places,
                 split_records<W, V> to, std::uint64_t room) {
  using T = lane_type<W>;
  const full_tag<W> d;
  constexpr std::uint64_t lanes = lanes_of<W>();
  V* next[num_heavy];
  V* last[num_heavy];
  hn::Vec<full_tag<W>> key[num_heavy];
  for (unsigned h = 0; h < num_heavy; ++h) {
    next[h] = places.next[h];
    last[h] = last_whole(d, places.next[h], places.end[h]);
    key[h] = hn::Set(d, static_cast<T>(heavy[h]));
  }
  W* next_key = to.keys;
  V* next_value = to.values;
  W* const last_key = last_whole(d, to.keys, to.keys + room);
  V* const last_value = last_whole(d, to.values, to.values + room);
  std::uint64_t i = 0;
  for (; i + lanes <= num_keys; i += lanes) {
    const auto x = hn::LoadU(d, reinterpret_cast<const T*>(from.keys + i));
    const auto y = hn::LoadU(d, reinterpret_cast<const T*>(from.values + i));
    auto any = hn::Eq(x, key[0]);
    for (unsigned h = 0; h < num_heavy; ++h) {
      const auto equal = hn::Eq(x, key[h]);
      any = hn::Or(any, equal);
      std::uint64_t count = 0;
      const auto moved = lanes_first<W>(d, y, equal, count);
      store_front(d, moved, count, next[h], last[h]);
      next[h] += count;
    }
    if constexpr (rarely_others) {
      if (hn::AllTrue(d, any)) [[likely]]
        continue;
    }
    const auto light = hn::Not(any);
    std::uint64_t count = 0;
    const auto keys = lanes_first<W>(d, x, light, count);
    const auto values = lanes_first<W>(d, y, light, count);
    store_front(d, keys, count, next_key, last_key);
    store_front(d, values, count, next_value, last_value);
    next_key += count;
    next_value += count;
  }
  std::copy_n(next, num_heavy, places.next.begin());
  split_one_by_one(from + i, num_keys - i, heavy, places, {next_key, next_value},
                   room - static_cast<std::uint64_t>(next_key - to.keys));
}

#if HWY_TARGET == HWY_AVX3
/// Does the same to keys of 32 bits with values of 64, among them the positions of an argsort.
template <class K, class V>
void split_mixed(split_records<K, V> from, std::uint64_t num_keys, std::span<const K> heavy, class_places<V>& places,
                 split_records<K, V> to, std::uint64_t room) {
  const partition_tag<K> of_keys;
  const full_tag<std::uint64_t> of_values;
  constexpr std::uint64_t lanes = 8;
  using value_mask = hn::Mask<full_tag<std::uint64_t>>;
  const V* last[most_heavy_pairs];
  for (std::size_t h = 0; h < heavy.size(); ++h) last[h] = last_whole(of_values, places.next[h], places.end[h]);
  split_records<K, V> next = to;
  const K* const last_key = last_whole(of_keys, to.keys, to.keys + room);
  const V* const last_value = last_whole(of_values, to.values, to.values + room);
  std::uint64_t count = 0;
  std::uint64_t i = 0;
  for (; i + lanes <= num_keys; i += lanes) {
    const auto x = hn::LoadU(of_keys, from.keys + i);
    const auto y = hn::LoadU(of_values, reinterpret_cast<const std::int64_t*>(from.values + i));
    auto any = hn::Eq(x, hn::Set(of_keys, heavy[0]));
    for (std::size_t h = 0; h < heavy.size(); ++h) {
      const auto equal = hn::Eq(x, hn::Set(of_keys, heavy[h]));
      any = hn::Or(any, equal);
      const auto moved = lower_first(of_values, y, value_mask{equal.raw}, count);
      store_front(of_values, moved, count, places.next[h], last[h]);
      places.next[h] += count;
    }
    const auto light = hn::Not(any);
    const auto values = lower_first(of_values, y, value_mask{light.raw}, count);
    store_front(of_values, values, count, next.values, last_value);
    const auto keys = lower_first(of_keys, x, light, count);
    store_front(of_keys, keys, count, next.keys, last_key);
    next = next + count;
  }
  split_one_by_one(from + i, num_keys - i, heavy, places, next, room - static_cast<std::uint64_t>(next.keys - to.keys));
}
#endif

template <class K, class V>
void split_pairs_of(split_records<K, V> from, std::uint64_t num_keys, std::span<const K> heavy, class_places<V>& places,
                    split_records<K, V> to, std::uint64_t room, bool rarely_others) {
  if constexpr (sizeof(K) == sizeof(V)) {
    switch (rarely_others ? heavy.size() : 0) {
      case 2: return split_group<2, true>(from, num_keys, heavy, places, to, room);
      case 3: return split_group<3, true>(from, num_keys, heavy, places, to, room);
      case 4: return split_group<4, true>(from, num_keys, heavy, places, to, room);
      default: break;
    }
    switch (heavy.size()) {
      case 1: return split_group<1, false>(from, num_keys, heavy, places, to, room);
      case 2: return split_group<2, false>(from, num_keys, heavy, places, to, room);
      case 3: return split_group<3, false>(from, num_keys, heavy, places, to, room);
      case 4: return split_group<4, false>(from, num_keys, heavy, places, to, room);
      default: break;
    }
  }
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(K) == 4 && sizeof(V) == 8) return split_mixed(from, num_keys, heavy, places, to, room);
#endif
  split_one_by_one(from, num_keys, heavy, places, to, room);
}

#else

template <class K, class V>
void split_pairs_of(split_records<K, V> from, std::uint64_t num_keys, std::span<const K> heavy, class_places<V>& places,
                    split_records<K, V> to, std::uint64_t room, bool) {
  split_one_by_one(from, num_keys, heavy, places, to, room);
}

template <class K, class V>
void place_values_of(const K* keys, const V* values, std::uint64_t num_keys, std::span<const K> wanted,
                     class_places<V>& places) {
  // The values of one key may begin where all of them do: these must not be moved from both ends.
  if (wanted.size() <= most_placed_at_once<K, V>) return place_one_by_one(keys, values, num_keys, wanted, places);
  place_hashed(keys, values, num_keys, wanted, places);
}

template <class K, class V>
void place_positions_of(const K* keys, std::uint64_t num_keys, std::span<const K> wanted, class_places<V>& places) {
  place_hashed(keys, positions_from<V>(), num_keys, wanted, places);
}

#endif

// A choice at run time is one between plain functions.
#define SPANSORT_CLASSES_OF(K, KEY, V, VALUE)                                                              \
  void place_values_##KEY##_##VALUE(const K* keys, const V* values, std::uint64_t n, std::span<const K> w, \
                                    class_places<V>& places) {                                             \
    place_values_of(keys, values, n, w, places);                                                           \
  }                                                                                                        \
  void split_pairs_##KEY##_##VALUE(split_records<K, V> from, std::uint64_t n, std::span<const K> w,        \
                                   class_places<V>& places, split_records<K, V> to, std::uint64_t room,    \
                                   bool rarely_others) {                                                   \
    split_pairs_of(from, n, w, places, to, room, rarely_others);                                           \
  }
SPANSORT_WIDTHS_OF_PAIRS(SPANSORT_CLASSES_OF)
#undef SPANSORT_CLASSES_OF
#define SPANSORT_POSITIONS_OF(K, KEY, V, VALUE)                                              \
  void place_positions_##KEY##_##VALUE(const K* keys, std::uint64_t n, std::span<const K> w, \
                                       class_places<V>& places) {                            \
    place_positions_of(keys, n, w, places);                                                  \
  }
SPANSORT_WIDTHS_OF_ORDERS(SPANSORT_POSITIONS_OF)
#undef SPANSORT_POSITIONS_OF
void count_heavy_u32(const std::uint32_t* keys, std::uint64_t n, std::span<const std::uint32_t> w, std::uint64_t* to) {
  count_heavy_of(keys, n, w, to);
}
void count_heavy_u64(const std::uint64_t* keys, std::uint64_t n, std::span<const std::uint64_t> w, std::uint64_t* to) {
  count_heavy_of(keys, n, w, to);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

#define SPANSORT_CLASSES_OF(K, KEY, V, VALUE)                                                                       \
  template <>                                                                                                       \
  void place_values<K, V>(const K* keys, const V* values, std::uint64_t n, std::span<const K> w,                    \
                          class_places<V>& places) {                                                                \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(place_values_##KEY##_##VALUE);                                \
    best(keys, values, n, w, places);                                                                               \
  }                                                                                                                 \
  template <>                                                                                                       \
  void split_pairs<K, V>(split_records<K, V> from, std::uint64_t n, std::span<const K> w, class_places<V> & places, \
                         split_records<K, V> to, std::uint64_t room, bool rarely_others) {                          \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(split_pairs_##KEY##_##VALUE);                                 \
    best(from, n, w, places, to, room, rarely_others);                                                              \
  }
SPANSORT_WIDTHS_OF_PAIRS(SPANSORT_CLASSES_OF)
#undef SPANSORT_CLASSES_OF
#define SPANSORT_POSITIONS_OF(K, KEY, V, VALUE)                                                               \
  template <>                                                                                                 \
  void place_positions<K, V>(const K* keys, std::uint64_t n, std::span<const K> w, class_places<V>& places) { \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(place_positions_##KEY##_##VALUE);                       \
    best(keys, n, w, places);                                                                                 \
  }
SPANSORT_WIDTHS_OF_ORDERS(SPANSORT_POSITIONS_OF)
#undef SPANSORT_POSITIONS_OF
template <>
void count_heavy<std::uint32_t>(const std::uint32_t* keys, std::uint64_t n, std::span<const std::uint32_t> w,
                                std::uint64_t* counts) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(count_heavy_u32);
  best(keys, n, w, counts);
}
template <>
void count_heavy<std::uint64_t>(const std::uint64_t* keys, std::uint64_t n, std::span<const std::uint64_t> w,
                                std::uint64_t* counts) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(count_heavy_u64);
  best(keys, n, w, counts);
}

}  // namespace spansort::device::host
#endif
