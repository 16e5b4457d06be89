// SPDX-License-Identifier: Apache-2.0
// The kernel of value_blocks.hpp. It wants more of AVX-512 than Highway's target of that name: popcounts of lanes,
// which AMD's processors with AVX-512 have, and Intel's since Ice Lake.

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 warns of its own intrinsics
#endif

#include "device/host/value_blocks.hpp"

#include "device/host/records.hpp"
#include "device/host/vector_targets.hpp"

#if defined(__x86_64__) && !defined(SPANSORT_NARROW_VECTORS)
#define SPANSORT_HAS_RANKS 1
#include <immintrin.h>
#else
#define SPANSORT_HAS_RANKS 0
#endif

namespace spansort::device::host {

#if SPANSORT_HAS_RANKS

namespace {

#define SPANSORT_RANKS_TARGET gnu::target("avx512f,avx512bw,avx512cd,avx512vpopcntdq")
#define SPANSORT_RANKS_INLINE [[SPANSORT_RANKS_TARGET, gnu::always_inline]] inline

/// Tells the places of the values of 16 keys at a time. Which lanes are of a class is the conjunction of four masks,
/// one for each bit of the class's number; how many of them are before a lane is added to the class's cursor.
class class_ranker {
 public:
  SPANSORT_RANKS_INLINE class_ranker(const class_cells& cells, const class_cursors& cursors)
      : multiplier_(_mm512_set1_epi32(static_cast<int>(cells.multiplier()))),
        lower_cells_(_mm512_load_si512(cells.classes())),
        upper_cells_(_mm512_load_si512(cells.classes() + class_cells::num_cells / 2)),
        keys_(_mm512_load_si512(cells.keys())),
        last_(_mm512_load_si512(cursors.last.data())),
        next_(_mm512_load_si512(cursors.next.data())) {}

  SPANSORT_RANKS_INLINE bool has_room() const { return _mm512_cmpgt_epu32_mask(next_, last_) == 0; }
  SPANSORT_RANKS_INLINE __m512i next() const { return next_; }

  /// Writes the places of 16 values. Adds lanes that are of no class to `strangers`.
  SPANSORT_RANKS_INLINE void rank(const std::uint32_t* keys, std::uint32_t* places, __m512i& strangers) {
    constexpr int or_xor = 0xF6;  // a | (b ^ c)
    const __m512i x = _mm512_loadu_si512(keys);
    const __m512i cell = _mm512_srli_epi32(_mm512_mullo_epi32(x, multiplier_), 32 - class_cells::cell_bits);
    const __m512i c = _mm512_maskz_permutex2var_epi16(0x55555555U, lower_cells_, cell, upper_cells_);
    strangers = _mm512_ternarylogic_epi32(strangers, _mm512_permutexvar_epi32(c, keys_), x, or_xor);
    const __m512i of_class = lanes_of_classes(c);
    const __m512i before = _mm512_and_si512(_mm512_permutexvar_epi32(c, of_class), lanes_before());
    const __m512i place = _mm512_add_epi32(_mm512_permutexvar_epi32(c, next_), _mm512_popcnt_epi32(before));
    next_ = _mm512_add_epi32(next_, _mm512_popcnt_epi32(of_class));
    _mm512_store_si512(places, place);
  }

 private:
  /// Returns a mask in each lane: of the lanes whose class is the lane's number.
  SPANSORT_RANKS_INLINE static __m512i lanes_of_classes(__m512i c) {
    constexpr int and_xor = 0x60;  // a & (b ^ c)
    __m512i lanes = _mm512_xor_si512(lanes_with(c, 1), lanes_without(0xAAAA));
    lanes = _mm512_ternarylogic_epi32(lanes, lanes_with(c, 2), lanes_without(0xCCCC), and_xor);
    lanes = _mm512_ternarylogic_epi32(lanes, lanes_with(c, 4), lanes_without(0xF0F0), and_xor);
    return _mm512_ternarylogic_epi32(lanes, lanes_with(c, 8), lanes_without(0xFF00), and_xor);
  }
  SPANSORT_RANKS_INLINE static __m512i lanes_with(__m512i c, int bit) {
    return _mm512_broadcastmw_epi32(_mm512_test_epi32_mask(c, _mm512_set1_epi32(bit)));
  }
  /// Turns the mask around in the lanes of classes whose number is without the bit.
  SPANSORT_RANKS_INLINE static __m512i lanes_without(unsigned with_bit) {
    return _mm512_maskz_set1_epi32(static_cast<__mmask16>(~with_bit), 0xFFFF);
  }
  SPANSORT_RANKS_INLINE static __m512i lanes_before() {
    return _mm512_setr_epi32(0, 0x1, 0x3, 0x7, 0xF, 0x1F, 0x3F, 0x7F, 0xFF, 0x1FF, 0x3FF, 0x7FF, 0xFFF, 0x1FFF, 0x3FFF,
                             0x7FFF);
  }

