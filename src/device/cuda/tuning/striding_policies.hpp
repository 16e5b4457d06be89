// SPDX-License-Identifier: Apache-2.0
// Sizes of kernels whose blocks stride over an array: each block takes a tile, then the tile that lies a grid further
// on. No family has sizes of its own here yet; one that gets some is a case in the function of its kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "device/cuda/tuning/kernel_family.hpp"

namespace spansort::device::cuda {

struct striding_policy {
  unsigned threads = 0;      ///< of a block
  unsigned items = 0;        ///< keys or records that a thread takes of a tile
  unsigned blocks_each = 0;  ///< blocks that are launched for each multiprocessor, at most

  /// Returns the number of blocks to launch for `count` items.
  [[nodiscard]] constexpr unsigned num_blocks(std::uint64_t count, unsigned num_multiprocessors) const noexcept {
    const std::uint64_t tile_items = std::uint64_t{threads} * items;
    const std::uint64_t num_tiles = std::max<std::uint64_t>((count + tile_items - 1) / tile_items, 1);
    return static_cast<unsigned>(std::min(num_tiles, std::uint64_t{num_multiprocessors} * blocks_each));
  }
  friend constexpr bool operator==(const striding_policy&, const striding_policy&) = default;
};

inline constexpr std::string_view no_sweep = "in use on an H100, where no sweep of it was kept; not measured elsewhere";

/// The kernel that counts digits. A thread holds two tiles' keys in registers, so wide keys get half of the items. One
/// block of 1,024 threads fills half of a multiprocessor of 9.0; its counters are merged once, at its end.
[[nodiscard]] constexpr tuned<striding_policy> histogram_policy_of(kernel_family, unsigned key_bytes) noexcept {
  return {{1024, key_bytes == 8 ? 8U : 16U, 1}, no_sweep};
}

/// Counters of a digit that a block of that kernel has side by side, and when.
struct histogram_columns_policy {
  unsigned columns = 0;
  std::uint64_t least_keys = 0;
  unsigned most_counters = 0;  ///< of one column: 64 KiB together, which every GPU has

  friend constexpr bool operator==(const histogram_columns_policy&, const histogram_columns_policy&) = default;
};
inline constexpr tuned<histogram_columns_policy> histogram_columns{
    {16, std::uint64_t{1} << 22, 1024}, "computed from the conflicts of banks; the bound on keys is not measured"};

/// The kernel that compares neighbours. A thread takes vectors of 16 bytes.
[[nodiscard]] constexpr tuned<striding_policy> fingerprint_policy_of(kernel_family) noexcept {
  return {{256, 4, 8}, no_sweep};
}

/// The kernel that counts keys between splitters. A thread marks the keys that it collects in one word, so it takes 32
/// items at most.
[[nodiscard]] constexpr tuned<striding_policy> interval_policy_of(kernel_family, unsigned key_bytes) noexcept {
  return {{512, key_bytes == 8 ? 8U : 16U, 4}, no_sweep};
}
static_assert(interval_policy_of(kernel_family::hopper, 4).sizes.items <= 32);

/// Kernels that copy, reverse, swap, encode and decode. Threads that copy or reverse load all of their items of a
/// tile before they store one; others take one at a time.
[[nodiscard]] constexpr tuned<striding_policy> rearrange_policy_of(kernel_family) noexcept {
  return {{256, 4, 8}, no_sweep};
}

/// The kernels that gather a sample of at most 2^19 keys and look into it: a thread for each key, or for each run.
[[nodiscard]] constexpr tuned<striding_policy> sample_policy_of(kernel_family) noexcept {
  return {{256, 1, 0},
          "in use on an H100, where each kernel takes about as long as its launch; not measured elsewhere"};
}

/// The kernel that adds up keys. Blocks of few threads let the blocks of small inputs spread over the multiprocessors.
/// A thread takes one lane of a sum (sum_lanes), so `threads` is a multiple of their number.
[[nodiscard]] constexpr tuned<striding_policy> block_sums_policy_of(kernel_family) noexcept {
  return {{64, 1, 0}, no_sweep};
}

}  // namespace spansort::device::cuda
