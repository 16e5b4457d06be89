// SPDX-License-Identifier: Apache-2.0
// The counters of the counting finish: a few bits for each value that the low bits of a key can have, many to a word.
#pragma once

#include <cstdint>

#include "device/cuda/tuning/counting_finish_policy.hpp"

namespace spansort::device::cuda {

/// Counters of `Bits` bits for all values. Every 16 words are followed by one that is not used, so that threads which
/// read from words as far apart find them in different banks.
template <unsigned Bits>
struct value_counters {
  static constexpr unsigned word_values = 32 / Bits;
  static constexpr unsigned num_words = counted_values / word_values;
  static constexpr unsigned mask = (1U << Bits) - 1;

  [[nodiscard]] static constexpr __host__ __device__ unsigned place_of(unsigned word) { return word + word / 16; }
  static constexpr unsigned num_places = num_words + num_words / 16;

  [[nodiscard]] static __device__ __forceinline__ unsigned word_of(unsigned value) {
    return place_of(value / word_values);
  }
  [[nodiscard]] static __device__ __forceinline__ unsigned shift_of(unsigned value) {
    return value % word_values * Bits;
  }
  /// Returns the sum of a word's counters.
  [[nodiscard]] static __device__ __forceinline__ unsigned sum_of(std::uint32_t word) {
    static_assert(Bits == 2 || Bits == 4);
    if constexpr (Bits == 2) word = (word & 0x33333333U) + (word >> 2 & 0x33333333U);
    const std::uint32_t bytes =
        Bits == 2 ? (word + (word >> 4)) & 0x0f0f0f0fU : (word & 0x0f0f0f0fU) + (word >> 4 & 0x0f0f0f0fU);
    return bytes * 0x01010101U >> 24;
  }
};

}  // namespace spansort::device::cuda
