// SPDX-License-Identifier: Apache-2.0
// Many copies by one kernel, into peers' memory too: stores reach further over the links than the copy engines do.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/copy_policies.hpp"

namespace spansort::device::cuda {

/// A copy as the kernel sees it. Its tiles are cut along the destination's lines.
struct piece_entry {
  char* to = nullptr;
  const char* from = nullptr;
  std::uint64_t size_bytes = 0;
  std::uint64_t first_tile = 0;  ///< of this piece among all tiles
};

/// Tiles that a piece takes: from the line that it begins in.
[[nodiscard]] inline std::uint64_t num_piece_tiles(const copy_pieces_policy& policy, const void* to,
                                                   std::uint64_t size_bytes) noexcept {
  const std::uint64_t lead = reinterpret_cast<std::uintptr_t>(to) % line_bytes;
  return (lead + size_bytes + policy.tile_bytes - 1) / policy.tile_bytes;
}

/// `pieces` in device memory, in order of first_tile; all multiples of `alignment_bytes`: 1, 2, 4, 8 or 16.
void launch_copy_pieces(const launch_site& site, const piece_entry* pieces, unsigned num_pieces,
                        std::uint64_t num_tiles, unsigned alignment_bytes);

}  // namespace spansort::device::cuda
