// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/vector_sort.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/vector_sort.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#ifndef SPANSORT_LANE_ORDERS
#define SPANSORT_LANE_ORDERS
namespace spansort::device::host {
namespace {

/// These tables hold, for every mask, the numbers of its lanes and then those of the others. Highway's own are local to
/// its functions, and GCC 12 builds them anew in every call.
struct lane_order_tables {
  alignas(64) std::uint8_t of_8[256][8] = {};
  alignas(64) std::uint8_t of_4_halves[16][8] = {};  ///< lanes of 64 bits as pairs of 32

  constexpr lane_order_tables() {
    for (unsigned mask = 0; mask < 256; ++mask) {
      unsigned next = 0;
      for (const unsigned wanted : {1U, 0U}) {
        for (unsigned lane = 0; lane < 8; ++lane) {
          if ((mask >> lane & 1U) == wanted) of_8[mask][next++] = static_cast<std::uint8_t>(lane);
        }
      }
    }
    for (unsigned mask = 0; mask < 16; ++mask) {
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned lane = of_4(mask, i);
        of_4_halves[mask][2 * i] = static_cast<std::uint8_t>(2 * lane);
        of_4_halves[mask][2 * i + 1] = static_cast<std::uint8_t>(2 * lane + 1);
      }
    }
  }
  static constexpr unsigned of_4(unsigned mask, unsigned place) {
    unsigned next = 0;
    for (const unsigned wanted : {1U, 0U}) {
      for (unsigned lane = 0; lane < 4; ++lane) {
        if ((mask >> lane & 1U) == wanted && next++ == place) return lane;
      }
    }
    return 0;
  }
};
constexpr lane_order_tables lane_orders;

}  // namespace
}  // namespace spansort::device::host
#endif

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// ---- networks: 16 rows of vectors

template <class V>
HWY_INLINE void sort_rows(V& low, V& high) {
  const V smaller = hn::Min(low, high);
  high = hn::Max(low, high);
  low = smaller;
}

/// Sorts each column: 60 comparators, the fewest known for 16 inputs (Green; in the ten layers of Dobbelaere's list).
template <class V>
HWY_INLINE void sort_columns(V (&v)[16]) {
#define SPANSORT_ROWS(i, j) sort_rows(v[i], v[j])
  SPANSORT_ROWS(0, 13), SPANSORT_ROWS(1, 12), SPANSORT_ROWS(2, 15), SPANSORT_ROWS(3, 14);
  SPANSORT_ROWS(4, 8), SPANSORT_ROWS(5, 6), SPANSORT_ROWS(7, 11), SPANSORT_ROWS(9, 10);
  SPANSORT_ROWS(0, 5), SPANSORT_ROWS(1, 7), SPANSORT_ROWS(2, 9), SPANSORT_ROWS(3, 4);
  SPANSORT_ROWS(6, 13), SPANSORT_ROWS(8, 14), SPANSORT_ROWS(10, 15), SPANSORT_ROWS(11, 12);
  SPANSORT_ROWS(0, 1), SPANSORT_ROWS(2, 3), SPANSORT_ROWS(4, 5), SPANSORT_ROWS(6, 8);
  SPANSORT_ROWS(7, 9), SPANSORT_ROWS(10, 11), SPANSORT_ROWS(12, 13), SPANSORT_ROWS(14, 15);
  SPANSORT_ROWS(0, 2), SPANSORT_ROWS(1, 3), SPANSORT_ROWS(4, 10), SPANSORT_ROWS(5, 11);
  SPANSORT_ROWS(6, 7), SPANSORT_ROWS(8, 9), SPANSORT_ROWS(12, 14), SPANSORT_ROWS(13, 15);
  SPANSORT_ROWS(1, 2), SPANSORT_ROWS(3, 12), SPANSORT_ROWS(4, 6), SPANSORT_ROWS(5, 7);
  SPANSORT_ROWS(8, 10), SPANSORT_ROWS(9, 11), SPANSORT_ROWS(13, 14);
  SPANSORT_ROWS(1, 4), SPANSORT_ROWS(2, 6), SPANSORT_ROWS(5, 8), SPANSORT_ROWS(7, 10);
  SPANSORT_ROWS(9, 13), SPANSORT_ROWS(11, 14);
  SPANSORT_ROWS(2, 4), SPANSORT_ROWS(3, 6), SPANSORT_ROWS(9, 12), SPANSORT_ROWS(11, 13);
  SPANSORT_ROWS(3, 5), SPANSORT_ROWS(6, 8), SPANSORT_ROWS(7, 9), SPANSORT_ROWS(10, 12);
  SPANSORT_ROWS(3, 4), SPANSORT_ROWS(5, 6), SPANSORT_ROWS(7, 8), SPANSORT_ROWS(9, 10), SPANSORT_ROWS(11, 12);
  SPANSORT_ROWS(6, 7), SPANSORT_ROWS(8, 9);
#undef SPANSORT_ROWS
}

