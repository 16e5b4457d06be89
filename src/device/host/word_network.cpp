// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/word_network.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/word_network.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/vector_finish-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

constexpr unsigned position_bits = 6;

/// Writes words in the bits that vectors compare; returns whether they hold whole keys.
template <class K, bool folds>
HWY_INLINE bool write_words(const keys::codec_of<K>& codec, const K* HWY_RESTRICT keys, std::uint64_t num_keys,
                            std::int64_t* HWY_RESTRICT words) {
  constexpr std::uint64_t bias = std::uint64_t{1} << 63;
  const auto encode = [&](std::uint64_t i) __attribute__((always_inline)) {
    return codec.encode_bits(folds ? codec.fold(keys[i]) : keys[i]);
  };
  K least = 0;
  unsigned dropped_bits = 0;
  if constexpr (sizeof(K) == 8) {
    K greatest = least = encode(0);
    for (std::uint64_t i = 1; i < num_keys; ++i) {
      const K encoded = encode(i);
      words[i] = static_cast<std::int64_t>(encoded);
      least = std::min(least, encoded);
      greatest = std::max(greatest, encoded);
    }
    words[0] = static_cast<std::int64_t>(encode(0));
    const auto key_bits = static_cast<unsigned>(std::bit_width(static_cast<K>(greatest - least)));
    dropped_bits = std::max(key_bits + position_bits, 64U) - 64U;
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      const std::uint64_t above = (static_cast<std::uint64_t>(words[i]) - least) >> dropped_bits;
      words[i] = static_cast<std::int64_t>(((above << position_bits) | i) ^ bias);
    }
  } else {
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      words[i] = static_cast<std::int64_t>(((std::uint64_t{encode(i)} << position_bits) | i) ^ bias);
    }
  }
  return dropped_bits == 0;
}

template <class K, bool folds>
bool order_few_as(keys::codec_of<K> codec, const K* keys, std::uint64_t num_keys,
                  std::uint32_t* HWY_RESTRICT positions) {
  HWY_ALIGN std::int64_t words[most_network_words + 8] = {};
  HWY_ALIGN std::uint64_t sorted[most_network_words];
  const bool are_whole = write_words<K, folds>(codec, keys, num_keys, words);
  finisher<std::uint64_t, true>(keys::codec_of<std::uint64_t>{}, sorted + most_network_words)
      .sort(words, num_keys, sorted);
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    positions[i] = static_cast<std::uint32_t>(sorted[i] & (most_network_words - 1));
  }
  std::uint64_t ties = 0;
  for (std::uint64_t i = 0; !are_whole && i + 1 < num_keys; ++i) {
    ties += (sorted[i] ^ sorted[i + 1]) >> position_bits == 0 ? 1 : 0;
  }
  return ties == 0;
}

template <class K>
bool order_few_of(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys, std::uint32_t* positions) {
  return codec.folds_ties ? order_few_as<K, true>(codec, keys, num_keys, positions)
                          : order_few_as<K, false>(codec, keys, num_keys, positions);
}

#else  // other vectors are too narrow

template <class K>
bool order_few_of(const keys::codec_of<K>&, const K*, std::uint64_t, std::uint32_t*) {
  return false;
}

#endif

// A choice at run time is one between plain functions.
bool order_few_u32(const keys::codec_of<std::uint32_t>& c, const std::uint32_t* keys, std::uint64_t n,
                   std::uint32_t* to) {
  return order_few_of(c, keys, n, to);
}
bool order_few_u64(const keys::codec_of<std::uint64_t>& c, const std::uint64_t* keys, std::uint64_t n,
                   std::uint32_t* to) {
  return order_few_of(c, keys, n, to);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

template <>
bool order_few<std::uint32_t>(const keys::codec_of<std::uint32_t>& c, const std::uint32_t* keys, std::uint64_t n,
                              std::uint32_t* to) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(order_few_u32);
  return best(c, keys, n, to);
}
template <>
bool order_few<std::uint64_t>(const keys::codec_of<std::uint64_t>& c, const std::uint64_t* keys, std::uint64_t n,
                              std::uint32_t* to) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(order_few_u64);
  return best(c, keys, n, to);
}

}  // namespace spansort::device::host
#endif
