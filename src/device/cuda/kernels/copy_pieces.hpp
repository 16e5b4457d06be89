// SPDX-License-Identifier: Apache-2.0
// Many copies by one kernel, into peers' memory too: over the links, stores are faster than the copy engines.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/copy_policies.hpp"

namespace spansort::device::cuda {

/// A copy as the kernel sees it. Its tiles are cut along the lines of the destination.
struct piece_entry {
  char* to = nullptr;
  const char* from = nullptr;
  std::uint64_t size_bytes = 0;
  std::uint64_t first_tile = 0;  ///< the piece's first tile among those of all pieces
};

/// Returns the number of tiles of a piece. The first begins with the line in which the piece begins.
[[nodiscard]] inline std::uint64_t num_piece_tiles(const copy_pieces_policy& policy, const void* to,
                                                   std::uint64_t size_bytes) noexcept {
  const std::uint64_t lead = reinterpret_cast<std::uintptr_t>(to) % line_bytes;
  return (lead + size_bytes + policy.tile_bytes - 1) / policy.tile_bytes;
}

/// The pieces that one launch copies, in the order of first_tile. They travel with the launch: queues that share a
/// device's workspace may copy at the same time.
struct piece_table {
  static constexpr unsigned most_pieces = most_pieces_of_a_launch;
  piece_entry pieces[most_pieces];
  std::uint64_t num_tiles = 0;
  unsigned num_pieces = 0;
};

/// Copies the pieces by at most `most_blocks` blocks. All addresses and sizes are multiples of `alignment_bytes`, which
/// is 1, 2, 4, 8 or 16.
void launch_copy_pieces(const launch_site& site, const piece_table& table, unsigned most_blocks,
                        unsigned alignment_bytes);

}  // namespace spansort::device::cuda
