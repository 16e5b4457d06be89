// SPDX-License-Identifier: Apache-2.0
// The step that sorts a part of a worker's keys by one network, or by two and a merge: keys are loaded into rows of
// vectors, sorted, and stored where they belong. This header is included once for each of Highway's targets.
#if defined(SPANSORT_VECTOR_FINISH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_FINISH_INL
#undef SPANSORT_VECTOR_FINISH_INL
#else
#define SPANSORT_VECTOR_FINISH_INL
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "device/host/vector_forms-inl.hpp"
#include "device/host/vector_network-inl.hpp"
#include "device/host/vector_rows-inl.hpp"
#include "keys/codec.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

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
  auto other_least = least;  // one after the other would wait for each other
  auto other_greatest = greatest;
  const auto encode_row = [&](std::uint64_t i, auto& low, auto& high) HWY_ATTR {
    const auto x = lane.encode(hn::LoadU(d, reinterpret_cast<const T*>(from + i)));
    low = hn::Min(low, x);
    high = hn::Max(high, x);
    hn::StoreU(x, d, to + i);
  };
  std::uint64_t i = 0;
  for (; i + 2 * lanes <= num_keys; i += 2 * lanes) {
    encode_row(i, least, greatest);
    encode_row(i + lanes, other_least, other_greatest);
  }
  if (i + lanes <= num_keys) {
    encode_row(i, least, greatest);
    i += lanes;
  }
  least = hn::Min(least, other_least);
  greatest = hn::Max(greatest, other_greatest);
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
  /// A codec that is not the identity outlives this. Copies of it right after it was made would wait for its bytes.
  finisher(const keys::codec_of<K>& codec, K* result_end)
      : codec_(identity ? no_codec : codec), result_end_(result_end) {}

  /// Returns the same for a result, or a part of it, that ends there.
  [[nodiscard]] finisher up_to(K* result_end) const { return finisher(codec_, result_end); }

  /// `num_keys` <= network_size() lane bits from `least` to `greatest`, which matter to keys of 32 and 64 bits; keys of
  /// 16 bits have a vector's room behind them. Whole vectors are written where the result goes on. It may be `keys`.
  HWY_INLINE void sort(const T* keys, std::uint64_t num_keys, K* result, T least, T greatest) const {
    if constexpr (has_numbers<K>) {
      if (num_keys > fewest_numbers && number_form<K, identity>::holds(least, greatest) && compares_numbers()) {
        return sort_numbers<number_form<K, identity>>(keys, num_keys, result, least);
      }
    }
    sort_lanes_of(keys, num_keys, result);
  }

  /// This does the same for more keys, up to twice as many.
  HWY_INLINE void sort_two(const T* keys, std::uint64_t num_keys, K* result, T least, T greatest) const {
    if constexpr (has_numbers<K>) {
      if (number_form<K, identity>::holds(least, greatest) && compares_numbers()) {
        return sort_two_as<number_form<K, identity>>(keys, num_keys, result, least);
      }
    }
    sort_two_as<lane_form<K, identity>>(keys, num_keys, result);
  }

  /// sort() of keys as they are; `result` is `keys` or does not overlap them.
  HWY_INLINE void sort_raw(const K* keys, std::uint64_t num_keys, K* result) const {
    if constexpr (!has_masked_memory<K>) {
      HWY_ALIGN T copied[network_size<K>()];
      std::memcpy(copied, keys, num_keys * sizeof(K));
      if (num_keys > 16 * lanes) return sort_as<32, key_form<K, identity>>(copied, num_keys, result);
      return sort_few<key_form<K, identity>>(copied, num_keys, result);
    }
    const auto* const from = reinterpret_cast<const T*>(keys);
    if constexpr (are_lane_bits) return sort_lanes_of(from, num_keys, result);
    if constexpr (has_numbers<K>) {
      if (num_keys > fewest_numbers && compares_numbers() && sort_raw_numbers(keys, num_keys, result)) return;
    }
    if constexpr (!identity) {
      if (flipped_form<K>::holds(codec_)) {
        if (num_keys > 16 * lanes) return sort_as<32, flipped_form<K>>(from, num_keys, result);
        return sort_few<flipped_form<K>>(from, num_keys, result);
      }
    }
    if (num_keys <= 16 * lanes) return sort_few<key_form<K, identity>>(from, num_keys, result);
    if constexpr (sizeof(K) == 8) return sort_as<32, key_form<K, identity>>(from, num_keys, result);
    HWY_ALIGN T encoded[network_size<K>()];
    const full_tag<K> d;
    const lane_codec<K, identity, full_tag<K>> codec(d, codec_);
    std::uint64_t i = 0;
    for (; i + lanes <= num_keys; i += lanes) hn::Store(codec.encode(hn::LoadU(d, from + i)), d, encoded + i);
    for (; i < num_keys; ++i) {
      encoded[i] = static_cast<T>(to_lane_bits(identity ? keys[i] : codec_.encode_bits(keys[i])));
    }
    sort_lanes_of(encoded, num_keys, result);
  }

  /// sort_two() of keys as they are; `result` is `keys` or does not overlap them.
  HWY_INLINE void sort_two_raw(const K* keys, std::uint64_t num_keys, K* result) const {
    const auto* const from = reinterpret_cast<const T*>(keys);
    if constexpr (has_numbers<K>) {
      if (compares_numbers()) {
        if (!identity && are_plain_floats(keys, num_keys)) return sort_two_as<float_form<K>>(from, num_keys, result);
        if constexpr (sizeof(K) == 8) return sort_two_numbers(keys, num_keys, result);
      }
    }
    if constexpr (!identity) {
      if (flipped_form<K>::holds(codec_)) return sort_two_as<flipped_form<K>>(from, num_keys, result);
    }
    sort_two_as<key_form<K, identity>>(from, num_keys, result);
  }

  void fill(K* result, std::uint64_t num_keys, T bits) const {
    std::fill_n(result, num_keys,
                identity ? to_lane_bits(static_cast<K>(bits)) : codec_.decode(to_lane_bits(static_cast<K>(bits))));
  }

 private:
  template <class Form>
  using compared = hn::TFromD<typename Form::compared_tag>;
  template <class Form>
  using row = hn::Vec<typename Form::compared_tag>;
  using memory = row_memory<K>;

  static constexpr std::uint64_t lanes = lanes_of<K>();
  static constexpr bool are_lane_bits = identity && sizeof(K) != 8;
  /// Fewer take no longer as integers.
  static constexpr std::uint64_t fewest_numbers = (sizeof(K) == 4 ? 8 : 4) * lanes;
  static constexpr keys::codec_of<K> no_codec{};

  HWY_INLINE bool are_plain_floats(const K* keys, std::uint64_t num_keys) const {
    return codec_.infinity != 0 && compares_subnormals() && !has_special_floats(keys, num_keys);
  }

  HWY_INLINE void sort_lanes_of(const T* keys, std::uint64_t num_keys, K* result) const {
    if (num_keys > 16 * lanes) return sort_as<32, lane_form<K, identity>>(keys, num_keys, result);
    sort_few<lane_form<K, identity>>(keys, num_keys, result);
  }

  /// Returns false, with nothing done, where numbers are slower or cannot stand for the keys.
  HWY_INLINE bool sort_raw_numbers(const K* keys, std::uint64_t num_keys, K* result) const {
    if (!identity && are_plain_floats(keys, num_keys)) {
      sort_numbers<float_form<K>>(reinterpret_cast<const T*>(keys), num_keys, result);
      return true;
    }
    // To look for the bounds costs more than it saves where keys are short, or few.
    if constexpr (sizeof(K) == 8) {
      if (HWY_TARGET == HWY_AVX3 && num_keys <= 8 * lanes) return false;
      HWY_ALIGN T encoded[network_size<K>()];
      const auto [least, greatest] = encode_all<K, identity>(codec_, keys, num_keys, encoded);
      if (number_form<K, identity>::holds(least, greatest)) {
        sort_numbers<number_form<K, identity>>(encoded, num_keys, result, least);
        return true;
      }
      if (signed_number_form<identity>::holds(least, greatest)) {
        sort_numbers<signed_number_form<identity>>(encoded, num_keys, result, least, greatest);
        return true;
      }
    }
    return false;
  }

  /// Does so with two networks of keys that are not plain floats.
  HWY_INLINE void sort_two_numbers(const K* keys, std::uint64_t num_keys, K* result) const {
    HWY_ALIGN T encoded[2 * network_size<K>()];
    const auto [least, greatest] = encode_all<K, identity>(codec_, keys, num_keys, encoded);
    if (signed_number_form<identity>::holds(least, greatest) && !number_form<K, identity>::holds(least, greatest)) {
      return sort_two_as<signed_number_form<identity>>(encoded, num_keys, result, least, greatest);
    }
    sort_two(encoded, num_keys, result, least, greatest);
  }

  template <class Form>
  HWY_INLINE void sort_few(const T* keys, std::uint64_t num_keys, K* result) const {
    if (num_keys > 8 * lanes) return sort_as<16, Form>(keys, num_keys, result);
    if (num_keys > 4 * lanes) return sort_as<8, Form>(keys, num_keys, result);
    if (num_keys > 2 * lanes) return sort_as<4, Form>(keys, num_keys, result);
    if (num_keys > lanes) return sort_as<2, Form>(keys, num_keys, result);
    sort_as<1, Form>(keys, num_keys, result);
  }

  template <class Form, class... Bounds>
  HWY_INLINE void sort_numbers(const T* keys, std::uint64_t num_keys, K* result, Bounds... bounds) const {
    if (num_keys > 16 * lanes) return sort_as<32, Form>(keys, num_keys, result, bounds...);
    if (num_keys > 8 * lanes) return sort_as<16, Form>(keys, num_keys, result, bounds...);
    sort_as<8, Form>(keys, num_keys, result, bounds...);
  }

  template <unsigned rows, class Form, class... Bounds>
  HWY_NOINLINE void sort_as(const T* keys, std::uint64_t num_keys, K* result, Bounds... bounds) const {
    const Form form(codec_, bounds...);
    row<Form> v[rows];
    memory::template load<rows / 2>(form, keys, num_keys, v);
    sort_network(typename Form::compared_tag(), v);
    memory::template store<rows / 2>(form, v, num_keys, result, result_end_);
  }

  /// Sorts one network's keys and the others apart, and merges these two blocks.
  template <class Form, class... Bounds>
  HWY_INLINE void sort_two_as(const T* keys, std::uint64_t num_keys, K* result, Bounds... bounds) const {
    const Form form(codec_, bounds...);
    HWY_ALIGN compared<Form> blocks[2 * network_size<K>()];
    sort_block<32, 32>(form, keys, network_size<K>(), blocks);
    keys += network_size<K>();
    num_keys -= network_size<K>();
    if (num_keys > 16 * lanes) return finish_two<32, 16>(form, keys, num_keys, blocks, result);
    if (num_keys > 8 * lanes) return finish_two<16, 8>(form, keys, num_keys, blocks, result);
    if (num_keys > 4 * lanes) return finish_two<8, 4>(form, keys, num_keys, blocks, result);
    finish_two<8, 0>(form, keys, num_keys, blocks, result);
  }

  /// Sorts the second block, of which `full_rows` are full of keys and others may be, and merges it.
  template <unsigned rows, unsigned full_rows, class Form>
  HWY_INLINE void finish_two(const Form& form, const T* keys, std::uint64_t num_keys, compared<Form>* blocks,
                             K* result) const {
    compared<Form>* const second = blocks + network_size<K>();
    sort_block<rows, full_rows>(form, keys, num_keys, second);
    exchange_blocks<rows, Form>(blocks, second);
    merge_block<32, 32>(form, blocks, network_size<K>(), result);
    merge_block<rows, full_rows>(form, second, num_keys, result + network_size<K>());
  }

  template <unsigned rows, unsigned full_rows, class Form>
  static HWY_NOINLINE void sort_block(const Form& form, const T* keys, std::uint64_t num_keys, compared<Form>* to) {
    const typename Form::compared_tag d;
    row<Form> v[rows];
    memory::template load<full_rows>(form, keys, num_keys, v);
    sort_network(d, v);
    for (unsigned r = 0; r < rows; ++r) hn::Store(v[r], d, to + r * lanes);
  }

  /// Puts the least keys of both sorted blocks into the first, each of which is bitonic then. Rows that the second
  /// block does not have would be greater than all, and the first block's rows opposite to them stay where they are.
  template <unsigned rows, class Form>
  static HWY_INLINE void exchange_blocks(compared<Form>* first, compared<Form>* second) {
    const typename Form::compared_tag d;
    const auto exchange = [&](unsigned r) HWY_ATTR {
      compared<Form>* const low = first + (32 - rows + r) * lanes;
      row<Form> x = hn::Load(d, low);
      row<Form> y = reverse_lanes<lanes>(d, hn::Load(d, second + (rows - 1 - r) * lanes));
      sort_rows(x, y);
      hn::Store(x, d, low);
      return y;
    };
    for (unsigned r = 0; r < rows / 2; ++r) {
      const row<Form> upper = exchange(r);
      const row<Form> lower = exchange(rows - 1 - r);
      hn::Store(upper, d, second + r * lanes);
      hn::Store(lower, d, second + (rows - 1 - r) * lanes);
    }
  }

  template <unsigned rows, unsigned full_rows, class Form>
  HWY_NOINLINE void merge_block(const Form& form, const compared<Form>* keys, std::uint64_t num_keys, K* result) const {
    const typename Form::compared_tag d;
    row<Form> v[rows];
    for (unsigned r = 0; r < rows; ++r) v[r] = hn::Load(d, keys + r * lanes);
    merge_bitonic(d, v);
    memory::template store<full_rows>(form, v, num_keys, result, result_end_);
  }

  const keys::codec_of<K>& codec_;
  K* result_end_;
};

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
