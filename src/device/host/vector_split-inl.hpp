// SPDX-License-Identifier: Apache-2.0
// Splits of lane bits by a pivot, from array to array and in place. What a split in place reads it writes again while
// it lies in the nearest cache, where lines of a second array would have to be fetched as well. Keys of a vector move
// by a permutation from a table, or, where that is faster, by compressed stores. This header is included once for each
// of Highway's targets.
#if defined(SPANSORT_VECTOR_SPLIT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_SPLIT_INL
#undef SPANSORT_VECTOR_SPLIT_INL
#else
#define SPANSORT_VECTOR_SPLIT_INL
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>

#include "device/host/lane_orders.hpp"
#include "device/host/vector_finish-inl.hpp"
#include "device/host/vector_targets.hpp"

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

/// Stores the lanes of the mask together, and whatever behind them. Returns how many they are.
template <class D, class V>
HWY_INLINE std::uint64_t store_lanes_of(D d, V x, hn::Mask<D> mask, hn::TFromD<D>* to) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(*to) == 4) {
    hn::StoreU(V{_mm512_maskz_compress_epi32(mask.raw, x.raw)}, d, to);
  } else {
    hn::StoreU(V{_mm512_maskz_compress_epi64(mask.raw, x.raw)}, d, to);
  }
  return hn::CountTrue(d, mask);
#else
  std::uint64_t count = 0;
  hn::StoreU(lower_first(d, x, mask, count), d, to);
  return count;
#endif
}

/// Where the keys below a pivot end, and where the others begin.
template <class K>
struct split_ends {
  lane_type<K>* left = nullptr;
  lane_type<K>* right = nullptr;
};

/// Writes a vector's keys below the pivot from `left` on and the others up to `right`, which move towards each other.
/// Of three ways, keys equal to it are not written.
template <class K, bool three_ways>
struct permuted_split {
  using T = lane_type<K>;
  using D = partition_tag<K>;
  static constexpr bool drops_equal = three_ways;
  static constexpr std::uint64_t lanes = hn::MaxLanes(D());
  /// Whole vectors are written at both ends. What they write beyond their keys is written again: room for two is
  /// between the ends as long as two are to be read.
  static constexpr std::uint64_t spare_lanes = lanes;

  static HWY_INLINE void put(hn::Vec<D> x, hn::Vec<D> pivots, T*& left, T*& right) {
    const D d;
    std::uint64_t num_below = 0;
    const auto ordered = lower_first(d, x, hn::Lt(x, pivots), num_below);
    hn::StoreU(ordered, d, left);
    left += num_below;
    if constexpr (three_ways) {
      std::uint64_t num_not_above = 0;
      hn::StoreU(lower_first(d, x, hn::Not(hn::Gt(x, pivots)), num_not_above), d, right - lanes);
      right -= lanes - num_not_above;
    } else {
      hn::StoreU(ordered, d, right - lanes);
      right -= lanes - num_below;
    }
  }
};

#if HWY_TARGET == HWY_AVX3
/// Does so with 16 keys of 32 bits and no more than these.
template <bool three_ways>
struct compressed_split {
  using T = std::uint32_t;
  using D = full_tag<T>;
  static constexpr bool drops_equal = three_ways;
  static constexpr std::uint64_t lanes = 16;
  static constexpr std::uint64_t spare_lanes = 0;

  static HWY_INLINE void put(hn::Vec<D> x, hn::Vec<D> pivots, T*& left, T*& right) {
    const __mmask16 below = hn::Lt(x, pivots).raw;
    const __mmask16 others = three_ways ? hn::Gt(x, pivots).raw : static_cast<__mmask16>(~below);
    _mm512_mask_compressstoreu_epi32(left, below, x.raw);
    left += _mm_popcnt_u32(below);
    right -= _mm_popcnt_u32(others);
    _mm512_mask_compressstoreu_epi32(right, others, x.raw);
  }
};
#endif

/// Splits `num_keys` keys. Between the ends there is room for as many, and nothing is written beyond.
template <class K, class Split>
split_ends<K> split_apart(const lane_type<K>* HWY_RESTRICT from, std::uint64_t num_keys, lane_type<K> pivot,
                          split_ends<K> ends) {
  const typename Split::D d;
  const auto pivots = hn::Set(d, pivot);
  lane_type<K>* left = ends.left;
  lane_type<K>* right = ends.right;
  std::uint64_t i = 0;
  for (; i + Split::lanes + Split::spare_lanes <= num_keys; i += Split::lanes) {
    Split::put(hn::LoadU(d, from + i), pivots, left, right);
  }
  // Nobody could foretell at which end a key belongs: no branch.
  for (; i < num_keys; ++i) {
    const lane_type<K> key = from[i];
    *left = key;
    right[-1] = key;
    left += static_cast<std::uint64_t>(key < pivot);
    right -= static_cast<std::uint64_t>(Split::drops_equal ? key > pivot : key >= pivot);
  }
  return {left, right};
}

/// Lane bits, which a split reads as they are.
struct lane_bits_reader {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return x;
  }
  template <class T>
  void encode_rest(T*, std::uint64_t) const {}
};

