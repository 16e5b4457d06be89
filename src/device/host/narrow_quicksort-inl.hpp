// SPDX-License-Identifier: Apache-2.0
// Quicksort of keys of 16 bits on one thread: partitions from one array to the other, networks at the end. A vector has
// so many of these keys that partitions pay down to a thousand of them, and bounds of parts cost next to nothing. This
// header is included once for each of Highway's targets.
#if defined(SPANSORT_NARROW_QUICKSORT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_NARROW_QUICKSORT_INL
#undef SPANSORT_NARROW_QUICKSORT_INL
#else
#define SPANSORT_NARROW_QUICKSORT_INL
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "device/host/lane_orders.hpp"
#include "device/host/vector_finish-inl.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

using narrow_key = std::uint16_t;
using narrow_tag = full_tag<narrow_key>;
using narrow_vector = hn::Vec<narrow_tag>;

/// Keys and their bounds, which are keys themselves.
struct narrow_part {
  std::uint64_t num_keys = 0;
  narrow_key least = 0;
  narrow_key greatest = 0;
};

/// Splits a part's keys into those below a pivot and the others.
template <bool compresses>
class narrow_partition {
 public:
  explicit narrow_partition(narrow_key pivot)
      : pivots_(hn::Set(d, pivot)),
        greatest_low_(hn::Zero(d)),
        least_high_(hn::Set(d, hwy::HighestValue<narrow_key>())) {}

  /// Moves keys below the pivot to `low` and the others to the front of `keys`. Up to a vector behind the last key of
  /// either is read or written.
  void run(narrow_key* keys, std::uint64_t num_keys, narrow_key* low) {
    std::uint64_t i = 0;
    constexpr std::uint64_t together = 4;
    for (; i + together * lanes <= num_keys; i += together * lanes) {
      // They are read before the first is written: what is written may overlap all but the last of them.
      const narrow_vector x[together] = {hn::LoadU(d, keys + i), hn::LoadU(d, keys + i + lanes),
                                         hn::LoadU(d, keys + i + 2 * lanes), hn::LoadU(d, keys + i + 3 * lanes)};
      for (std::uint64_t j = 0; j < together; ++j) split(x[j], ~0U, lanes, keys, low);
    }
    for (; i < num_keys; i += lanes) {
      const std::uint64_t count = std::min(lanes, num_keys - i);
      split(hn::LoadU(d, keys + i), ~0U >> (32 - count), count, keys, low);
    }
  }

  [[nodiscard]] std::uint64_t num_low() const { return num_low_; }
  [[nodiscard]] narrow_key greatest_low() const { return hn::GetLane(hn::MaxOfLanes(d, greatest_low_)); }
  [[nodiscard]] narrow_key least_high() const { return hn::GetLane(hn::MinOfLanes(d, least_high_)); }

 private:
  static constexpr narrow_tag d{};
  static constexpr std::uint64_t lanes = hn::MaxLanes(narrow_tag());

