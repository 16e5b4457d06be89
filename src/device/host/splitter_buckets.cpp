// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/splitter_buckets.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/splitter_buckets.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

/// Goes down the tree with four keys at a time: none waits for the others' loads.
template <class K>
void search_keys(const K* HWY_RESTRICT tree, unsigned bits, const K* HWY_RESTRICT encoded, std::uint64_t num_keys,
                 std::uint16_t* HWY_RESTRICT buckets) {
  const std::size_t first = std::size_t{1} << bits;
  std::uint64_t i = 0;
  for (; i + 4 <= num_keys; i += 4) {
    std::size_t a = 1, b = 1, c = 1, d = 1;
    for (unsigned bit = 0; bit < bits; ++bit) {
      a = 2 * a + (tree[a] <= encoded[i] ? 1 : 0);
      b = 2 * b + (tree[b] <= encoded[i + 1] ? 1 : 0);
      c = 2 * c + (tree[c] <= encoded[i + 2] ? 1 : 0);
      d = 2 * d + (tree[d] <= encoded[i + 3] ? 1 : 0);
    }
    buckets[i] = static_cast<std::uint16_t>(a - first);
    buckets[i + 1] = static_cast<std::uint16_t>(b - first);
    buckets[i + 2] = static_cast<std::uint16_t>(c - first);
    buckets[i + 3] = static_cast<std::uint16_t>(d - first);
  }
  for (; i < num_keys; ++i) {
    std::size_t node = 1;
    for (unsigned bit = 0; bit < bits; ++bit) node = 2 * node + (tree[node] <= encoded[i] ? 1 : 0);
    buckets[i] = static_cast<std::uint16_t>(node - first);
  }
}

#if HWY_TARGET == HWY_AVX3

/// Vectors of 16 keys of 32 bits, and their places in a level of the tree.
struct narrow_vectors {
  static constexpr std::uint64_t lanes = 16;
  static constexpr unsigned level_of_one = 4;  ///< the widest level that is one vector
  using mask = __mmask16;
  static __m512i load(const std::uint32_t* from) { return _mm512_loadu_si512(from); }
  static __m512i all(std::uint32_t key) { return _mm512_set1_epi32(static_cast<int>(key)); }
  static mask at_least(__m512i key, __m512i node) { return _mm512_cmpge_epu32_mask(key, node); }
  static __m512i permute(__m512i i, __m512i nodes) { return _mm512_permutexvar_epi32(i, nodes); }
  static __m512i permute(__m512i i, __m512i a, __m512i b) { return _mm512_permutex2var_epi32(a, i, b); }
  static __m512i choose(__m512i i, int bit, __m512i lower, __m512i upper) {
    return _mm512_mask_mov_epi32(lower, _mm512_test_epi32_mask(i, _mm512_set1_epi32(bit)), upper);
  }
  static __m512i gather(__m512i i, const std::uint32_t* level) { return _mm512_i32gather_epi32(i, level, 4); }
  static __m512i step(__m512i i, mask above) {
    const __m512i twice = _mm512_add_epi32(i, i);
    return _mm512_mask_add_epi32(twice, above, twice, _mm512_set1_epi32(1));
  }
  static void store(__m512i i, std::uint16_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(i));
  }
};

/// Vectors of 8 keys of 64 bits.
struct wide_vectors {
  static constexpr std::uint64_t lanes = 8;
  static constexpr unsigned level_of_one = 3;
  using mask = __mmask8;
  static __m512i load(const std::uint64_t* from) { return _mm512_loadu_si512(from); }
  static __m512i all(std::uint64_t key) { return _mm512_set1_epi64(static_cast<long long>(key)); }
  static mask at_least(__m512i key, __m512i node) { return _mm512_cmpge_epu64_mask(key, node); }
  static __m512i permute(__m512i i, __m512i nodes) { return _mm512_permutexvar_epi64(i, nodes); }
  static __m512i permute(__m512i i, __m512i a, __m512i b) { return _mm512_permutex2var_epi64(a, i, b); }
  static __m512i choose(__m512i i, int bit, __m512i lower, __m512i upper) {
    return _mm512_mask_mov_epi64(lower, _mm512_test_epi64_mask(i, _mm512_set1_epi64(bit)), upper);
  }
  static __m512i gather(__m512i i, const std::uint64_t* level) { return _mm512_i64gather_epi64(i, level, 8); }
  static __m512i step(__m512i i, mask above) {
    const __m512i twice = _mm512_add_epi64(i, i);
    return _mm512_mask_add_epi64(twice, above, twice, _mm512_set1_epi64(1));
  }
  static void store(__m512i i, std::uint16_t* to) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi64_epi16(i));
  }
};

