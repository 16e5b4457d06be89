// SPDX-License-Identifier: Apache-2.0
// The step that sorts a part of a worker's keys by one network: keys are loaded into rows of vectors, sorted, and
// stored where they belong. This header is included once for each of Highway's targets.
#if defined(SPANSORT_VECTOR_FINISH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_FINISH_INL
#undef SPANSORT_VECTOR_FINISH_INL
#else
#define SPANSORT_VECTOR_FINISH_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "device/host/vector_network-inl.hpp"
#include "keys/codec.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// The bits that vectors compare: 64-bit keys as signed ones, for AVX2 compares no others.
template <class K>
using lane_type = std::conditional_t<sizeof(K) == 8, std::int64_t, K>;

template <class K>
HWY_INLINE K to_lane_bits(K encoded) {
  return sizeof(K) == 8 ? static_cast<K>(encoded ^ (K{1} << (sizeof(K) * 8 - 1))) : encoded;
}

template <class K>
using full_tag = hn::ScalableTag<lane_type<K>>;
template <class K>
constexpr std::uint64_t lanes_of() {
  return hn::MaxLanes(full_tag<K>());
}
template <class K>
constexpr std::uint64_t network_size() {
  return 32 * lanes_of<K>();
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

/// Lanes of 16 bits have no masked loads and stores on AVX2.
template <class K>
inline constexpr bool has_masked_memory = HWY_TARGET != HWY_AVX2 || sizeof(K) >= 4;

/// Loads the lanes of the mask, and `other` into the rest. Memory of other lanes is not touched, where that is known.
template <class D, class V>
HWY_INLINE V load_lanes(D d, hn::Mask<D> mask, const hn::TFromD<D>* from, V other) {
  if constexpr (!has_masked_memory<hn::TFromD<D>>) return hn::IfThenElse(mask, hn::LoadU(d, from), other);
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(*from) == 2) return V{_mm512_mask_loadu_epi16(other.raw, mask.raw, from)};
  if constexpr (sizeof(*from) == 4) return V{_mm512_mask_loadu_epi32(other.raw, mask.raw, from)};
  if constexpr (sizeof(*from) == 8) return V{_mm512_mask_loadu_epi64(other.raw, mask.raw, from)};
#else
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), other);
#endif
}

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

/// Sorts one part of a worker's keys and puts it into its place. Results are decoded.
template <class K, bool identity>
class finisher {
 public:
  using T = lane_type<K>;
  using D = full_tag<K>;
  using V = hn::Vec<D>;
  /// A codec that is not the identity outlives this. Copies of it right after it was made would wait for its bytes.
  finisher(const keys::codec_of<K>& codec, K* result_end)
      : codec_(identity ? no_codec : codec), result_end_(result_end) {}

  /// `num_keys` <= network_size() lane bits; keys of 16 bits have a vector's room behind them. Whole vectors are
  /// written where the result goes on.
  HWY_INLINE void sort(const T* keys, std::uint64_t num_keys, K* result) const {
    if (num_keys > 16 * lanes) return sort_as<32, true>(keys, num_keys, result);
    sort_few<true>(keys, num_keys, result);
  }

  /// This does the same for keys as they are; `result` is `keys` or does not overlap them.
  HWY_INLINE void sort_raw(const K* keys, std::uint64_t num_keys, K* result) const {
    if constexpr (!has_masked_memory<K>) {
      HWY_ALIGN T copied[network_size<K>()];
      std::memcpy(copied, keys, num_keys * sizeof(K));
      if (num_keys > 16 * lanes) return sort_as<32, false>(copied, num_keys, result);
      return sort_few<false>(copied, num_keys, result);
    }
    if constexpr (are_lane_bits) return sort(reinterpret_cast<const T*>(keys), num_keys, result);
    if (num_keys <= 16 * lanes) return sort_few<false>(reinterpret_cast<const T*>(keys), num_keys, result);
    HWY_ALIGN T encoded[network_size<K>()];
    const D d;
    const lane_codec<K, identity, D> codec(d, codec_);
    std::uint64_t i = 0;
    for (; i + lanes <= num_keys; i += lanes) {
      hn::Store(codec.encode(hn::LoadU(d, reinterpret_cast<const T*>(keys + i))), d, encoded + i);
    }
    for (; i < num_keys; ++i) {
      encoded[i] = static_cast<T>(to_lane_bits(identity ? keys[i] : codec_.encode_bits(keys[i])));
    }
    sort_as<32, true>(encoded, num_keys, result);
  }

  void fill(K* result, std::uint64_t num_keys, T bits) const {
    std::fill_n(result, num_keys,
                identity ? to_lane_bits(static_cast<K>(bits)) : codec_.decode(to_lane_bits(static_cast<K>(bits))));
  }

 private:
  static constexpr std::uint64_t lanes = lanes_of<K>();
  static constexpr bool are_lane_bits = identity && sizeof(K) != 8;
  static constexpr keys::codec_of<K> no_codec{};

  template <bool encoded>
  HWY_INLINE void sort_few(const T* keys, std::uint64_t num_keys, K* result) const {
    if (num_keys > 8 * lanes) return sort_as<16, encoded>(keys, num_keys, result);
    if (num_keys > 4 * lanes) return sort_as<8, encoded>(keys, num_keys, result);
    if (num_keys > 2 * lanes) return sort_as<4, encoded>(keys, num_keys, result);
    if (num_keys > lanes) return sort_as<2, encoded>(keys, num_keys, result);
    sort_as<1, encoded>(keys, num_keys, result);
  }