/// Reverses every `width` lanes.
template <unsigned width, class D, class V>
HWY_INLINE V reverse_lanes(D d, V x) {
  if constexpr (width == 2) {
    return hn::Reverse2(d, x);
  } else if constexpr (width == 4) {
    return hn::Reverse4(d, x);
  } else if constexpr (width == hn::MaxLanes(d)) {
    return hn::Reverse(d, x);
  } else {
    static_assert(width == 8);
    return hn::Reverse8(d, x);
  }
}

/// Exchanges lanes that lie `distance` apart, in groups of twice as many.
template <unsigned distance, class D, class V>
HWY_INLINE V swap_lanes(D d, V x) {
  using T = hn::TFromD<D>;
  if constexpr (distance == 1) {
    return hn::Reverse2(d, x);
  } else if constexpr (distance * sizeof(T) == 8) {
    const hn::Repartition<std::uint64_t, D> wide;
    return hn::BitCast(d, hn::Reverse2(wide, hn::BitCast(wide, x)));
  } else {
    // Two reversals make an exchange of halves.
    return reverse_lanes<distance>(d, reverse_lanes<2 * distance>(d, x));
  }
}

/// Lanes whose number has the bit `bit`.
template <unsigned bit, class D>
HWY_INLINE hn::Mask<D> upper_lanes(D d) {
  const hn::RebindToUnsigned<D> du;
  const auto lane = hn::Iota(du, 0);
  return hn::RebindMask(d, hn::Ne(hn::And(lane, hn::Set(du, bit)), hn::Zero(du)));
}

/// A step of a merge inside each row: `other` is the row with partners exchanged.
template <unsigned distance, class D, class V>
HWY_INLINE V sort_lanes(D d, V x, V other) {
  return hn::IfThenElse(upper_lanes<distance>(d), hn::Max(x, other), hn::Min(x, other));
}

template <unsigned distance, class D, class V>
HWY_INLINE V finish_row(D d, V x) {
  if constexpr (distance == 0) {
    return x;
  } else {
    return finish_row<distance / 2>(d, sort_lanes<distance>(d, x, swap_lanes<distance>(d, x)));
  }
}

/// Half of a bitonic merge: rows `first` and up against their mirrored partners.
template <unsigned first, unsigned num_rows, unsigned width, class D, class V, std::size_t... i>
HWY_INLINE void mirror_rows(D d, V (&v)[16], std::index_sequence<i...>) {
  ((v[first + num_rows - 1 - i] = reverse_lanes<width>(d, v[first + num_rows - 1 - i])), ...);
  (sort_rows(v[first + i], v[first + num_rows - 1 - i]), ...);
}

template <unsigned first, unsigned num_rows, unsigned width, class D, class V>
HWY_INLINE void merge_rows(D d, V (&v)[16]) {
  if constexpr (num_rows == 1) {
    const V x = v[first];
    v[first] = finish_row<width / 4>(d, sort_lanes<width / 2>(d, x, reverse_lanes<width>(d, x)));
  } else {
    mirror_rows<first, num_rows, width>(d, v, std::make_index_sequence<num_rows / 2>());
    merge_rows<first, num_rows / 2, width>(d, v);
    merge_rows<first + num_rows / 2, num_rows / 2, width>(d, v);
  }
}

/// Merges blocks of `width` / 2 columns, sorted row by row, until one block is left.
template <unsigned width, class D, class V>
HWY_INLINE void merge_columns(D d, V (&v)[16]) {
  if constexpr (width <= hn::MaxLanes(d)) {
    merge_rows<0, 16, width>(d, v);
    merge_columns<width * 2>(d, v);
  }
}

// ---- keys in registers

/// The bits that vectors compare: 64-bit keys as signed ones, for AVX2 compares no others.
template <class K>
using lane_type = std::conditional_t<sizeof(K) == 8, std::int64_t, std::uint32_t>;

