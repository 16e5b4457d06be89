// SPDX-License-Identifier: Apache-2.0
// Multipliers of hash tables: the upper bits of a key's product with one of them say where it lies. Keys a step apart
// fall into few cells where a multiplier makes little of that step, so that there are others to try.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace spansort::device::host {

/// The first one is 2^width over the golden ratio, or a prime near to it, and spreads keys that differ little; the
/// others are primes of xxHash (Collet). K is std::uint32_t or std::uint64_t.
template <class K>
inline constexpr std::array<K, 4> hash_multipliers = {0x9E3779B97F4A7C15U, 0xC2B2AE3D27D4EB4FU, 0x165667B19E3779F9U,
                                                      0x27D4EB2F165667C5U};
template <>
inline constexpr std::array<std::uint32_t, 4> hash_multipliers<std::uint32_t> = {0x9E3779B1U, 0x85EBCA77U, 0xC2B2AE3DU,
                                                                                 0x27D4EB2FU};

/// Calls take(multiplier), which returns how much has lost its cell to others, for one multiplier after the other until
/// that is `few` at most. The last call is that of the multiplier by which the least is lost.
template <class K, class Take>
void choose_multiplier(std::uint64_t few, const Take& take) {
  K best = 0;
  std::uint64_t least_lost = ~std::uint64_t{0};
  for (const K multiplier : hash_multipliers<K>) {
    const std::uint64_t lost = take(multiplier);
    if (lost < least_lost) best = multiplier;
    least_lost = std::min(least_lost, lost);
    if (lost <= few) return;
  }
  if (best != hash_multipliers<K>.back()) take(best);
}

}  // namespace spansort::device::host