  /// Takes the `count` first lanes, which are the bits of `valid`.
  HWY_INLINE void split(narrow_vector x, unsigned valid, std::uint64_t count, narrow_key* keys, narrow_key* low) {
#if HWY_TARGET == HWY_AVX3
    const __mmask32 below = _mm512_mask_cmplt_epu16_mask(valid, x.raw, pivots_.raw);
    const auto above = static_cast<__mmask32>(valid & ~below);
    greatest_low_.raw = _mm512_mask_max_epu16(greatest_low_.raw, below, greatest_low_.raw, x.raw);
    least_high_.raw = _mm512_mask_min_epu16(least_high_.raw, above, least_high_.raw, x.raw);
    if constexpr (compresses) {
      hn::StoreU(narrow_vector{compress_16(x.raw, below)}, d, low + num_low_);
      hn::StoreU(narrow_vector{compress_16(x.raw, above)}, d, keys + num_high_);
      const auto num_below = static_cast<std::uint64_t>(std::popcount(static_cast<unsigned>(below)));
      num_low_ += num_below;
      num_high_ += count - num_below;
      return;
    }
    const auto below_bits = static_cast<unsigned>(below);
    const auto above_bits = static_cast<unsigned>(above);
    split_block(_mm512_castsi512_si128(x.raw), below_bits, above_bits, keys, low);
    split_block(_mm512_extracti32x4_epi32(x.raw, 1), below_bits >> 8, above_bits >> 8, keys, low);
    split_block(_mm512_extracti32x4_epi32(x.raw, 2), below_bits >> 16, above_bits >> 16, keys, low);
    split_block(_mm512_extracti32x4_epi32(x.raw, 3), below_bits >> 24, above_bits >> 24, keys, low);
#else
    (void)count;
    const __m256i is_above = _mm256_cmpeq_epi16(_mm256_max_epu16(x.raw, pivots_.raw), x.raw);
    const auto marks = static_cast<unsigned>(
        _mm_movemask_epi8(_mm_packs_epi16(_mm256_castsi256_si128(is_above), _mm256_extracti128_si256(is_above, 1))));
    const unsigned above_bits = marks & valid;
    const unsigned below_bits = ~marks & valid & 0xFFFF;
    if (count == lanes) {  // lanes behind the last key would spoil the bounds
      greatest_low_.raw = _mm256_max_epu16(greatest_low_.raw, _mm256_andnot_si256(is_above, x.raw));
      least_high_.raw = _mm256_min_epu16(least_high_.raw,
                                         _mm256_or_si256(_mm256_andnot_si256(is_above, _mm256_set1_epi32(-1)), x.raw));
    } else {
      bound_last(x, below_bits, above_bits);
    }
    split_block(_mm256_castsi256_si128(x.raw), below_bits, above_bits, keys, low);
    split_block(_mm256_extracti128_si256(x.raw, 1), below_bits >> 8, above_bits >> 8, keys, low);
#endif
  }

  /// Takes eight lanes.
  HWY_INLINE void split_block(__m128i x, unsigned below, unsigned above, narrow_key* keys, narrow_key* low) {
    below &= 0xFF;
    above &= 0xFF;
    const auto order_of = [](unsigned bits) HWY_ATTR {
      return _mm_load_si128(reinterpret_cast<const __m128i*>(lane_orders.of_8_pairs[bits]));
    };
    _mm_storeu_si128(reinterpret_cast<__m128i*>(low + num_low_), _mm_shuffle_epi8(x, order_of(below)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(keys + num_high_), _mm_shuffle_epi8(x, order_of(above)));
    num_low_ += static_cast<std::uint64_t>(std::popcount(below));
    num_high_ += static_cast<std::uint64_t>(std::popcount(above));
  }

#if HWY_TARGET == HWY_AVX3
#else
  void bound_last(narrow_vector x, unsigned below, unsigned above) {
    HWY_ALIGN narrow_key keys[lanes];
    hn::Store(x, d, keys);
    narrow_key greatest = 0;
    narrow_key least = hwy::HighestValue<narrow_key>();
    for (unsigned i = 0; i < lanes; ++i) {
      if ((below >> i & 1U) != 0) greatest = std::max(greatest, keys[i]);
      if ((above >> i & 1U) != 0) least = std::min(least, keys[i]);
    }
    greatest_low_ = hn::Max(greatest_low_, hn::Set(d, greatest));
    least_high_ = hn::Min(least_high_, hn::Set(d, least));
  }
#endif

  narrow_vector pivots_, greatest_low_, least_high_;
  std::uint64_t num_low_ = 0;
  std::uint64_t num_high_ = 0;
};

/// 64 keys of a part, spread over it, in order.
struct narrow_sample {
  static constexpr unsigned num_keys = 64;
  HWY_ALIGN narrow_key keys[num_keys];

