// SPDX-License-Identifier: Apache-2.0
// Sorting networks of 16 rows of vectors, and the step that sorts a part of a worker's keys in one of them. This header
// is included once for each of Highway's targets.
#if defined(SPANSORT_VECTOR_NETWORK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_NETWORK_INL
#undef SPANSORT_VECTOR_NETWORK_INL
#else
#define SPANSORT_VECTOR_NETWORK_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "keys/codec.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

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

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
