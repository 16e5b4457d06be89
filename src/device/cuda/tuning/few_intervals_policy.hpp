// SPDX-License-Identifier: Apache-2.0
// Sizes of the kernel that compares keys with the bounds of a few intervals from registers.
#pragma once

#include "device/cuda/tuning/kernel_family.hpp"

namespace spansort::device::cuda {

struct few_intervals_policy {
  unsigned threads = 0;       ///< of a block
  unsigned blocks_each = 0;   ///< blocks that are launched for each multiprocessor, at most
  unsigned least_blocks = 0;  ///< blocks for which the compiler must leave registers on one multiprocessor
  unsigned vectors = 0;       ///< loads of 16 bytes that a lane has under way at once
  unsigned held_bytes = 0;    ///< shared memory of a warp for keys on their way out

  friend constexpr bool operator==(const few_intervals_policy&, const few_intervals_policy&) = default;
};

/// Marked intervals that the kernel keeps in registers. The assembly in bound_arithmetic.cuh is written out for so
/// many.
inline constexpr unsigned most_few_intervals = 3;

[[nodiscard]] constexpr tuned<few_intervals_policy> few_intervals_policy_of(kernel_family) noexcept {
  return {
      {256, 5, 4, 4, 1024},
      "H100: 40 warps of a multiprocessor have 80 KB under way; with 6 blocks registers are too few for all loads of a "
      "step; not measured elsewhere"};
}
static_assert(few_intervals_policy_of(kernel_family::turing).sizes.threads *
                      few_intervals_policy_of(kernel_family::turing).sizes.least_blocks <=
                  1024,
              "compute capability 7.5 has 1,024 threads on a multiprocessor");
static_assert(few_intervals_policy_of(kernel_family::hopper).sizes.vectors * 16 / sizeof(std::uint32_t) <= 32,
              "a lane marks the keys that it collects in one word");

}  // namespace spansort::device::cuda