template <class K>
HWY_INLINE K to_lane_bits(K encoded) {
  return sizeof(K) == 8 ? static_cast<K>(encoded ^ (K{1} << (sizeof(K) * 8 - 1))) : encoded;
}

/// codec_of<K>::encode_bits() and decode() on vectors, to and from the bits that vectors compare.
template <class K, bool identity, class D>
struct lane_codec {
  using V = hn::Vec<D>;
  D d;
  V to_positive, to_negative, offset, from_low, from_high, bias;

  lane_codec(D d_, const keys::codec_of<K>& c)
      : d(d_),
        to_positive(set(c.to_positive)),
        to_negative(set(c.to_negative)),
        offset(set(c.offset)),
        from_low(set(c.from_low)),
        from_high(set(c.from_high)),
        bias(set(to_lane_bits(K{0}))) {}

  HWY_INLINE V set(K bits) const { return hn::BitCast(d, hn::Set(hn::Rebind<K, D>(), bits)); }
  HWY_INLINE V sign(V x) const {
    const hn::RebindToSigned<D> di;
    return hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, x)));
  }
  HWY_INLINE V encode(V x) const {
    if constexpr (!identity) x = hn::Sub(hn::Xor(hn::Xor(x, to_positive), hn::And(sign(x), to_negative)), offset);
    return sizeof(K) == 8 ? hn::Xor(x, bias) : x;
  }
  HWY_INLINE V decode(V x) const {
    if constexpr (sizeof(K) == 8) x = hn::Xor(x, bias);
    if constexpr (!identity) {
      const V y = hn::Add(x, offset);
      x = hn::Xor(hn::Xor(y, from_low), hn::And(sign(y), from_high));
    }
    return x;
  }
};

template <class K>
using full_tag = hn::ScalableTag<lane_type<K>>;
template <class K>
constexpr std::uint64_t lanes_of() {
  return hn::MaxLanes(full_tag<K>());
}
template <class K>
constexpr std::uint64_t network_size() {
  return 16 * lanes_of<K>();
}

/// Sorts one part of a worker's keys and puts it into its place. Inputs hold lane bits; results are decoded.
template <class K, bool identity>
class finisher {
 public:
  using T = lane_type<K>;
  finisher(const keys::codec_of<K>& codec, K* result_end) : codec_(codec), result_end_(result_end) {}

  /// `num_keys` <= network_size(): reads whole vectors, and writes whole vectors where the result goes on.
  HWY_INLINE void sort(const T* keys, std::uint64_t num_keys, K* result) const {
    constexpr std::uint64_t full = lanes_of<K>();
    if constexpr (full >= 16) {
      if (num_keys > 128) return sort_as(hn::CappedTag<T, 16>(), keys, num_keys, result);
    }
    if constexpr (full >= 8) {
      if (num_keys > 64) return sort_as(hn::CappedTag<T, 8>(), keys, num_keys, result);
    }
    if (sizeof(K) == 4 || num_keys > 32) return sort_as(hn::CappedTag<T, 4>(), keys, num_keys, result);
    sort_as(hn::CappedTag<T, 2>(), keys, num_keys, result);
  }

  void fill(K* result, std::uint64_t num_keys, T bits) const {
    std::fill_n(result, num_keys,
                identity ? to_lane_bits(static_cast<K>(bits)) : codec_.decode(to_lane_bits(static_cast<K>(bits))));
  }

 private:
  template <class D>
  HWY_NOINLINE void sort_as(D d, const T* keys, std::uint64_t num_keys, K* result) const {
    constexpr std::uint64_t lanes = hn::MaxLanes(D());
    using V = hn::Vec<D>;
    const V greatest = hn::Set(d, hwy::HighestValue<T>());
    V v[16];
    load_rows(d, keys, num_keys, greatest, v, std::make_index_sequence<16>());
    sort_columns(v);
    merge_columns<2>(d, v);
    const lane_codec<K, identity, D> codec(d, codec_);
    if (static_cast<std::uint64_t>(result_end_ - result) >= 16 * lanes) {
      store_rows(d, codec, v, reinterpret_cast<T*>(result), std::make_index_sequence<16>());
    } else {
      HWY_ALIGN T sorted[16 * lanes];
      store_rows(d, codec, v, sorted, std::make_index_sequence<16>());
      std::memcpy(result, sorted, num_keys * sizeof(K));
    }
  }

