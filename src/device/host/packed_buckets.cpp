// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/packed_buckets.hpp"

#include <algorithm>
#include <bit>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/packed_buckets.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/vector_finish-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace {

using word = std::uint32_t;

template <bool folds>
HWY_INLINE word encode_one(const keys::codec_of<word>& codec, word x) {
  return codec.encode_bits(folds ? codec.fold(x) : x);
}

// The compiler's own vectors serve in these loops. The codec's fields stay in registers as locals.

template <bool folds, class Item>
void encode_keys_as(keys::codec_of<word> codec, const Item* HWY_RESTRICT items, std::uint64_t num_items,
                    word* HWY_RESTRICT encoded) {
  for (std::uint64_t i = 0; i < num_items; ++i) encoded[i] = encode_one<folds>(codec, static_cast<word>(items[i]));
}

template <bool folds>
void subtract_as(keys::codec_of<word> codec, const packed_pair* HWY_RESTRICT pairs, std::uint64_t num_pairs, word least,
                 std::uint16_t* HWY_RESTRICT differences) {
  for (std::uint64_t i = 0; i < num_pairs; ++i) {
    const word encoded = encode_one<folds>(codec, static_cast<word>(pairs[i]));
    differences[i] = static_cast<std::uint16_t>(encoded - least);
  }
}

/// Returns whether no key is lower than the one before.
template <bool folds>
bool are_ordered(keys::codec_of<word> codec, const word* HWY_RESTRICT keys, std::uint64_t num_keys) {
  word descents = 0;
  for (std::uint64_t i = 0; i + 1 < num_keys; ++i) {
    descents |= encode_one<folds>(codec, keys[i + 1]) < encode_one<folds>(codec, keys[i]) ? 1 : 0;
  }
  return descents == 0;
}

template <bool folds, class W>
void make_bucket_words(keys::codec_of<word> codec, const packed_pair* HWY_RESTRICT pairs, std::uint64_t num_pairs,
                       const word_layout<word>& layout, W* HWY_RESTRICT words) {
  const word least = layout.least;
  const unsigned dropped_bits = layout.dropped_bits;
  const unsigned position_bits = layout.position_bits;
  W position = 0;
  for (std::uint64_t i = 0; i < num_pairs; ++i) {
    const word above = static_cast<word>(encode_one<folds>(codec, static_cast<word>(pairs[i])) - least) >> dropped_bits;
    words[i] = static_cast<W>(static_cast<W>(above) << position_bits | position);
    ++position;
  }
}

}  // namespace

void unpack_pairs_u32(const packed_pair* HWY_RESTRICT pairs, std::uint64_t num_pairs, word* HWY_RESTRICT keys,
                      value4* HWY_RESTRICT values) {
  for (std::uint64_t i = 0; i < num_pairs; ++i) {
    keys[i] = static_cast<word>(pairs[i]);
    values[i].word = static_cast<word>(pairs[i] >> 32);
  }
}

#if HWY_TARGET == HWY_AVX3

namespace {

constexpr std::uint64_t network_pairs = network_size<word>();

/// Moves each key that is lower than the one before to its place. Returns false, with the pairs in some other order,
/// where that takes more than a few steps a pair.
template <bool folds>
bool repair(const keys::codec_of<word>& codec, word* keys, value4* values, std::uint64_t num_pairs) {
  if (are_ordered<folds>(codec, keys, num_pairs)) return true;
  std::uint64_t steps_left = 2 * num_pairs;
  for (std::uint64_t i = 1; i < num_pairs; ++i) {
    const word key = keys[i];
    const word encoded = encode_one<folds>(codec, key);
    if (encode_one<folds>(codec, keys[i - 1]) <= encoded) continue;
    const value4 value = values[i];
    std::uint64_t j = i;
    for (; j > 0 && encode_one<folds>(codec, keys[j - 1]) > encoded; --j) {
      if (steps_left-- == 0) return false;
      keys[j] = keys[j - 1];
      values[j] = values[j - 1];
    }
    keys[j] = key;
    values[j] = value;
  }
  return true;
}

/// Sorts as many pairs as one network takes, whose keys are at most `range` above the least. Returns false, with the
/// result of no use, where too many keys tie in the bits that find room.
template <bool folds>
bool sort_by_words(const keys::codec_of<word>& codec, const packed_pair* pairs, std::uint64_t num_pairs, word range,
                   const word_layout<word>& layout, word* keys, value4* values) {
  HWY_ALIGN word words[network_pairs];
  HWY_ALIGN word sorted[network_pairs];
  make_bucket_words<folds>(codec, pairs, num_pairs, layout, words);
  const finisher<word, true> finish(keys::codec_of<word>{}, sorted + network_pairs);
  const word greatest =
      (range >> layout.dropped_bits) << layout.position_bits | static_cast<word>(layout.position_mask());
  finish.sort(reinterpret_cast<const lane_type<word>*>(words), num_pairs, sorted, 0, greatest);
  gather_pairs(sorted, num_pairs, layout.position_bits, {pairs}, keys, values);
  return layout.dropped_bits == 0 || repair<folds>(codec, keys, values, num_pairs);
}

template <bool folds>
void sort_bucket_as(const keys::codec_of<word>& codec, const packed_pair* pairs, std::uint64_t num_pairs, word* keys,
                    value4* values, key_range<word> range, const bucket_scratch& scratch) {
  const auto key_bits = static_cast<unsigned>(std::bit_width(range.greatest - range.least));
  word_layout<word> layout{range.least, 0, static_cast<unsigned>(std::bit_width(num_pairs - 1))};
  if (key_bits == 0) return unpack_pairs_u32(pairs, num_pairs, keys, values);
  const unsigned wanted_bits = key_bits + layout.position_bits;
  if (num_pairs <= network_pairs) {
    layout.dropped_bits = std::max(wanted_bits, 32U) - 32U;
    const word range_of_keys = range.greatest - range.least;
    if (sort_by_words<folds>(codec, pairs, num_pairs, range_of_keys, layout, keys, values)) return;
    layout.dropped_bits = 0;
  }
  if (wanted_bits <= 32) {
    auto* const words = reinterpret_cast<word*>(scratch.words);
    make_bucket_words<folds>(codec, pairs, num_pairs, layout, words);
    const vector_sort_scratch<std::uint64_t>& arrays = scratch.arrays;
    const vector_sort_scratch<word> narrow{reinterpret_cast<word*>(arrays.first),
                                           reinterpret_cast<word*>(arrays.second),
                                           arrays.num_keys,
                                           arrays.num_second_keys,
                                           arrays.cursors,
                                           arrays.num_cursors};
    vector_sort(keys::codec_of<word>{}, words, words, num_pairs, narrow);
    return gather_pairs(words, num_pairs, layout.position_bits, {pairs}, keys, values);
  }
  make_bucket_words<folds>(codec, pairs, num_pairs, layout, scratch.words);
  vector_sort(keys::codec_of<std::uint64_t>{}, scratch.words, scratch.words, num_pairs, scratch.arrays);
  gather_pairs(scratch.words, num_pairs, layout.position_bits, {pairs}, keys, values);
}

}  // namespace

