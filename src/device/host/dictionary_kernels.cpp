// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/dictionary_kernels.hpp"

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/dictionary_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

/// Four keys at a time: none waits for the others' loads. Keys of 32 bits do not cost a branch, which nobody could
/// foretell: 2^20 u32(u32) of 1,000 values took one thread of a Granite Rapids 3.4 ms with one and take 3.2, with other
/// keys in 15 of a hundred places 5.9 and 5.4. Those of 64 bits are selected, which lets the compiler branch: 4.6 ms,
/// and 4.9 without, with others as long. Gathers of AVX-512 took as long there, and half as long again on Zen 4.
template <class K>
void find_classes_of(class_lookup<K> in, const K* HWY_RESTRICT keys, std::uint64_t num_keys,
                     std::uint16_t* HWY_RESTRICT classes) {
  const auto class_of = [&](std::uint32_t found, K key) {
    const bool is_it = in.keys[found] == key;
    if constexpr (sizeof(K) == 8) return static_cast<std::uint16_t>(is_it ? found : 0);
    return static_cast<std::uint16_t>(found & (0U - static_cast<std::uint32_t>(is_it)));
  };
  std::uint64_t i = 0;
  for (; i + 4 <= num_keys; i += 4) {
    std::uint32_t found[4];
    for (unsigned j = 0; j < 4; ++j) found[j] = in.cells[class_cell_of(keys[i + j], in.multiplier)];
    for (unsigned j = 0; j < 4; ++j) classes[i + j] = class_of(found[j], keys[i + j]);
  }
  for (; i < num_keys; ++i) classes[i] = class_of(in.cells[class_cell_of(keys[i], in.multiplier)], keys[i]);
}

/// Writes what is left behind what has been read, so that it may stay in the same array.
template <class K>
std::uint64_t gather_one_by_one(const std::uint16_t* classes, const K* keys, std::uint64_t num_keys, K* to) {
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    const K key = keys[i];
    to[count] = key;
    count += classes[i] == 0 ? 1 : 0;
  }
  return count;
}

#if HWY_TARGET == HWY_AVX3
inline std::uint64_t gather_vector(const std::uint16_t* classes, const std::uint32_t* keys, std::uint32_t* to) {
  const __m512i of = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(classes)));
  const __mmask16 is_left = _mm512_testn_epi32_mask(of, of);
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(is_left, _mm512_loadu_si512(keys)));
  return static_cast<std::uint64_t>(_mm_popcnt_u32(is_left));
}
inline std::uint64_t gather_vector(const std::uint16_t* classes, const std::uint64_t* keys, std::uint64_t* to) {
  const __m512i of = _mm512_cvtepu16_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(classes)));
  const __mmask8 is_left = _mm512_testn_epi64_mask(of, of);
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(is_left, _mm512_loadu_si512(keys)));
  return static_cast<std::uint64_t>(_mm_popcnt_u32(is_left));
}

template <class K>
std::uint64_t gather_of(const std::uint16_t* classes, const K* keys, std::uint64_t num_keys, K* to) {
  constexpr std::uint64_t lanes = 64 / sizeof(K);
  std::uint64_t count = 0;
  std::uint64_t i = 0;
  for (; i + lanes <= num_keys; i += lanes) count += gather_vector(classes + i, keys + i, to + count);
  return count + gather_one_by_one(classes + i, keys + i, num_keys - i, to + count);
}
#else
template <class K>
std::uint64_t gather_of(const std::uint16_t* classes, const K* keys, std::uint64_t num_keys, K* to) {
  return gather_one_by_one(classes, keys, num_keys, to);
}
#endif

// A choice at run time is one between plain functions.
#define SPANSORT_DICTIONARY(K, SUFFIX)                                                                              \
  void find_classes_##SUFFIX(const class_lookup<K>& in, const K* keys, std::uint64_t n, std::uint16_t* classes) {   \
    find_classes_of(in, keys, n, classes);                                                                          \
  }                                                                                                                 \
  std::uint64_t gather_unclassified_##SUFFIX(const std::uint16_t* classes, const K* keys, std::uint64_t n, K* to) { \
    return gather_of(classes, keys, n, to);                                                                         \
  }
SPANSORT_DICTIONARY(std::uint32_t, u32)
SPANSORT_DICTIONARY(std::uint64_t, u64)
#undef SPANSORT_DICTIONARY

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

#define SPANSORT_DICTIONARY(K, SUFFIX)                                                                        \
  template <>                                                                                                 \
  void find_classes<K>(const class_lookup<K>& in, const K* keys, std::uint64_t n, std::uint16_t* classes) {   \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(find_classes_##SUFFIX);                                 \
    best(in, keys, n, classes);                                                                               \
  }                                                                                                           \
  template <>                                                                                                 \
  std::uint64_t gather_unclassified<K>(const std::uint16_t* classes, const K* keys, std::uint64_t n, K* to) { \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(gather_unclassified_##SUFFIX);                          \
    return best(classes, keys, n, to);                                                                        \
  }
SPANSORT_DICTIONARY(std::uint32_t, u32)
SPANSORT_DICTIONARY(std::uint64_t, u64)
#undef SPANSORT_DICTIONARY

}  // namespace spansort::device::host
#endif
