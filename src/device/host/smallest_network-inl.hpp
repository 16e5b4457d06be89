// SPDX-License-Identifier: Apache-2.0
// The function of network_sort (network_sort.hpp) for keys of 16 bits and more. This header is included once for each
// of Highway's targets.
#if defined(SPANSORT_SMALLEST_NETWORK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_SMALLEST_NETWORK_INL
#undef SPANSORT_SMALLEST_NETWORK_INL
#else
#define SPANSORT_SMALLEST_NETWORK_INL
#endif

#include <cstdint>

#include "device/host/majority_key-inl.hpp"
#include "device/host/majority_key.hpp"
#include "device/host/vector_finish-inl.hpp"
#include "keys/codec.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// Networks of no more keys take hardly longer than the look, and what follows it.
template <class K>
inline constexpr std::uint64_t most_without_majority = network_size<K>() / 8 * (sizeof(K) == 2 ? 3 : 4);

/// Sorts what is left without the majority, which may have one of its own.
template <class K, bool identity, bool compresses>
HWY_NOINLINE void sort_around(const majority_key<K, compresses>& majority, const keys::codec_of<K>& codec, K* keys,
                              std::uint64_t num_keys) {
  const std::uint64_t num_others = majority.drop(keys, num_keys);
  // A sample that deceived is not asked again.
  if (num_others > most_without_majority<K> / 4 && num_others < num_keys / 8 * 7) {
    const majority_key<K, compresses> next(keys, num_others);
    if (next.is_likely()) {
      sort_around<K, identity, compresses>(next, codec, keys, num_others);
      return put_majority_back(codec, keys, num_others, num_keys, majority.value());
    }
  }
  if (num_others != 0) finisher<K, identity>(codec, keys + num_others).sort_raw(keys, num_others, keys);
  put_majority_back(codec, keys, num_others, num_keys, majority.value());
}

template <class K, bool identity, bool compresses = false>
void sort_by_network(const void* any_codec, void* any_keys, std::uint64_t num_keys) {
  const auto& codec = *static_cast<const keys::codec_of<K>*>(any_codec);
  K* const keys = static_cast<K*>(any_keys);
  if (num_keys > most_without_majority<K>) {
    const majority_key<K, compresses> majority(keys, num_keys);
    if (majority.is_likely()) return sort_around<K, identity, compresses>(majority, codec, keys, num_keys);
  }
  finisher<K, identity>(codec, keys + num_keys).sort_raw(keys, num_keys, keys);
}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
