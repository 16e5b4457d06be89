// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/pair_network.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "device/host/vector_targets.hpp"
#include "keys/codec.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/pair_network.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/pair_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// The bytes of values, which may have any alignment.
template <class W>
W load_word(const void* words, std::uint64_t i) {
  W word = 0;
  std::memcpy(&word, static_cast<const std::byte*>(words) + i * sizeof(W), sizeof(W));
  return word;
}
template <class W>
void store_word(void* words, std::uint64_t i, W word) {
  std::memcpy(static_cast<std::byte*>(words) + i * sizeof(W), &word, sizeof(W));
}

/// Puts pairs in order that lie in order but for a few; stable.
template <class K, class W>
HWY_NOINLINE void insert_pairs(const keys::codec_of<K>& codec, K* keys, void* values, std::uint64_t num_keys) {
  for (std::uint64_t i = 1; i < num_keys; ++i) {
    const K key = keys[i];
    const K encoded = codec.encode(key);
    if (codec.encode(keys[i - 1]) <= encoded) continue;
    const W value = load_word<W>(values, i);
    std::uint64_t j = i;
    for (; j > 0 && codec.encode(keys[j - 1]) > encoded; --j) {
      keys[j] = keys[j - 1];
      store_word(values, j, load_word<W>(values, j - 1));
    }
    keys[j] = key;
    store_word(values, j, value);
  }
}

/// Puts positions of keys in order, likewise.
template <class K, class W>
HWY_NOINLINE void insert_positions(const keys::codec_of<K>& codec, const K* keys, void* positions,
                                   std::uint64_t num_keys) {
  const auto encoded_at = [&](std::uint64_t i) { return codec.encode(keys[load_word<W>(positions, i)]); };
  for (std::uint64_t i = 1; i < num_keys; ++i) {
    const W position = load_word<W>(positions, i);
    const K encoded = codec.encode(keys[position]);
    std::uint64_t j = i;
    for (; j > 0 && encoded_at(j - 1) > encoded; --j) store_word(positions, j, load_word<W>(positions, j - 1));
    store_word(positions, j, position);
  }
}

#if HWY_TARGET == HWY_AVX3

/// Sorts words; `v` then holds positions, or whole words where that is said.
template <class K, unsigned rows, bool folds>
HWY_INLINE pair_order order_rows(const keys::codec_of<K>& c, const K* keys, std::uint64_t num_keys,
                                 word_vector (&v)[rows]) {
  if constexpr (sizeof(K) == 4 && rows == most_rows) {
    if (!compares_numbers()) return order_narrow<folds>(c, keys, num_keys, v);
  }
  const row_codec<K, folds> codec(c);
  load_encoded(codec, keys, num_keys, v);
  if (rows_ascend(v)) return pair_order::in_order;
  if (rows_descend(v, num_keys)) {
    const word_vector last = hn::Set(word_tag(), static_cast<std::int64_t>(num_keys - 1));
    for (unsigned r = 0; r < rows; ++r) {
      v[r] = hn::Sub(last, hn::Iota(word_tag(), static_cast<std::int64_t>(r * word_lanes)));
    }
    return pair_order::moved;
  }
  unsigned shift = pair_position_bits;
  word_vector encoded[rows];
  if constexpr (sizeof(K) == 8) {
    shift = shared_bits(v, num_keys);
    std::copy_n(v, rows, encoded);
  }
  // The network of fewer rows takes no longer as integers; doubles have less room for keys of 64 bits.
  constexpr unsigned fewest_rows = sizeof(K) == 4 ? 4 : 8;
  const unsigned dropped_bits = rows >= fewest_rows && compares_numbers() ? sort_words<K, true>(v, num_keys, shift)
                                                                          : sort_words<K, false>(v, num_keys, shift);
  if constexpr (sizeof(K) == 8) {
    if (dropped_bits != 0) {
      const word_vector greatest = hn::Set(word_tag(), hwy::HighestValue<std::int64_t>());
      __m512i from[rows];
      word_vector sorted[rows];
      for (unsigned r = 0; r < rows; ++r) from[r] = encoded[r].raw;
      for (unsigned r = 0; r < rows; ++r) {
        sorted[r].raw = _mm512_mask_mov_epi64(greatest.raw, lanes_of_row(num_keys, r), pick_words(from, v[r].raw));
      }
      if (!rows_ascend(sorted)) return pair_order::may_tie;
    }
  }
  return pair_order::moved;
}