  template <class D, class V, std::size_t... i>
  static HWY_INLINE void load_rows(D d, const T* keys, std::uint64_t num_keys, V greatest, V (&v)[16],
                                   std::index_sequence<i...>) {
    ((v[i] = load_row(d, keys, i * hn::MaxLanes(D()), num_keys, greatest)), ...);
  }
  template <class D, class V>
  static HWY_INLINE V load_row(D d, const T* keys, std::uint64_t begin, std::uint64_t num_keys, V greatest) {
    if (begin + hn::MaxLanes(D()) <= num_keys) return hn::LoadU(d, keys + begin);
    if (begin >= num_keys) return greatest;
    return hn::IfThenElse(hn::FirstN(d, num_keys - begin), hn::LoadU(d, keys + begin), greatest);
  }
  template <class D, class Codec, class V, std::size_t... i>
  static HWY_INLINE void store_rows(D d, const Codec& codec, V (&v)[16], T* to, std::index_sequence<i...>) {
    (hn::StoreU(codec.decode(v[i]), d, to + i * hn::MaxLanes(D())), ...);
  }

  keys::codec_of<K> codec_;
  K* result_end_;
};

// ---- quicksort

#if HWY_TARGET == HWY_AVX2
/// Lanes `x` with those of the mask first, the others behind them, both in their order; adds how many come first.
HWY_INLINE hn::Vec<full_tag<std::uint32_t>> lower_first(full_tag<std::uint32_t>, hn::Vec<full_tag<std::uint32_t>> x,
                                                        hn::Mask<full_tag<std::uint32_t>> mask, std::uint64_t& count) {
  const auto bits = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(mask.raw)));
  count = static_cast<std::uint64_t>(std::popcount(bits));
  const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(lane_orders.of_8[bits]));
  return {_mm256_permutevar8x32_epi32(x.raw, _mm256_cvtepu8_epi32(order))};
}
HWY_INLINE hn::Vec<full_tag<std::uint64_t>> lower_first(full_tag<std::uint64_t>, hn::Vec<full_tag<std::uint64_t>> x,
                                                        hn::Mask<full_tag<std::uint64_t>> mask, std::uint64_t& count) {
  const auto bits = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(mask.raw)));
  count = static_cast<std::uint64_t>(std::popcount(bits));
  const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(lane_orders.of_4_halves[bits]));
  return {_mm256_permutevar8x32_epi32(x.raw, _mm256_cvtepu8_epi32(order))};
}
#else
HWY_INLINE hn::Vec<full_tag<std::uint64_t>> lower_first(full_tag<std::uint64_t>, hn::Vec<full_tag<std::uint64_t>> x,
                                                        hn::Mask<full_tag<std::uint64_t>> mask, std::uint64_t& count) {
  const auto bits = static_cast<unsigned>(mask.raw);
  count = static_cast<std::uint64_t>(std::popcount(bits));
  const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(lane_orders.of_8[bits]));
  return {_mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(order), x.raw)};
}
#endif

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
  quicksorter(const finisher<K, identity>& finish, K* result) : finish_(finish), result_(result) {}

  /// Keys lie in `from`, between `least` and `greatest`.
  void sort(T* from, T* to, std::uint64_t begin, std::uint64_t end, T least, T greatest, unsigned depth) const {
    while (end - begin > network_size<K>()) {
      if (least == greatest) return finish_.fill(result_ + begin, end - begin, least);
      if (depth == 0) return sort_by_comparison(from, begin, end);
      --depth;
      T pivot = sampled_median(from + begin, end - begin);
      if (pivot == least) ++pivot;  // keys below are the least, all equal
      const std::uint64_t middle = begin + partition(from + begin, end - begin, to + begin, pivot);
      std::swap(from, to);
      // From left to right, for a network writes beyond its keys.
      sort(from, to, begin, middle, least, pivot - 1, depth);
      begin = middle;
      least = pivot;
    }
    if (begin != end) finish_part(from, begin, end);
  }

  /// Returns how many keys are below the pivot: these come first in `to`, the others behind. `to` may be written up to
  /// its end, and no further.
  static std::uint64_t partition(const T* HWY_RESTRICT from, std::uint64_t num_keys, T* HWY_RESTRICT to, T pivot) {
    const full_tag<K> d;
    constexpr std::uint64_t lanes = lanes_of<K>();
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
      if constexpr (lanes == 16) {
        num_below = hn::CountTrue(d, below);
        hn::StoreU(hn::Compress(x, below), d, to + left);
        // In registers first: compressed stores to memory take hundreds of cycles on AMD's processors.
        hn::BlendedStore(hn::Compress(x, hn::Not(below)), hn::FirstN(d, lanes - num_below), d,
                         to + right - (lanes - num_below));
      } else {
        const auto ordered = lower_first(d, x, below, num_below);
        hn::StoreU(ordered, d, to + left);
        hn::StoreU(ordered, d, to + right - lanes);
      }
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

  /// The median of medians of three neighbouring lanes each, taken at `num_keys` / 4 and its multiples; of nine each in
  /// large parts.
  static T sampled_median(const T* keys, std::uint64_t num_keys) {
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
    return sorted[lanes / 2];
  }

 private:
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
};

