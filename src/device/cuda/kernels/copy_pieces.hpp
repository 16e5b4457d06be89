// SPDX-License-Identifier: Apache-2.0
// Many copies by one kernel, into peers' memory too: stores reach further over the links than the copy engines do.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace spansort::device::cuda {

/// A copy as the kernel sees it. Its tiles are cut along the destination's lines.
struct piece_entry {
  char* to = nullptr;
  const char* from = nullptr;
  std::uint64_t size_bytes = 0;
  std::uint64_t first_tile = 0;  ///< of this piece among all tiles
};

inline constexpr std::uint64_t line_bytes = 128;
inline constexpr std::uint64_t piece_tile_bytes = std::uint64_t{32} << 10;

/// Tiles that a piece takes: from the line that it begins in.
[[nodiscard]] inline std::uint64_t num_piece_tiles(const void* to, std::uint64_t size_bytes) noexcept {
  const std::uint64_t lead = reinterpret_cast<std::uintptr_t>(to) % line_bytes;
  return (lead + size_bytes + piece_tile_bytes - 1) / piece_tile_bytes;
}

/// `pieces` in device memory, in order of first_tile; all multiples of `alignment_bytes`: 1, 2, 4, 8 or 16.
void launch_copy_pieces(cudaStream_t stream, unsigned num_multiprocessors, const piece_entry* pieces,
                        unsigned num_pieces, std::uint64_t num_tiles, unsigned alignment_bytes);

}  // namespace spansort::device::cuda
