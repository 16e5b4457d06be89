// SPDX-License-Identifier: Apache-2.0
// Keys alone of which one value is about half or more: the others are moved together, sorted by whoever calls, and put
// around a run of that value. A quicksort would move all keys once for each value that it takes for a pivot. This
// header is included once for each of Highway's targets.
#if defined(SPANSORT_MAJORITY_KEY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_MAJORITY_KEY_INL
#undef SPANSORT_MAJORITY_KEY_INL
#else
#define SPANSORT_MAJORITY_KEY_INL
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>

#include "device/host/lane_orders.hpp"
#include "device/host/vector_split-inl.hpp"
#include "keys/codec.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// Stores those of eight lanes of 16 bits that have a bit together, and whatever behind them. Returns how many these
/// are.
inline std::uint64_t store_eight_of(__m128i x, unsigned bits, std::uint16_t* to) {
  const __m128i order = _mm_load_si128(reinterpret_cast<const __m128i*>(lane_orders.of_8_pairs[bits]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(x, order));
  return static_cast<std::uint64_t>(std::popcount(bits));
}

/// Stores the lanes that differ from `wanted` together; `compresses` says that the processor has an instruction for it.
template <bool compresses>
HWY_INLINE std::uint64_t store_others_16(hn::Vec<full_tag<std::uint16_t>> x, hn::Vec<full_tag<std::uint16_t>> wanted,
                                         std::uint16_t* to) {
#if HWY_TARGET == HWY_AVX3
  const __mmask32 others = _mm512_cmpneq_epu16_mask(x.raw, wanted.raw);
  if constexpr (compresses) {
    _mm512_storeu_si512(to, compress_16(x.raw, others));
    return static_cast<std::uint64_t>(std::popcount(static_cast<unsigned>(others)));
  }
  const __m128i eights[] = {_mm512_castsi512_si128(x.raw), _mm512_extracti32x4_epi32(x.raw, 1),
                            _mm512_extracti32x4_epi32(x.raw, 2), _mm512_extracti32x4_epi32(x.raw, 3)};
#else
  const __m256i equal = _mm256_cmpeq_epi16(x.raw, wanted.raw);
  const auto others = ~static_cast<unsigned>(
      _mm_movemask_epi8(_mm_packs_epi16(_mm256_castsi256_si128(equal), _mm256_extracti128_si256(equal, 1))));
  const __m128i eights[] = {_mm256_castsi256_si128(x.raw), _mm256_extracti128_si256(x.raw, 1)};
#endif
  std::uint64_t count = 0;
  for (unsigned i = 0; i < std::size(eights); ++i) {
    count += store_eight_of(eights[i], static_cast<unsigned>(others) >> 8 * i & 0xFFU, to + count);
  }
  return count;
}

/// Returns the first lane of a mask that has one.
template <class D>
HWY_INLINE std::uint64_t first_lane(D d, hn::Mask<D> mask) {
  return static_cast<std::uint64_t>(hn::FindFirstTrue(d, mask));
}

template <class K, bool compresses = false>
class majority_key {
 public:
  using T = lane_type<K>;

  /// Looks at 24 keys and more of `num_keys`, which are at least three times as many lanes. It takes few steps, and no
  /// branch that could be mispredicted, so that small arrays can afford it.
  majority_key(const K* keys, std::uint64_t num_keys) : num_keys_(num_keys) {
    const full_tag<K> d;
    constexpr std::uint64_t lanes = lanes_of<K>();
    constexpr std::uint64_t place_keys = std::max<std::uint64_t>(lanes, 8);
    const std::uint64_t middle = (num_keys - place_keys) / 2;
    const auto load = [&](std::uint64_t i) HWY_ATTR { return hn::LoadU(d, reinterpret_cast<const T*>(keys + i)); };
    const auto copies_of = [&](K key) HWY_ATTR { return hn::Set(d, static_cast<T>(key)); };
    // The second candidate is nearly always the other value where there are two in all.
    const auto differ = hn::Ne(load(middle), copies_of(keys[0]));
    const K other = keys[middle + (hn::AllFalse(d, differ) ? 0 : first_lane(d, differ))];
    const K last = keys[num_keys - 1];
    const hn::Vec<full_tag<K>> candidates[] = {copies_of(keys[0]), copies_of(other), copies_of(last)};
    std::uint64_t alike[3] = {};
    std::uint64_t known = 0;
    for (const std::uint64_t begin : {std::uint64_t{0}, middle, num_keys - place_keys}) {
      for (std::uint64_t i = begin; i < begin + place_keys; i += lanes) {
        const auto x = load(i);
        const auto first = hn::Eq(x, candidates[0]);
        const auto second = hn::Eq(x, candidates[1]);
        const auto third = hn::Eq(x, candidates[2]);
        alike[0] += hn::CountTrue(d, first);
        alike[1] += hn::CountTrue(d, second);
        alike[2] += hn::CountTrue(d, third);
        known += hn::CountTrue(d, hn::Or(hn::Or(first, second), third));
      }
    }
    key_ = alike[1] > alike[0] ? other : keys[0];
    std::uint64_t most = std::max(alike[0], alike[1]);
    key_ = alike[2] > most ? last : key_;
    most = std::max(most, alike[2]);
    are_three_ = known == 3 * place_keys;
    share_ = most * 16 / (3 * place_keys);
  }

  /// Returns whether one value is so much of the sample that it is worth being set aside. Otherwise others are faster:
  /// several values at once (count_few.hpp) where keys are many, or a quicksort. Keys that the processor compresses 32
  /// at a time move in next to no time.
  [[nodiscard]] bool is_likely() const noexcept {
    const std::uint64_t few_keys = sizeof(K) == 2 ? (compresses ? 4 : 8) : 5;
    return share_ >= (sizeof(K) != 2 && num_keys_ >= 4096 ? 11 : few_keys);
  }
  /// Returns whether there may be no more than three values, which are better counted.
  [[nodiscard]] bool are_three() const noexcept { return are_three_; }

  /// Moves the other keys to the front, in their order; what lies behind them is of no value then. Returns how many.
  std::uint64_t drop(K* keys, std::uint64_t num_keys) const {
    const full_tag<K> d;
    constexpr std::uint64_t lanes = lanes_of<K>();
    T* const all = reinterpret_cast<T*>(keys);
    const auto wanted = hn::Set(d, static_cast<T>(key_));
    std::uint64_t num_others = 0;
    std::uint64_t i = 0;
    for (; i + lanes <= num_keys; i += lanes) {
      const auto x = hn::LoadU(d, all + i);
      if constexpr (sizeof(K) == 2) {
        num_others += store_others_16<compresses>(x, wanted, all + num_others);
      } else {
        num_others += store_lanes_of(d, x, hn::Ne(x, wanted), all + num_others);
      }
    }
    for (; i < num_keys; ++i) {
      const K key = keys[i];
      keys[num_others] = key;
      num_others += key != key_ ? 1 : 0;
    }
    return num_others;
  }

  [[nodiscard]] K value() const noexcept { return key_; }

 private:
  K key_ = 0;
  std::uint64_t num_keys_ = 0;
  std::uint64_t share_ = 0;  ///< of the sample, in sixteenths
  bool are_three_ = false;
};

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