/// Encodes into `to`; returns the least and the greatest lane bits.
template <class K, bool identity>
std::pair<lane_type<K>, lane_type<K>> encode_all(const keys::codec_of<K>& codec, const K* from, std::uint64_t num_keys,
                                                 lane_type<K>* to) {
  using T = lane_type<K>;
  const full_tag<K> d;
  constexpr std::uint64_t lanes = lanes_of<K>();
  const lane_codec<K, identity, full_tag<K>> lane(d, codec);
  auto least = hn::Set(d, hwy::HighestValue<T>());
  auto greatest = hn::Set(d, hwy::LowestValue<T>());
  std::uint64_t i = 0;
  for (; i + lanes <= num_keys; i += lanes) {
    const auto x = lane.encode(hn::LoadU(d, reinterpret_cast<const T*>(from + i)));
    least = hn::Min(least, x);
    greatest = hn::Max(greatest, x);
    hn::StoreU(x, d, to + i);
  }
  HWY_ALIGN T lows[lanes];
  HWY_ALIGN T highs[lanes];
  hn::Store(least, d, lows);
  hn::Store(greatest, d, highs);
  T low = *std::min_element(lows, lows + lanes);
  T high = *std::max_element(highs, highs + lanes);
  for (; i < num_keys; ++i) {
    to[i] = static_cast<T>(to_lane_bits(identity ? from[i] : codec.encode_bits(from[i])));
    low = std::min(low, to[i]);
    high = std::max(high, to[i]);
  }
  return {low, high};
}

// ---- slots

/// Scatters keys that lie evenly to slots without a count, then finishes each slot. Returns whether all slots held
/// what fell into them; the result has not been touched otherwise.
template <class K, bool identity>
bool sort_slots(const finisher<K, identity>& finish, const lane_type<K>* keys, std::uint64_t num_keys, K* result,
                lane_type<K> least, lane_type<K> greatest, const vector_sort_scratch<K>& scratch) {
  using T = lane_type<K>;
  constexpr std::uint64_t slot_keys = network_size<K>();
  // One line more than a power of two, or all slots fall into the same sets of the cache.
  constexpr std::uint64_t stride = slot_keys + 64 / sizeof(K);
  constexpr double filled = slot_keys == 256 ? 0.72 : slot_keys == 128 ? 0.60 : 0.48;
  const auto num_slots = static_cast<std::uint64_t>(static_cast<double>(num_keys) / (filled * slot_keys)) + 1;
  // A slot that overflows writes over its neighbours, the last one over what lies behind it.
  if (num_slots > scratch.num_cursors || num_slots * stride + num_keys > scratch.num_keys) return false;
  auto* const slots = reinterpret_cast<T*>(scratch.second);
  const std::uint64_t range = static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
  const unsigned shift = static_cast<unsigned>(std::max<int>(std::bit_width(range), 32) - 32);
  const std::uint64_t multiplier = (num_slots << 32) / ((range >> shift) + 1);
  std::uint32_t* HWY_RESTRICT cursors = scratch.cursors;
  for (std::uint64_t s = 0; s < num_slots; ++s) cursors[s] = static_cast<std::uint32_t>(s * stride);
  const auto slot_of = [&](T key) __attribute__((always_inline)) {
    return ((static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(least)) >> shift) * multiplier >> 32;
  };
  std::uint64_t i = 0;
  for (; i + 8 <= num_keys; i += 8) {
    std::uint64_t slot[8];
    for (unsigned j = 0; j < 8; ++j) slot[j] = slot_of(keys[i + j]);
    for (unsigned j = 0; j < 8; ++j) slots[cursors[slot[j]]++] = keys[i + j];
  }
  for (; i < num_keys; ++i) slots[cursors[slot_of(keys[i])]++] = keys[i];
  std::uint64_t fullest = 0;
  for (std::uint64_t s = 0; s < num_slots; ++s) fullest = std::max(fullest, cursors[s] - s * stride);
  if (fullest > slot_keys) return false;
  K* to = result;
  for (std::uint64_t s = 0; s < num_slots; ++s) {
    const std::uint64_t count = cursors[s] - s * stride;
    if (count != 0) finish.sort(slots + s * stride, count, to);
    to += count;
  }
  return true;
}