template <class K, class W, unsigned rows, bool folds>
HWY_NOINLINE void sort_rows_of(const keys::codec_of<K>& codec, K* keys, void* values, std::uint64_t num_keys) {
  word_vector v[rows];
  const pair_order order = order_rows<K, rows, folds>(codec, keys, num_keys, v);
  if (order == pair_order::in_order) return;
  move_by(v, static_cast<W*>(values), num_keys);
  if constexpr (sizeof(K) == 4 && rows == most_rows && !folds) {
    if (order == pair_order::whole) return store_upper_halves(codec, v, keys, num_keys);
  }
  move_by(v, keys, num_keys);
  if (order == pair_order::may_tie) insert_pairs<K, W>(codec, keys, values, num_keys);
}

template <class K, class W, unsigned rows, bool folds>
HWY_NOINLINE void order_rows_of(const keys::codec_of<K>& codec, const K* keys, void* indices, std::uint64_t num_keys) {
  word_vector v[rows];
  const pair_order order = order_rows<K, rows, folds>(codec, keys, num_keys, v);
  if (order == pair_order::in_order) {
    for (unsigned r = 0; r < rows; ++r) v[r] = hn::Iota(word_tag(), static_cast<std::int64_t>(r * word_lanes));
  }
  const __m512i position_bits = _mm512_set1_epi64(pair_position_mask);
  store_pair_rows<rows>(static_cast<W*>(indices), num_keys, [&](unsigned r) HWY_ATTR {
    if constexpr (sizeof(W) == 8) {
      return _mm512_and_si512(v[r].raw, position_bits);
    } else {
      return _mm512_cvtepi64_epi32(v[r].raw);
    }
  });
  if (order == pair_order::may_tie) insert_positions<K, W>(codec, keys, indices, num_keys);
}

template <class K, class W, bool folds>
void sort_few(const void* any_codec, void* any_keys, void* values, std::uint64_t num_keys) {
  const auto& codec = *static_cast<const keys::codec_of<K>*>(any_codec);
  K* const keys = static_cast<K*>(any_keys);
  if (num_keys <= word_lanes) return sort_rows_of<K, W, 1, folds>(codec, keys, values, num_keys);
  if (num_keys <= 2 * word_lanes) return sort_rows_of<K, W, 2, folds>(codec, keys, values, num_keys);
  if (num_keys <= 4 * word_lanes) return sort_rows_of<K, W, 4, folds>(codec, keys, values, num_keys);
  sort_rows_of<K, W, 8, folds>(codec, keys, values, num_keys);
}

template <class K, class W, bool folds>
void order_few(const void* any_codec, const void* any_keys, void* indices, std::uint64_t num_keys) {
  const auto& codec = *static_cast<const keys::codec_of<K>*>(any_codec);
  const K* const keys = static_cast<const K*>(any_keys);
  if (num_keys <= word_lanes) return order_rows_of<K, W, 1, folds>(codec, keys, indices, num_keys);
  if (num_keys <= 2 * word_lanes) return order_rows_of<K, W, 2, folds>(codec, keys, indices, num_keys);
  if (num_keys <= 4 * word_lanes) return order_rows_of<K, W, 4, folds>(codec, keys, indices, num_keys);
  order_rows_of<K, W, 8, folds>(codec, keys, indices, num_keys);
}

#else

/// Doubles can stand for words of so many bits.
constexpr unsigned pair_word_bits = 62;

/// Returns whether keys are in order, mostly by a look at the first few.
template <class K, bool folds>
HWY_INLINE bool keys_ascend(const row_codec<K, folds>& codec, const keys::codec_of<K>& c, const K* keys,
                            std::uint64_t num_keys) {
  if (num_keys <= word_lanes) {
    for (std::uint64_t i = 1; i < num_keys; ++i) {
      if (c.encode(keys[i - 1]) > c.encode(keys[i])) return false;
    }
    return true;
  }
  const beside_words<K> d;
  const hn::RebindToSigned<decltype(d)> compared;
  const auto top = hn::Set(d, static_cast<lane_type<K>>(sizeof(K) == 8 ? 0 : K{1} << (sizeof(K) * 8 - 1)));
  const auto load = [&](std::uint64_t i) HWY_ATTR {
    const auto encoded = codec.encode(hn::LoadU(d, reinterpret_cast<const lane_type<K>*>(keys + i)));
    return hn::BitCast(compared, hn::Xor(encoded, top));
  };
  for (std::uint64_t i = 1;; i += word_lanes) {
    i = std::min(i, num_keys - word_lanes);
    if (!hn::AllFalse(compared, hn::Lt(load(i), load(i - 1)))) return false;
    if (i + word_lanes == num_keys) return true;
  }
}