  /// `count` is at least as many.
  narrow_sample(const narrow_key* from, std::uint64_t count) {
    constexpr unsigned together = 8;
    constexpr unsigned groups = num_keys / together;
    for (unsigned g = 0; g < groups; ++g) {
      std::memcpy(keys + g * together, from + g * (count - together) / (groups - 1), together * sizeof(narrow_key));
    }
    const narrow_tag d;
    constexpr std::uint64_t lanes = hn::MaxLanes(narrow_tag());
    constexpr unsigned rows = num_keys / lanes;
    narrow_vector v[rows];
    for (unsigned i = 0; i < rows; ++i) v[i] = hn::Load(d, keys + i * lanes);
    sort_network(d, v);
    for (unsigned i = 0; i < rows; ++i) hn::Store(v[i], d, keys + i * lanes);
  }

  /// Returns whether no quarter of the range holds many more keys than its share.
  [[nodiscard]] bool lies_evenly(narrow_key least, narrow_key greatest) const {
    constexpr long most = 28;  // of 16 expected: three and a half standard deviations above
    const unsigned range = static_cast<unsigned>(greatest) - least + 1U;
    const narrow_key* begin = keys;
    for (unsigned quarter = 1; quarter <= 4; ++quarter) {
      const narrow_key* end = std::lower_bound(begin, keys + num_keys, least + range * quarter / 4);
      if (end - begin > most) return false;
      begin = end;
    }
    return true;
  }
};

/// Sorts lane bits on one thread. A part lies in one of two arrays and has the room of as many keys in the other.
template <bool identity, bool compresses>
class narrow_quicksorter {
 public:
  explicit narrow_quicksorter(const finisher<narrow_key, identity>& finish) : finish_(finish) {}

  /// Keys lie in `keys`; `spare` has room for as many, and both for a vector more. Parts that are sorted later lie
  /// before what a vector may overwrite behind a part.
  void sort(narrow_key* keys, narrow_key* spare, narrow_key* result, narrow_part part, bool is_even,
            unsigned depth) const {
    while (part.num_keys > network_size<narrow_key>() && part.least != part.greatest) {
      const narrow_key pivot = pivot_of(keys, part, is_even, depth);
      narrow_partition<compresses> split(pivot);
      split.run(keys, part.num_keys, spare);
      const std::uint64_t num_low = split.num_low();
      const std::uint64_t num_high = part.num_keys - num_low;
      is_even = is_even && std::min(num_low, num_high) >= part.num_keys / 8;  // the sample may have deceived
      if (depth != 0) --depth;
      // Parts are finished from left to right, for a network writes beyond its keys.
      sort(spare, keys + num_high, result, {num_low, part.least, split.greatest_low()}, is_even, depth);
      part = {num_high, split.least_high(), part.greatest};
      spare += num_low;
      result += num_low;
    }
    if (part.least == part.greatest) return finish_.fill(result, part.num_keys, part.least);
    finish_.sort(keys, part.num_keys, result, part.least, part.greatest);
  }

 private:
  /// Above the least and up to the greatest key, so that both parts have keys.
  static narrow_key pivot_of(const narrow_key* keys, const narrow_part& part, bool is_even, unsigned depth) {
    constexpr std::uint64_t wanted_keys = network_size<narrow_key>() * 27 / 32;
    const std::uint64_t parts = (part.num_keys + wanted_keys - 1) / wanted_keys;
    const auto share = [&](std::uint64_t whole) { return whole * (parts / 2) / parts; };
    const auto range = static_cast<unsigned>(part.greatest - part.least);
    unsigned pivot = 0;
    if (is_even) {
      pivot = part.least + static_cast<unsigned>(share(range));
    } else if (depth != 0) {
      pivot = narrow_sample(keys, part.num_keys).keys[share(narrow_sample::num_keys)];
    } else {  // samples have been unlucky all the way
      pivot = part.least + (range + 1) / 2;
    }
    return static_cast<narrow_key>(std::max(pivot, part.least + 1U));
  }

  const finisher<narrow_key, identity>& finish_;
};

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