/// Looks at 128 keys: whether no part of the range is much fuller than the others.
template <class T>
bool lie_evenly(const T* keys, std::uint64_t num_keys, T least, T greatest) {
  constexpr unsigned num_samples = 128;
  constexpr unsigned most = 20;  // of 8 expected: more than four standard deviations
  const std::uint64_t range = static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
  const unsigned shift = static_cast<unsigned>(std::max<int>(std::bit_width(range), 32) - 32);
  const std::uint64_t multiplier = (std::uint64_t{16} << 32) / ((range >> shift) + 1);
  unsigned counts[16] = {};
  const std::uint64_t stride = num_keys / num_samples;
  for (unsigned i = 0; i < num_samples; ++i) {
    const std::uint64_t above = static_cast<std::uint64_t>(keys[i * stride]) - static_cast<std::uint64_t>(least);
    ++counts[(above >> shift) * multiplier >> 32];
  }
  return *std::max_element(counts, counts + 16) <= most;
}

/// Sorts lane bits that lie in `scratch.first`, more than a network takes.
template <class K, bool identity>
void sort_encoded(const keys::codec_of<K>& codec, K* result, std::uint64_t num_keys, lane_type<K> least,
                  lane_type<K> greatest, const vector_sort_scratch<K>& scratch) {
  using T = lane_type<K>;
  const finisher<K, identity> finish(codec, result + num_keys);
  if (least == greatest) return finish.fill(result, num_keys, least);
  T* const keys = reinterpret_cast<T*>(scratch.first);
  if (num_keys >= 4 * network_size<K>() && lie_evenly(keys, num_keys, least, greatest) &&
      sort_slots<K, identity>(finish, keys, num_keys, result, least, greatest, scratch)) {
    return;
  }
  const unsigned most_depth = 4 * static_cast<unsigned>(std::bit_width(num_keys));
  quicksorter<K, identity>(finish, result)
      .sort(keys, reinterpret_cast<T*>(scratch.second), 0, num_keys, least, greatest, most_depth);
}