/// Goes down the first `bits` levels: those up to the third one that does not fit one vector are permuted, and others
/// are gathered.
template <class K, class Vectors, unsigned depth>
void search_vectors(const K* HWY_RESTRICT tree, unsigned bits, const K* HWY_RESTRICT encoded, std::uint64_t num_vectors,
                    std::uint16_t* HWY_RESTRICT buckets) {
  constexpr unsigned one = Vectors::level_of_one;
  __m512i level[one + 1];
  for (unsigned l = 0; l <= std::min(one, depth - 1); ++l) {
    K nodes[Vectors::lanes] = {};
    std::copy_n(tree + (std::size_t{1} << l), std::size_t{1} << l, nodes);
    level[l] = Vectors::load(nodes);
  }
  const auto nodes_at = [&](unsigned l, unsigned v) { return Vectors::load(tree + (K{1} << l) + v * Vectors::lanes); };
  // A level's nodes at `i` lie in vectors v to v + 3 of it.
  const auto nodes_of_four = [&](__m512i i, unsigned l, unsigned v) {
    const __m512i lower = Vectors::permute(i, nodes_at(l, v), nodes_at(l, v + 1));
    const __m512i upper = Vectors::permute(i, nodes_at(l, v + 2), nodes_at(l, v + 3));
    return Vectors::choose(i, 2 << one, lower, upper);
  };
  for (std::uint64_t n = 0; n < num_vectors; ++n) {
    const __m512i key = Vectors::load(encoded + n * Vectors::lanes);
    __m512i i = Vectors::step(_mm512_setzero_si512(),
                              Vectors::at_least(key, Vectors::permute(_mm512_setzero_si512(), level[0])));
    for (unsigned l = 1; l <= std::min(one, depth - 1); ++l) {
      i = Vectors::step(i, Vectors::at_least(key, Vectors::permute(i, level[l])));
    }
    if constexpr (depth > one + 1) {
      i = Vectors::step(i, Vectors::at_least(key, Vectors::permute(i, nodes_at(one + 1, 0), nodes_at(one + 1, 1))));
    }
    if constexpr (depth > one + 2) {
      i = Vectors::step(i, Vectors::at_least(key, nodes_of_four(i, one + 2, 0)));
    }
    if constexpr (depth > one + 3) {
      constexpr unsigned l = one + 3;
      const __m512i nodes = Vectors::choose(i, 4 << one, nodes_of_four(i, l, 0), nodes_of_four(i, l, 4));
      i = Vectors::step(i, Vectors::at_least(key, nodes));
    }
    if constexpr (depth > one + 4) {
      for (unsigned l = one + 4; l < bits; ++l) {
        i = Vectors::step(i, Vectors::at_least(key, Vectors::gather(i, tree + (std::size_t{1} << l))));
      }
    }
    Vectors::store(i, buckets + n * Vectors::lanes);
  }
}

/// Goes down all last levels at once: a vector of their splitters, which begin where `buckets` say, is compared with a
/// key. The last splitter of it parts two buckets of the levels above, and tells nothing more.
template <class K, class Vectors>
void search_leaves(const K* HWY_RESTRICT splitters, const K* HWY_RESTRICT encoded, std::uint64_t num_keys,
                   std::uint16_t* HWY_RESTRICT buckets) {
  constexpr auto own = static_cast<typename Vectors::mask>((1U << (Vectors::lanes - 1)) - 1);
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    const std::uint64_t begin = buckets[i] * Vectors::lanes;
    const auto reached = Vectors::at_least(Vectors::all(encoded[i]), Vectors::load(splitters + begin)) & own;
    buckets[i] = static_cast<std::uint16_t>(begin + static_cast<unsigned>(_mm_popcnt_u32(reached)));
  }
}

