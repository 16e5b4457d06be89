// SPDX-License-Identifier: Apache-2.0
// Permutations that bring the lanes of a mask to the front of a vector, for partitions of keys.
#pragma once

#include <cstdint>

namespace spansort::device::host {
/// These tables hold, for every mask, the numbers of its lanes and then those of the others. Highway's own are local to
/// its functions, and GCC 12 builds them anew in every call.
struct lane_order_tables {
  alignas(64) std::uint8_t of_8[256][8] = {};
  alignas(64) std::uint8_t of_4_halves[16][8] = {};   ///< lanes of 64 bits as pairs of 32
  alignas(64) std::uint8_t of_8_pairs[256][16] = {};  ///< lanes of 16 bits as pairs of bytes

  constexpr lane_order_tables() {
    for (unsigned mask = 0; mask < 256; ++mask) {
      unsigned next = 0;
      for (const unsigned wanted : {1U, 0U}) {
        for (unsigned lane = 0; lane < 8; ++lane) {
          if ((mask >> lane & 1U) != wanted) continue;
          of_8_pairs[mask][2 * next] = static_cast<std::uint8_t>(2 * lane);
          of_8_pairs[mask][2 * next + 1] = static_cast<std::uint8_t>(2 * lane + 1);
          of_8[mask][next++] = static_cast<std::uint8_t>(lane);
        }
      }
    }
    for (unsigned mask = 0; mask < 16; ++mask) {
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned lane = of_4(mask, i);
        of_4_halves[mask][2 * i] = static_cast<std::uint8_t>(2 * lane);
        of_4_halves[mask][2 * i + 1] = static_cast<std::uint8_t>(2 * lane + 1);
      }
    }
  }
  static constexpr unsigned of_4(unsigned mask, unsigned place) {
    unsigned next = 0;
    for (const unsigned wanted : {1U, 0U}) {
      for (unsigned lane = 0; lane < 4; ++lane) {
        if ((mask >> lane & 1U) == wanted && next++ == place) return lane;
      }
    }
    return 0;
  }
};
inline constexpr lane_order_tables lane_orders;

}  // namespace spansort::device::host