/// Partitions lane bits of `from` until parts fit into a third of the scratch, and finishes those there.
template <class K, bool identity>
void sort_large_part(const keys::codec_of<K>& codec, lane_type<K>* from, lane_type<K>* to, K* result,
                     std::uint64_t num_keys, lane_type<K> least, lane_type<K> greatest, unsigned depth,
                     const vector_sort_scratch<K>& scratch) {
  using T = lane_type<K>;
  while (num_keys > scratch.num_keys / 3 && least != greatest && depth != 0) {
    --depth;
    T pivot = quicksorter<K, identity>::sampled_median(from, num_keys);
    if (pivot == least) ++pivot;  // keys below are the least, all equal
    const std::uint64_t middle = quicksorter<K, identity>::partition(from, num_keys, to, pivot);
    std::swap(from, to);
    sort_large_part<K, identity>(codec, from, to, result, middle, least, pivot - 1, depth, scratch);
    from += middle;
    to += middle;
    result += middle;
    num_keys -= middle;
    least = pivot;
  }
  const finisher<K, identity> finish(codec, result + num_keys);
  if (num_keys == 0) return;
  if (least == greatest) return finish.fill(result, num_keys, least);
  if (num_keys > scratch.num_keys) {  // pivots have been unlucky all the way
    std::sort(from, from + num_keys);
    for (std::uint64_t i = 0; i < num_keys; i += network_size<K>()) {
      const std::uint64_t count = std::min(num_keys - i, network_size<K>());
      std::memcpy(scratch.first, from + i, count * sizeof(K));
      finisher<K, identity>(codec, result + i + count).sort(reinterpret_cast<T*>(scratch.first), count, result + i);
    }
    return;
  }
  std::memcpy(scratch.first, from, num_keys * sizeof(K));
  if (num_keys <= network_size<K>()) return finish.sort(reinterpret_cast<T*>(scratch.first), num_keys, result);
  sort_encoded<K, identity>(codec, result, num_keys, least, greatest, scratch);
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

template <class K, bool identity>
void vector_sort_as(const keys::codec_of<K>& codec, const K* from, K* result, std::uint64_t num_keys,
                    const vector_sort_scratch<K>& scratch) {
  using T = lane_type<K>;
  const finisher<K, identity> finish(codec, result + num_keys);
  if (num_keys <= network_size<K>()) {
    HWY_ALIGN T keys[network_size<K>() + 64 / sizeof(K)];
    (void)encode_all<K, identity>(codec, from, num_keys, keys);
    return finish.sort(keys, num_keys, result);
  }
  const auto [least, greatest] = encode_all<K, identity>(codec, from, num_keys, reinterpret_cast<T*>(scratch.first));
  sort_encoded<K, identity>(codec, result, num_keys, least, greatest, scratch);
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

bool has_sort() { return true; }

#else  // other vectors are too narrow

template <class K>
constexpr std::uint64_t network_size() {
  return 0;
}
template <class K>
void vector_sort_of(const keys::codec_of<K>&, const K*, K*, std::uint64_t, const vector_sort_scratch<K>&) {}
template <class K>
void vector_sort_large_of(const keys::codec_of<K>&, K*, K*, K*, std::uint64_t, const vector_sort_scratch<K>&) {}
bool has_sort() { return false; }

#endif

// A choice at run time is one between plain functions.
void vector_sort_u32(const keys::codec_of<std::uint32_t>& c, const std::uint32_t* from, std::uint32_t* to,
                     std::uint64_t n, const vector_sort_scratch<std::uint32_t>& s) {
  vector_sort_of(c, from, to, n, s);
}
void vector_sort_u64(const keys::codec_of<std::uint64_t>& c, const std::uint64_t* from, std::uint64_t* to,
                     std::uint64_t n, const vector_sort_scratch<std::uint64_t>& s) {
  vector_sort_of(c, from, to, n, s);
}
void vector_sort_large_u32(const keys::codec_of<std::uint32_t>& c, std::uint32_t* keys, std::uint32_t* other,
                           std::uint32_t* to, std::uint64_t n, const vector_sort_scratch<std::uint32_t>& s) {
  vector_sort_large_of(c, keys, other, to, n, s);
}
void vector_sort_large_u64(const keys::codec_of<std::uint64_t>& c, std::uint64_t* keys, std::uint64_t* other,
                           std::uint64_t* to, std::uint64_t n, const vector_sort_scratch<std::uint64_t>& s) {
  vector_sort_large_of(c, keys, other, to, n, s);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

bool has_vector_sort() {
  static const bool has = SPANSORT_CHOOSE_FUNCTION(has_sort)();
  return has;
}
template <>
void vector_sort<std::uint32_t>(const keys::codec_of<std::uint32_t>& c, const std::uint32_t* from, std::uint32_t* to,
                                std::uint64_t n, const vector_sort_scratch<std::uint32_t>& s) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(vector_sort_u32);
  best(c, from, to, n, s);
}
template <>
void vector_sort<std::uint64_t>(const keys::codec_of<std::uint64_t>& c, const std::uint64_t* from, std::uint64_t* to,
                                std::uint64_t n, const vector_sort_scratch<std::uint64_t>& s) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(vector_sort_u64);
  best(c, from, to, n, s);
}
template <>
void vector_sort_large<std::uint32_t>(const keys::codec_of<std::uint32_t>& c, std::uint32_t* keys, std::uint32_t* other,
                                      std::uint32_t* to, std::uint64_t n, const vector_sort_scratch<std::uint32_t>& s) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(vector_sort_large_u32);
  best(c, keys, other, to, n, s);
}
template <>
void vector_sort_large<std::uint64_t>(const keys::codec_of<std::uint64_t>& c, std::uint64_t* keys, std::uint64_t* other,
                                      std::uint64_t* to, std::uint64_t n, const vector_sort_scratch<std::uint64_t>& s) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(vector_sort_large_u64);
  best(c, keys, other, to, n, s);
}

}  // namespace spansort::device::host
#endif
