// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/word_slots.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/word_slots.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/vector_finish-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// Encoded keys as fractions of their range, times the number of slots.
template <class K, bool folds>
class slot_scale {
 public:
  slot_scale(const keys::codec_of<K>& codec, const slot_layout<K>& layout) : codec_(codec), layout_(layout) {}
  HWY_INLINE std::uint64_t of(K key) const {
    const K encoded = codec_.encode_bits(folds ? codec_.fold(key) : key);
    return layout_.product_of(encoded);
  }

 private:
  keys::codec_of<K> codec_;
  slot_layout<K> layout_;
};

template <class K, bool folds>
bool lie_evenly(const slot_scale<K, folds>& scale, const K* keys, std::uint64_t num_keys, std::uint64_t num_slots) {
  constexpr unsigned num_samples = 128;
  constexpr unsigned most = 20;  // of 8 expected: more than four standard deviations
  unsigned counts[16] = {};
  const std::uint64_t stride = num_keys / num_samples;
  for (std::uint64_t i = 0; i < num_samples; ++i) {
    // A multiplicative hash moves the sample off the beat of inputs that are sorted piece by piece.
    const std::uint64_t hash = (i + 1) * 0x9E3779B97F4A7C15U >> 32;
    ++counts[(scale.of(keys[i * stride + (hash * stride >> 32)]) >> 32) * 16 / num_slots];
  }
  return *std::max_element(counts, counts + 16) <= most;
}

template <class K, bool folds>
bool sort_in_slots_as(const keys::codec_of<K>& codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys,
                      const slot_layout<K>& layout, std::uint32_t* words, const word_slots_scratch& scratch) {
  constexpr std::uint64_t slot_keys = 16 * lanes_of<std::uint32_t>();
  // One line more than a power of two, or all slots fall into the same sets of the cache.
  constexpr std::uint64_t stride = slot_keys + 16;
  const std::uint64_t num_slots = layout.num_slots;
  // A slot that overflows writes over its neighbours, the last one over what lies behind it.
  if (num_slots > scratch.num_cursors || num_slots * stride + num_keys > scratch.num_words) return false;
  const slot_scale<K, folds> scale(codec, layout);
  if (!lie_evenly(scale, keys, num_keys, num_slots)) return false;
  std::uint32_t* HWY_RESTRICT cursors = scratch.cursors;
  std::uint32_t* const slots = scratch.slots;
  for (std::uint64_t s = 0; s < num_slots; ++s) cursors[s] = static_cast<std::uint32_t>(s * stride);
  const std::uint32_t key_mask = ~static_cast<std::uint32_t>(layout.position_mask());
  const auto word_of = [&](std::uint64_t product, std::uint64_t position) __attribute__((always_inline)) {
    return (static_cast<std::uint32_t>(product) & key_mask) | static_cast<std::uint32_t>(position);
  };
  std::uint64_t i = 0;
  for (; i + 8 <= num_keys; i += 8) {
    std::uint64_t product[8];
    for (unsigned j = 0; j < 8; ++j) product[j] = scale.of(keys[i + j]);
    for (unsigned j = 0; j < 8; ++j) slots[cursors[product[j] >> 32]++] = word_of(product[j], i + j);
  }
  for (; i < num_keys; ++i) {
    const std::uint64_t product = scale.of(keys[i]);
    slots[cursors[product >> 32]++] = word_of(product, i);
  }
  std::uint64_t fullest = 0;
  for (std::uint64_t s = 0; s < num_slots; ++s) fullest = std::max(fullest, cursors[s] - s * stride);
  if (fullest > slot_keys) return false;
  const finisher<std::uint32_t, true> finish(keys::codec_of<std::uint32_t>{}, words + num_keys);
  std::uint32_t* to = words;
  for (std::uint64_t s = 0; s < num_slots; ++s) {
    const std::uint64_t count = cursors[s] - s * stride;
    if (count != 0) finish.sort(slots + s * stride, count, to, 0, ~std::uint32_t{0});
    to += count;
  }
  return true;
}

template <class K>
bool sort_in_slots_of(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys,
                      const slot_layout<K>& layout, std::uint32_t* words, const word_slots_scratch& scratch) {
  return codec.folds_ties ? sort_in_slots_as<K, true>(codec, keys, num_keys, layout, words, scratch)
                          : sort_in_slots_as<K, false>(codec, keys, num_keys, layout, words, scratch);
}

std::uint64_t keys_of_slot() { return lanes_of<std::uint32_t>() == 16 ? 184 : 77; }

#else  // other vectors are too narrow

template <class K>
bool sort_in_slots_of(const keys::codec_of<K>&, const K*, std::uint64_t, const slot_layout<K>&, std::uint32_t*,
                      const word_slots_scratch&) {
  return false;
}
std::uint64_t keys_of_slot() { return 184; }

#endif

// A choice at run time is one between plain functions.
bool sort_in_slots_u32(const keys::codec_of<std::uint32_t>& c, const std::uint32_t* keys, std::uint64_t n,
                       const slot_layout<std::uint32_t>& l, std::uint32_t* words, const word_slots_scratch& s) {
  return sort_in_slots_of(c, keys, n, l, words, s);
}
bool sort_in_slots_u64(const keys::codec_of<std::uint64_t>& c, const std::uint64_t* keys, std::uint64_t n,
                       const slot_layout<std::uint64_t>& l, std::uint32_t* words, const word_slots_scratch& s) {
  return sort_in_slots_of(c, keys, n, l, words, s);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

std::uint64_t wanted_slot_keys() {
  static const std::uint64_t wanted = SPANSORT_CHOOSE_FUNCTION(keys_of_slot)();
  return wanted;
}
template <>
bool sort_in_slots<std::uint32_t>(const keys::codec_of<std::uint32_t>& c, const std::uint32_t* keys, std::uint64_t n,
                                  const slot_layout<std::uint32_t>& l, std::uint32_t* words,
                                  const word_slots_scratch& s) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(sort_in_slots_u32);
  return best(c, keys, n, l, words, s);
}
template <>
bool sort_in_slots<std::uint64_t>(const keys::codec_of<std::uint64_t>& c, const std::uint64_t* keys, std::uint64_t n,
                                  const slot_layout<std::uint64_t>& l, std::uint32_t* words,
                                  const word_slots_scratch& s) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(sort_in_slots_u64);
  return best(c, keys, n, l, words, s);
}

}  // namespace spansort::device::host
#endif
