// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/heavy_sample.hpp"

#include <bit>
#include <cstddef>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/heavy_sample.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace {

namespace hn = hwy::HWY_NAMESPACE;
constexpr unsigned num_samples = 64;
// A multiplicative hash moves the sample off the beat of regular inputs.
constexpr std::uint32_t hash_factor = 0x9E37;
constexpr std::uint32_t hash_mask = 0xFFFF;

#if HWY_TARGET == HWY_AVX3

/// Places of 16 sampled keys from the `first` on.
HWY_INLINE __m512i sampled_places(unsigned first, std::uint32_t stride) {
  const __m512i number = _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                          _mm512_set1_epi32(static_cast<int>(first)));
  const __m512i hash = _mm512_and_si512(_mm512_mullo_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(1)),
                                                           _mm512_set1_epi32(static_cast<int>(hash_factor))),
                                        _mm512_set1_epi32(static_cast<int>(hash_mask)));
  const __m512i strides = _mm512_set1_epi32(static_cast<int>(stride));
  const __m512i begins = _mm512_mullo_epi32(number, strides);
  if (stride <= hash_mask) {
    return _mm512_add_epi32(begins, _mm512_srli_epi32(_mm512_mullo_epi32(hash, strides), 16));
  }
  // Lanes have no room for the product of a hash and a long stride.
  const __m512i high = _mm512_mullo_epi32(hash, _mm512_srli_epi32(strides, 16));
  const __m512i low = _mm512_mullo_epi32(hash, _mm512_and_si512(strides, _mm512_set1_epi32(hash_mask)));
  return _mm512_add_epi32(begins, _mm512_add_epi32(high, _mm512_srli_epi32(low, 16)));
}

/// The sample in registers.
template <class K>
class sampled_vectors {
 public:
  HWY_INLINE sampled_vectors(const K* keys, std::uint32_t stride) {
    for (unsigned i = 0; i < num_samples; i += 16) {
      const __m512i places = sampled_places(i, stride);
      if constexpr (sizeof(K) == 4) {
        x_[i / 16] = _mm512_i32gather_epi32(places, keys, 4);
      } else {
        x_[i / 8] = _mm512_i32gather_epi64(_mm512_castsi512_si256(places), keys, 8);
        x_[i / 8 + 1] = _mm512_i32gather_epi64(_mm512_extracti64x4_epi64(places, 1), keys, 8);
      }
    }
    for (unsigned v = 0; v < num_vectors; ++v) _mm512_store_si512(keys_ + v * lanes, x_[v]);
  }
  HWY_INLINE K operator[](unsigned i) const { return keys_[i]; }
  /// A bit for each key of the sample that is `key`.
  HWY_INLINE std::uint64_t alike(K key) const {
    std::uint64_t mask = 0;
    for (unsigned v = 0; v < num_vectors; ++v) {
      if constexpr (sizeof(K) == 4) {
        mask |= std::uint64_t{_mm512_cmpeq_epi32_mask(x_[v], _mm512_set1_epi32(static_cast<int>(key)))} << v * lanes;
      } else {
        mask |= std::uint64_t{_mm512_cmpeq_epi64_mask(x_[v], _mm512_set1_epi64(static_cast<long long>(key)))}
                << v * lanes;
      }
    }
    return mask;
  }

 private:
  static constexpr unsigned lanes = 64 / sizeof(K);
  static constexpr unsigned num_vectors = num_samples / lanes;
  __m512i x_[num_vectors];
  alignas(64) K keys_[num_samples];
};

#else

template <class K>
class sampled_vectors {
 public:
  sampled_vectors(const K* keys, std::uint32_t stride) {
    for (unsigned i = 0; i < num_samples; ++i) {
      keys_[i] = keys[i * stride + (std::uint64_t{(i + 1) * hash_factor & hash_mask} * stride >> 16)];
    }
  }
  K operator[](unsigned i) const { return keys_[i]; }
  HWY_INLINE std::uint64_t alike(K key) const {
    std::uint64_t mask = 0;
#if HWY_TARGET == HWY_AVX2
    constexpr unsigned lanes = 32 / sizeof(K);
    for (unsigned i = 0; i < num_samples; i += lanes) {
      const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(keys_ + i));
      int equal = 0;
      if constexpr (sizeof(K) == 4) {
        equal =
            _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x, _mm256_set1_epi32(static_cast<int>(key)))));
      } else {
        equal = _mm256_movemask_pd(
            _mm256_castsi256_pd(_mm256_cmpeq_epi64(x, _mm256_set1_epi64x(static_cast<long long>(key)))));
      }
      mask |= static_cast<std::uint64_t>(equal) << i;
    }
#else
    for (unsigned i = 0; i < num_samples; ++i) mask |= std::uint64_t{keys_[i] == key} << i;
#endif
    return mask;
  }

 private:
  alignas(32) K keys_[num_samples];
};

#endif

template <class K>
frequent_keys<K> sample_frequent_as(const K* keys, std::uint64_t num_keys) {
  constexpr unsigned fewest_alike = 4;
  // So few samples as are left then are worth a comparison only if one key is all of them.
  constexpr int most_left = 11;
  constexpr unsigned most_looks = 8;
  const sampled_vectors<K> sample(keys, static_cast<std::uint32_t>(num_keys / num_samples));
  frequent_keys<K> found;
  std::uint64_t left = ~std::uint64_t{0};
  while (left != 0 && found.num_looked_for < most_looks) {
    const int num_left = std::popcount(left);
    const K key = sample[static_cast<unsigned>(std::countr_zero(left))];
    const std::uint64_t mask = sample.alike(key);
    const auto alike = static_cast<unsigned>(std::popcount(mask));
    left &= ~mask;
    if (num_left <= most_left && left != 0) break;
    ++found.num_looked_for;
    found.num_found += alike;
    if (alike >= fewest_alike) found.add(key, alike);
    if (found.num_looked_for == 3 && found.num_found == 3) break;
    if (found.num_looked_for == 4 && found.num_found < num_samples * 3 / 8) break;
  }
  return found;
}

}  // namespace

// A choice at run time is one between plain functions.
frequent_keys<std::uint32_t> sample_frequent_u32(const std::uint32_t* keys, std::uint64_t n) {
  return sample_frequent_as(keys, n);
}
frequent_keys<std::uint64_t> sample_frequent_u64(const std::uint64_t* keys, std::uint64_t n) {
  return sample_frequent_as(keys, n);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

template <>
frequent_keys<std::uint32_t> sample_frequent<std::uint32_t>(const std::uint32_t* keys, std::uint64_t n) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(sample_frequent_u32);
  return best(keys, n);
}
template <>
frequent_keys<std::uint64_t> sample_frequent<std::uint64_t>(const std::uint64_t* keys, std::uint64_t n) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(sample_frequent_u64);
  return best(keys, n);
}

}  // namespace spansort::device::host
#endif