/// Writes words in the bits that vectors compare; returns whether they hold whole keys. There is room for a vector
/// behind the last word.
template <class K, bool folds>
HWY_INLINE bool write_words(const row_codec<K, folds>& codec, const keys::codec_of<K>& c, const K* HWY_RESTRICT keys,
                            std::uint64_t num_keys, std::int64_t* HWY_RESTRICT words) {
  const word_tag d;
  const beside_words<K> of_keys;
  constexpr auto lowest = hwy::LowestValue<std::int64_t>();
  const std::uint64_t in_vectors = num_keys / word_lanes * word_lanes;
  auto positions = hn::Iota(d, 0);
  const auto next_positions = hn::Set(d, static_cast<std::int64_t>(word_lanes));
  const auto load = [&](std::uint64_t i) HWY_ATTR {
    return codec.encode(hn::LoadU(of_keys, reinterpret_cast<const lane_type<K>*>(keys + i)));
  };
  const auto encode = [&](std::uint64_t i) HWY_ATTR { return c.encode_bits(folds ? c.fold(keys[i]) : keys[i]); };
  if constexpr (sizeof(K) == 4) {
    const auto bias = hn::Set(d, lowest);
    for (std::uint64_t i = 0; i < in_vectors; i += word_lanes) {
      const word_vector wide{_mm256_cvtepu32_epi64(load(i).raw)};
      const auto word = hn::Or(hn::ShiftLeft<pair_position_bits>(wide), positions);
      hn::StoreU(hn::Xor(word, bias), d, words + i);
      positions = hn::Add(positions, next_positions);
    }
    for (std::uint64_t i = in_vectors; i < num_keys; ++i) {
      words[i] = static_cast<std::int64_t>((std::uint64_t{encode(i)} << pair_position_bits) | i) ^ lowest;
    }
    return true;
  } else {
    auto lows = hn::Set(d, hwy::HighestValue<std::int64_t>());
    auto highs = hn::Set(d, lowest);
    for (std::uint64_t i = 0; i < in_vectors; i += word_lanes) {
      const auto encoded = load(i);
      lows = hn::Min(lows, encoded);
      highs = hn::Max(highs, encoded);
      hn::StoreU(encoded, d, words + i);
    }
    HWY_ALIGN std::int64_t bounds[2 * word_lanes];
    hn::Store(lows, d, bounds);
    hn::Store(highs, d, bounds + word_lanes);
    std::int64_t least = *std::min_element(bounds, bounds + word_lanes);
    std::int64_t greatest = *std::max_element(bounds + word_lanes, bounds + 2 * word_lanes);
    for (std::uint64_t i = in_vectors; i < num_keys; ++i) {
      words[i] = static_cast<std::int64_t>(encode(i)) ^ lowest;
      least = std::min(least, words[i]);
      greatest = std::max(greatest, words[i]);
    }
    const auto key_bits =
        static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least)));
    const unsigned dropped_bits = std::max(key_bits + pair_position_bits, pair_word_bits) - pair_word_bits;
    const auto leasts = hn::Set(d, least);
    const auto bias = hn::Set(d, lowest);
    const hn::RebindToUnsigned<word_tag> bits;
    for (std::uint64_t i = 0; i < num_keys; i += word_lanes) {
      const auto distance = hn::BitCast(bits, hn::Sub(hn::LoadU(d, words + i), leasts));
      const auto above = hn::BitCast(d, hn::ShiftRightSame(distance, static_cast<int>(dropped_bits)));
      const auto word = hn::Or(hn::ShiftLeft<pair_position_bits>(above), positions);
      hn::StoreU(hn::Xor(word, bias), d, words + i);
      positions = hn::Add(positions, next_positions);
    }
    return dropped_bits == 0;
  }
}

/// What the network says of a few keys: words of encoded keys above positions, sorted, and what is left to do.
struct sorted_words {
  HWY_ALIGN std::uint64_t words[most_network_pairs];
  pair_order order = pair_order::moved;

  HWY_INLINE std::uint64_t position(std::uint64_t i) const {
    return words[i] & static_cast<std::uint64_t>(pair_position_mask);
  }
};

template <class K, bool folds>
HWY_INLINE void sort_as_words(const keys::codec_of<K>& c, const K* keys, std::uint64_t num_keys, sorted_words& sorted) {
  const row_codec<K, folds> codec(c);
  if (keys_ascend<K, folds>(codec, c, keys, num_keys)) {
    sorted.order = pair_order::in_order;
    return;
  }
  HWY_ALIGN std::int64_t words[most_network_pairs + 8];
  const bool are_whole = write_words<K, folds>(codec, c, keys, num_keys, words);
  constexpr auto least = hwy::LowestValue<std::int64_t>();
  finisher<std::uint64_t, true>(keys::codec_of<std::uint64_t>{}, sorted.words + most_network_pairs)
      .sort(words, num_keys, sorted.words, least, least + (std::int64_t{1} << pair_word_bits));
  if (are_whole) return;
  std::uint64_t ties = 0;
  for (std::uint64_t i = 0; i + 1 < num_keys; ++i) {
    ties += (sorted.words[i] ^ sorted.words[i + 1]) >> pair_position_bits == 0 ? 1 : 0;
  }
  if (ties != 0) sorted.order = pair_order::may_tie;
}

