// SPDX-License-Identifier: Apache-2.0
// Sizes of the published sorts that there are to compare with. Those of Satish, Harris and Garland stand in
// device/satish_tiles.hpp, for they are the paper's own on every device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda/tuning/kernel_family.hpp"
#include "device/cuda/tuning/workspace_sizes.hpp"

namespace spansort::device::cuda {

/// Threads of a block of either sort by Satish, Harris and Garland (section II.B: 256 gave the best performance).
inline constexpr unsigned satish_threads = 256;

/// The upsweep and the downsweep of lsd_reduce_then_scan.
struct reduce_then_scan_policy {
  unsigned threads = 0;       ///< of a block, one for each bucket
  unsigned items = 0;         ///< records that a thread takes of a tile
  unsigned blocks_each = 0;   ///< blocks, and so parts of the input, for each multiprocessor, at most
  unsigned least_blocks = 0;  ///< blocks for which the compiler must leave registers on one multiprocessor

  [[nodiscard]] constexpr unsigned tile_keys() const noexcept { return threads * items; }
  friend constexpr bool operator==(const reduce_then_scan_policy&, const reduce_then_scan_policy&) = default;
};

[[nodiscard]] constexpr tuned<reduce_then_scan_policy> reduce_then_scan_policy_of(
    kernel_family, unsigned key_bytes, unsigned value_bytes, unsigned digit_bits = max_partition_bits) noexcept {
  const unsigned threads = 1U << digit_bits;
  const unsigned widest = std::max({key_bytes, value_bytes, 1U});
  return {{threads, std::min(16U, (16U << 10) / threads / widest), 4, 2},
          "computed: a tile takes 16 KiB, so that two to four blocks fit a multiprocessor; not measured"};
}

/// Parts of the input that any GPU's blocks take: the counts of all of them fit in the scratch.
inline constexpr unsigned most_reduce_then_scan_parts = 4096;

/// Temporary memory for a scan of `num_entries` of 8 bytes: CUB takes 16 bytes for a tile of some 900 to 2,000 entries
/// (CUDA 13.0), and this is several times as much.
[[nodiscard]] constexpr std::uint64_t table_scan_bytes(std::uint64_t num_entries) noexcept {
  return (std::uint64_t{64} << 10) + num_entries / 256 * 64;
}

}  // namespace spansort::device::cuda