  __m512i multiplier_;
  __m512i lower_cells_;
  __m512i upper_cells_;
  __m512i keys_;
  __m512i last_;
  __m512i next_;
};

/// Places are stored, and loaded one by one a group later, when they have reached the cache. The moves of a group lie
/// between the vectors of the next one, so that neither waits for the other: 16 values, 2^16 u32(u32), took 0.42 ns a
/// pair on Zen 4, and 0.58 with the moves behind the vectors.
template <class V>
[[SPANSORT_RANKS_TARGET]] std::uint64_t move_by_ranks(const std::uint32_t* keys, const V* values,
                                                      std::uint64_t num_groups, const class_cells& cells, V* room,
                                                      class_cursors& cursors) {
  constexpr unsigned lanes = 16;
  class_ranker ranker(cells, cursors);
  alignas(64) std::uint32_t places[2][block_group];
  __m512i next = ranker.next();
  bool met_strangers = false;
  std::uint64_t ranked = 0;
  for (; ranked < num_groups && ranker.has_room(); ++ranked) {
    __m512i strangers = _mm512_setzero_si512();
    const std::uint32_t* const of_group = keys + ranked * block_group;
    std::uint32_t* const to = places[ranked % 2];
    if (ranked == 0) {
      for (unsigned i = 0; i < block_group; i += lanes) ranker.rank(of_group + i, to + i, strangers);
    } else {
      const std::uint32_t* const before = places[(ranked - 1) % 2];
      const V* const values_before = values + (ranked - 1) * block_group;
      for (unsigned v = 0; v < block_group; v += lanes) {
        ranker.rank(of_group + v, to + v, strangers);
#pragma GCC unroll 16
        for (unsigned i = v; i < v + lanes; ++i) room[before[i]] = values_before[i];
      }
    }
    met_strangers = _mm512_test_epi32_mask(strangers, strangers) != 0;
    if (met_strangers) break;
    next = ranker.next();
  }
  if (ranked != 0 && !met_strangers) {
    const std::uint32_t* const last = places[(ranked - 1) % 2];
    const V* const last_values = values + (ranked - 1) * block_group;
    for (unsigned i = 0; i < block_group; ++i) room[last[i]] = last_values[i];
  }
  _mm512_store_si512(cursors.next.data(), next);
  return ranked;
}

}  // namespace

bool has_value_blocks() noexcept {
  static const bool has = best_instruction_set() >= instruction_set::avx3 && __builtin_cpu_supports("avx512vpopcntdq");
  return has;
}

#else

namespace {

template <class V>
std::uint64_t move_by_ranks(const std::uint32_t*, const V*, std::uint64_t, const class_cells&, V*, class_cursors&) {
  return 0;
}

}  // namespace

bool has_value_blocks() noexcept { return false; }

#endif

template <>
std::uint64_t move_to_blocks<value4>(const std::uint32_t* keys, const value4* values, std::uint64_t num_groups,
                                     const class_cells& cells, value4* room, class_cursors& cursors) {
  return move_by_ranks(keys, values, num_groups, cells, room, cursors);
}
template <>
std::uint64_t move_to_blocks<value8>(const std::uint32_t* keys, const value8* values, std::uint64_t num_groups,
                                     const class_cells& cells, value8* room, class_cursors& cursors) {
  return move_by_ranks(keys, values, num_groups, cells, room, cursors);
}

}  // namespace spansort::device::host