  template <unsigned rows, bool encoded>
  HWY_NOINLINE void sort_as(const T* keys, std::uint64_t num_keys, K* result) const {
    const D d;
    const lane_codec<K, identity, D> codec(d, codec_);
    const auto count = hn::Set(hn::RebindToSigned<D>(), static_cast<std::make_signed_t<T>>(num_keys));
    V v[rows];
    load_rows<encoded>(d, codec, keys, num_keys, count, v, std::make_index_sequence<rows>());
    sort_network(d, v);
    if (static_cast<std::uint64_t>(result_end_ - result) >= rows * lanes) {
      store_rows(d, codec, v, reinterpret_cast<T*>(result), std::make_index_sequence<rows>());
    } else if (!has_masked_memory<K> || HWY_UNLIKELY(ends_across_pages(result, num_keys))) {
      HWY_ALIGN T sorted[rows * lanes];
      store_rows(d, codec, v, sorted, std::make_index_sequence<rows>());
      std::memcpy(result, sorted, num_keys * sizeof(K));
    } else {
      store_lanes(d, codec, v, reinterpret_cast<T*>(result), num_keys, count, std::make_index_sequence<rows>());
    }
  }

  /// Returns whether the last row reaches beyond the keys into another page, which may have no memory.
  static HWY_INLINE bool ends_across_pages(const K* result, std::uint64_t num_keys) {
    constexpr std::uintptr_t page_bytes = 4096;
    const auto end = reinterpret_cast<std::uintptr_t>(result + num_keys);
    const auto row_end = reinterpret_cast<std::uintptr_t>(result + (num_keys + lanes - 1) / lanes * lanes);
    return (end - 1) / page_bytes != (row_end - 1) / page_bytes;
  }

  /// The lanes of a row that hold keys, where `count` of them lie in all rows.
  template <unsigned row, class C>
  static HWY_INLINE hn::Mask<D> lanes_of_row(D d, C count) {
    const hn::RebindToSigned<D> di;
    return hn::RebindMask(d, hn::Gt(count, hn::Iota(di, static_cast<std::make_signed_t<T>>(row * lanes))));
  }

  /// The first half of a network's rows is full of keys, or half as many rows would do.
  template <unsigned row, unsigned rows>
  static constexpr bool is_full = row < rows / 2;

  /// Returns where a row begins, or the last row with keys where this one has none. Masked instructions that reach
  /// pages without memory are undone by microcode, in 300 cycles, even where the mask has no bit.
  template <unsigned row>
  static HWY_INLINE std::uint64_t begin_of(std::uint64_t num_keys) {
    return std::min(row * lanes, (num_keys - 1) / lanes * lanes);
  }

  template <bool encoded, class Codec, class C, std::size_t rows, std::size_t... i>
  static HWY_INLINE void load_rows(D d, const Codec& codec, const T* keys, std::uint64_t num_keys, C count,
                                   V (&v)[rows], std::index_sequence<i...>) {
    ((v[i] = load_row<encoded, i, rows>(d, codec, keys, num_keys, count)), ...);
  }
  template <bool encoded, unsigned row, unsigned rows, class Codec, class C>
  static HWY_INLINE V load_row(D d, const Codec& codec, const T* keys, std::uint64_t num_keys, C count) {
    constexpr bool decoded = !encoded && !are_lane_bits;
    if constexpr (is_full<row, rows>) {
      const V x = hn::LoadU(d, keys + row * lanes);
      return decoded ? codec.encode(x) : x;
    } else {
      const V greatest = hn::Set(d, hwy::HighestValue<T>());
      const hn::Mask<D> own = lanes_of_row<row>(d, count);
      const V x = load_lanes(d, own, keys + begin_of<row>(num_keys), greatest);
      return decoded ? hn::IfThenElse(own, codec.encode(x), greatest) : x;
    }
  }
  template <class Codec, std::size_t rows, std::size_t... i>
  static HWY_INLINE void store_rows(D d, const Codec& codec, V (&v)[rows], T* to, std::index_sequence<i...>) {
    (hn::StoreU(codec.decode(v[i]), d, to + i * lanes), ...);
  }
  template <class Codec, class C, std::size_t rows, std::size_t... i>
  static HWY_INLINE void store_lanes(D d, const Codec& codec, V (&v)[rows], T* to, std::uint64_t num_keys, C count,
                                     std::index_sequence<i...>) {
    (store_row<i, rows>(d, codec.decode(v[i]), to, num_keys, count), ...);
  }
  template <unsigned row, unsigned rows, class C>
  static HWY_INLINE void store_row(D d, V x, T* to, std::uint64_t num_keys, C count) {
    if constexpr (is_full<row, rows>) return hn::StoreU(x, d, to + row * lanes);
#if HWY_TARGET == HWY_AVX2
    // Masked stores of AVX2 are slow on AMD's processors.
    if (num_keys >= (row + 1) * lanes) return hn::StoreU(x, d, to + row * lanes);
    if (num_keys <= row * lanes) return;
#endif
    hn::BlendedStore(x, lanes_of_row<row>(d, count), d, to + begin_of<row>(num_keys));
  }

  const keys::codec_of<K>& codec_;
  K* result_end_;
};

/// The function of network_sort (network_sort.hpp) for keys of 16 bits and more.
template <class K, bool identity>
void sort_by_network(const void* codec, void* keys, std::uint64_t num_keys) {
  K* const all = static_cast<K*>(keys);
  finisher<K, identity>(*static_cast<const keys::codec_of<K>*>(codec), all + num_keys).sort_raw(all, num_keys, all);
}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