/// Reads keys for a split and encodes them. It knows the least and the greatest lane bits of all that it has read.
template <class K, bool identity, class D>
class key_reader {
 public:
  using T = lane_type<K>;
  using V = hn::Vec<D>;
  explicit key_reader(const keys::codec_of<K>& codec)
      : codec_(&codec),
        lanes_(D(), codec),
        lows_(hn::Set(D(), hwy::HighestValue<T>())),
        highs_(hn::Set(D(), hwy::LowestValue<T>())) {}

  HWY_INLINE V operator()(V x) {
    const V encoded = lanes_.encode(x);
    lows_ = hn::Min(lows_, encoded);
    highs_ = hn::Max(highs_, encoded);
    return encoded;
  }
  /// Encodes keys where they lie.
  void encode_rest(T* keys, std::uint64_t num_keys) {
    const auto [low, high] = encode_all<K, identity>(*codec_, reinterpret_cast<const K*>(keys), num_keys, keys);
    least_ = std::min(least_, low);
    greatest_ = std::max(greatest_, high);
  }

  [[nodiscard]] T least() const {
    HWY_ALIGN T lows[hn::MaxLanes(D())];
    hn::Store(lows_, D(), lows);
    return std::min(least_, *std::min_element(std::begin(lows), std::end(lows)));
  }
  [[nodiscard]] T greatest() const {
    HWY_ALIGN T highs[hn::MaxLanes(D())];
    hn::Store(highs_, D(), highs);
    return std::max(greatest_, *std::max_element(std::begin(highs), std::end(highs)));
  }

 private:
  const keys::codec_of<K>* codec_;
  lane_codec<K, identity, D> lanes_;
  V lows_;
  V highs_;
  T least_ = hwy::HighestValue<T>();
  T greatest_ = hwy::LowestValue<T>();
};

template <class K, class Split, class Reader>
split_ends<K> split_in_place_by(lane_type<K>* keys, std::uint64_t num_keys, lane_type<K> pivot, Reader& reader) {
  using T = lane_type<K>;
  const typename Split::D d;
  constexpr std::uint64_t lanes = Split::lanes;
  constexpr std::uint64_t num_vectors = 8;  // that are read at a time, from the end that has less room
  constexpr std::uint64_t group = num_vectors * lanes;
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
  Reader read_by = reader;  // stays in registers, for nobody else has its address
  while (unread != unread_end) {
    // Nobody could foretell which end it is: no branch.
    const bool from_left = unread - left <= right - unread_end;
    const T* const from = from_left ? unread : unread_end - group;
    unread += from_left ? group : 0;
    unread_end -= from_left ? 0 : group;
    hn::Vec<typename Split::D> x[num_vectors];
    for (std::uint64_t v = 0; v < num_vectors; ++v) x[v] = read_by(hn::LoadU(d, from + v * lanes));
    for (std::uint64_t v = 0; v < num_vectors; ++v) Split::put(x[v], pivots, left, right);
  }
  reader = read_by;
  reader.encode_rest(kept, num_kept);
  return split_apart<K, Split>(kept, num_kept, pivot, {left, right});
}

/// Calls split(Split()) with the faster way to split lane bits of this machine.
template <class K, bool three_ways, class Call>
auto with_split(const Call& call) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(K) == 4) {
    static const bool compresses = stores_compressed_fast();
    if (compresses) return call(compressed_split<three_ways>());
  }
#endif
  return call(permuted_split<K, three_ways>());
}

/// Puts keys below the pivot first and the others last; of three ways, between them there is room for those equal to
/// it, which are lost.
template <class K, bool three_ways>
split_ends<K> split_in_place(lane_type<K>* keys, std::uint64_t num_keys, lane_type<K> pivot) {
  return with_split<K, three_ways>([&]<class Split>(Split) {
    lane_bits_reader reader;
    return split_in_place_by<K, Split>(keys, num_keys, pivot, reader);
  });
}

/// This tells where the parts of a split end whose keys were encoded on the way, and the bounds of all keys.
template <class K>
struct encoded_split {
  split_ends<K> ends;
  lane_type<K> least = 0;
  lane_type<K> greatest = 0;
};

/// Does so with keys, which are encoded on the way.
template <class K, bool three_ways, bool identity>
encoded_split<K> encode_and_split(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys, lane_type<K> pivot) {
  return with_split<K, three_ways>([&]<class Split>(Split) {
    key_reader<K, identity, typename Split::D> reader(codec);
    const split_ends<K> ends =
        split_in_place_by<K, Split>(reinterpret_cast<lane_type<K>*>(keys), num_keys, pivot, reader);
    return encoded_split<K>{ends, reader.least(), reader.greatest()};
  });
}

/// Puts keys below the pivot first; returns how many there are.
template <class K>
std::uint64_t split_in_two(lane_type<K>* keys, std::uint64_t num_keys, lane_type<K> pivot) {
  return static_cast<std::uint64_t>(split_in_place<K, false>(keys, num_keys, pivot).left - keys);
}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