void sort_bucket_of(const keys::codec_of<word>& codec, const packed_pair* pairs, std::uint64_t num_pairs, word* keys,
                    value4* values, key_range<word> range, const bucket_scratch& scratch) {
  codec.folds_ties ? sort_bucket_as<true>(codec, pairs, num_pairs, keys, values, range, scratch)
                   : sort_bucket_as<false>(codec, pairs, num_pairs, keys, values, range, scratch);
}
bool has_buckets() { return true; }

#else  // without AVX-512 the search for buckets took longer than words of 64 bits

void sort_bucket_of(const keys::codec_of<word>&, const packed_pair*, std::uint64_t, word*, value4*, key_range<word>,
                    const bucket_scratch&) {}
bool has_buckets() { return false; }

#endif

void encode_keys_u32(const keys::codec_of<word>& codec, const word* keys, std::uint64_t num_keys, word* encoded) {
  codec.folds_ties ? encode_keys_as<true>(codec, keys, num_keys, encoded)
                   : encode_keys_as<false>(codec, keys, num_keys, encoded);
}
void encode_pairs_u32(const keys::codec_of<word>& codec, const packed_pair* pairs, std::uint64_t num_pairs,
                      word* encoded) {
  codec.folds_ties ? encode_keys_as<true>(codec, pairs, num_pairs, encoded)
                   : encode_keys_as<false>(codec, pairs, num_pairs, encoded);
}

void subtract_u32(const keys::codec_of<word>& codec, const packed_pair* pairs, std::uint64_t num_pairs, word least,
                  std::uint16_t* differences) {
  codec.folds_ties ? subtract_as<true>(codec, pairs, num_pairs, least, differences)
                   : subtract_as<false>(codec, pairs, num_pairs, least, differences);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

void encode_keys(const keys::codec_of<std::uint32_t>& codec, const std::uint32_t* keys, std::uint64_t num_keys,
                 std::uint32_t* encoded) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(encode_keys_u32);
  best(codec, keys, num_keys, encoded);
}
void encode_keys(const keys::codec_of<std::uint32_t>& codec, const packed_pair* pairs, std::uint64_t num_pairs,
                 std::uint32_t* encoded) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(encode_pairs_u32);
  best(codec, pairs, num_pairs, encoded);
}
void subtract_from_keys(const keys::codec_of<std::uint32_t>& codec, const packed_pair* pairs, std::uint64_t num_pairs,
                        std::uint32_t least, std::uint16_t* differences) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(subtract_u32);
  best(codec, pairs, num_pairs, least, differences);
}
void unpack_pairs(const packed_pair* pairs, std::uint64_t num_pairs, std::uint32_t* keys, value4* values) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(unpack_pairs_u32);
  best(pairs, num_pairs, keys, values);
}
void sort_packed_bucket(const keys::codec_of<std::uint32_t>& codec, const packed_pair* pairs, std::uint64_t num_pairs,
                        std::uint32_t* keys, value4* values, key_range<std::uint32_t> range,
                        const bucket_scratch& scratch) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(sort_bucket_of);
  best(codec, pairs, num_pairs, keys, values, range, scratch);
}
bool has_packed_buckets() {
  static const bool has = SPANSORT_CHOOSE_FUNCTION(has_buckets)();
  return has;
}

}  // namespace spansort::device::host
#endif