template <class K, class Vectors>
void search_upper(const K* tree, unsigned bits, const K* encoded, std::uint64_t num_vectors, std::uint16_t* buckets) {
  constexpr unsigned one = Vectors::level_of_one;
  switch (bits) {
    case one: return search_vectors<K, Vectors, one>(tree, bits, encoded, num_vectors, buckets);
    case one + 1: return search_vectors<K, Vectors, one + 1>(tree, bits, encoded, num_vectors, buckets);
    case one + 2: return search_vectors<K, Vectors, one + 2>(tree, bits, encoded, num_vectors, buckets);
    case one + 3: return search_vectors<K, Vectors, one + 3>(tree, bits, encoded, num_vectors, buckets);
    case one + 4: return search_vectors<K, Vectors, one + 4>(tree, bits, encoded, num_vectors, buckets);
    default: return search_vectors<K, Vectors, one + 5>(tree, bits, encoded, num_vectors, buckets);
  }
}

template <class K>
void find_buckets_of(const K* tree, unsigned bits, const K* encoded, std::uint64_t num_keys, std::uint16_t* buckets) {
  using vectors = std::conditional_t<sizeof(K) == 4, narrow_vectors, wide_vectors>;
  constexpr unsigned one = vectors::level_of_one;
  // More levels would need gathers: without them 2^24 u64(u64) that crowd took 13 % less time on Zen 4. Eight levels of
  // 32 bits took 0.81 ns a key so, and 1.14 with the last four at once.
  constexpr unsigned most_upper_bits = one + (sizeof(K) == 4 ? 4 : 3);
  const std::uint64_t num_vectors = num_keys / vectors::lanes;
  const std::uint64_t done = num_vectors * vectors::lanes;
  if (bits < one) return search_keys(tree, bits, encoded, num_keys, buckets);
  if (bits <= most_upper_bits) {
    search_upper<K, vectors>(tree, bits, encoded, num_vectors, buckets);
  } else {
    search_upper<K, vectors>(tree, bits - one, encoded, num_vectors, buckets);
    search_leaves<K, vectors>(tree + (std::size_t{1} << bits), encoded, done, buckets);
  }
  search_keys(tree, bits, encoded + done, num_keys - done, buckets + done);
}

#else

template <class K>
void find_buckets_of(const K* tree, unsigned bits, const K* encoded, std::uint64_t num_keys, std::uint16_t* buckets) {
  search_keys(tree, bits, encoded, num_keys, buckets);
}

#endif

// A choice at run time is one between plain functions.
void find_buckets_u32(const std::uint32_t* t, unsigned bits, const std::uint32_t* e, std::uint64_t n,
                      std::uint16_t* to) {
  find_buckets_of(t, bits, e, n, to);
}
void find_buckets_u64(const std::uint64_t* t, unsigned bits, const std::uint64_t* e, std::uint64_t n,
                      std::uint16_t* to) {
  find_buckets_of(t, bits, e, n, to);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

template <>
void find_splitter_buckets<std::uint32_t>(const std::uint32_t* tree, unsigned bits, const std::uint32_t* encoded,
                                          std::uint64_t num_keys, std::uint16_t* buckets) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(find_buckets_u32);
  best(tree, bits, encoded, num_keys, buckets);
}
template <>
void find_splitter_buckets<std::uint64_t>(const std::uint64_t* tree, unsigned bits, const std::uint64_t* encoded,
                                          std::uint64_t num_keys, std::uint16_t* buckets) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(find_buckets_u64);
  best(tree, bits, encoded, num_keys, buckets);
}

}  // namespace spansort::device::host
#endif