/// Moves the elements to their places. They are copied by vectors and read one by one: the other way round, a vector
/// would wait for the stores of its parts.
template <class W>
HWY_INLINE void move_to(const sorted_words& sorted, void* array, std::uint64_t num_keys) {
  const hn::ScalableTag<std::uint8_t> d;
  constexpr std::uint64_t vector_bytes = hn::MaxLanes(d);
  HWY_ALIGN std::uint8_t copied[most_network_pairs * sizeof(W)];
  const auto* const bytes = static_cast<const std::uint8_t*>(array);
  const std::uint64_t end = std::min(num_keys, most_network_pairs) * sizeof(W);
  std::uint64_t i = 0;
  for (; i + vector_bytes <= end; i += vector_bytes) hn::Store(hn::LoadU(d, bytes + i), d, copied + i);
  for (; i < end; i += sizeof(W)) std::memcpy(copied + i, bytes + i, sizeof(W));
  for (std::uint64_t j = 0; j < num_keys; ++j) store_word<W>(array, j, load_word<W>(copied, sorted.position(j)));
}

/// Writes the keys in order: words of 32-bit keys hold them whole, unless ties were folded.
template <class K, bool folds>
HWY_INLINE void move_keys(keys::codec_of<K> codec, const sorted_words& sorted, K* HWY_RESTRICT keys,
                          std::uint64_t num_keys) {
  if constexpr (sizeof(K) == 8 || folds) {
    move_to<K>(sorted, keys, num_keys);
  } else {
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      keys[i] = codec.decode(static_cast<K>(sorted.words[i] >> pair_position_bits));
    }
  }
}

template <class K, class W, bool folds>
void sort_few(const void* any_codec, void* any_keys, void* values, std::uint64_t num_keys) {
  const auto& codec = *static_cast<const keys::codec_of<K>*>(any_codec);
  K* const keys = static_cast<K*>(any_keys);
  sorted_words sorted;
  sort_as_words<K, folds>(codec, keys, num_keys, sorted);
  if (sorted.order == pair_order::in_order) return;
  move_to<W>(sorted, values, num_keys);
  move_keys<K, folds>(codec, sorted, keys, num_keys);
  if (sorted.order == pair_order::may_tie) insert_pairs<K, W>(codec, keys, values, num_keys);
}

template <class K, class W, bool folds>
void order_few(const void* any_codec, const void* any_keys, void* indices, std::uint64_t num_keys) {
  const auto& codec = *static_cast<const keys::codec_of<K>*>(any_codec);
  const K* const keys = static_cast<const K*>(any_keys);
  sorted_words sorted;
  sort_as_words<K, folds>(codec, keys, num_keys, sorted);
  if (sorted.order == pair_order::in_order) {
    for (std::uint64_t i = 0; i < num_keys; ++i) store_word<W>(indices, i, static_cast<W>(i));
    return;
  }
  for (std::uint64_t i = 0; i < num_keys; ++i) store_word<W>(indices, i, static_cast<W>(sorted.position(i)));
  if (sorted.order == pair_order::may_tie) insert_positions<K, W>(codec, keys, indices, num_keys);
}

#endif

template <class K, class W>
pair_network network_of(bool folds) {
  if (folds) return {&sort_few<K, W, true>, &order_few<K, W, true>};
  return {&sort_few<K, W, false>, &order_few<K, W, false>};
}

#else  // other vectors are too narrow

template <class K, class W>
pair_network network_of(bool) {
  return {};
}

#endif

template <class K>
pair_network pair_network_of(std::uint64_t value_bytes, bool folds) {
  if (value_bytes == 4) return network_of<K, std::uint32_t>(folds);
  if (value_bytes == 8) return network_of<K, std::uint64_t>(folds);
  return {};
}

// A choice at run time is one between plain functions.
pair_network pair_network_u32(std::uint64_t value_bytes, bool folds) {
  return pair_network_of<std::uint32_t>(value_bytes, folds);
}
pair_network pair_network_u64(std::uint64_t value_bytes, bool folds) {
  return pair_network_of<std::uint64_t>(value_bytes, folds);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

template <>
pair_network find_pair_network<std::uint32_t>(std::uint64_t value_bytes, bool folds_ties) {
  return SPANSORT_CHOOSE_FUNCTION(pair_network_u32)(value_bytes, folds_ties);
}
template <>
pair_network find_pair_network<std::uint64_t>(std::uint64_t value_bytes, bool folds_ties) {
  return SPANSORT_CHOOSE_FUNCTION(pair_network_u64)(value_bytes, folds_ties);
}

}  // namespace spansort::device::host
#endif
