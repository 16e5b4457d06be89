// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernels/copy_pieces.hpp"

#include <algorithm>

#include "device/cuda/cuda_error.hpp"

namespace spansort::device::cuda {
namespace {

constexpr copy_pieces_policy compiled_policy = copy_pieces_policy_of(compiled_family).sizes;

/// Returns the last piece that begins at or before `tile`.
__device__ unsigned piece_of(const piece_table& table, std::uint64_t tile) {
  unsigned first = 0;
  unsigned count = table.num_pieces;
  while (count > 1) {
    const unsigned half = count / 2;
    if (table.pieces[first + half].first_tile <= tile) {
      first += half;
      count -= half;
    } else {
      count = half;
    }
  }
  return first;
}

/// A warp stores whole lines of the destination, whatever the source's alignment, for stores that straddle lines cost a
/// third of a link. Any number of blocks; no shared memory; one read and one write of each byte.
template <class Word>
__global__ void __launch_bounds__(compiled_policy.threads)
    copy_pieces_kernel(const __grid_constant__ piece_table table) {
  constexpr unsigned threads = compiled_policy.threads;
  constexpr unsigned unrolled = compiled_policy.unrolled;
  constexpr unsigned tile_words = compiled_policy.tile_bytes / sizeof(Word);
  for (std::uint64_t tile = blockIdx.x; tile < table.num_tiles; tile += gridDim.x) {
    const piece_entry piece = table.pieces[piece_of(table, tile)];
    const std::uint64_t lead = reinterpret_cast<std::uintptr_t>(piece.to) % line_bytes / sizeof(Word);
    // Word i of the piece is word lead + i of its lines.
    Word* const to = reinterpret_cast<Word*>(piece.to) - lead;
    const Word* const from = reinterpret_cast<const Word*>(piece.from) - lead;
    const std::uint64_t end = lead + piece.size_bytes / sizeof(Word);
    const std::uint64_t begin = (tile - piece.first_tile) * tile_words;
    for (unsigned first = threadIdx.x; first < tile_words; first += threads * unrolled) {
      Word words[unrolled];
#pragma unroll
      for (unsigned i = 0; i < unrolled; ++i) {
        const std::uint64_t at = begin + first + i * threads;
        if (at >= lead && at < end) words[i] = from[at];
      }
#pragma unroll
      for (unsigned i = 0; i < unrolled; ++i) {
        const std::uint64_t at = begin + first + i * threads;
        if (at >= lead && at < end) to[at] = words[i];
      }
    }
  }
}

}  // namespace

void launch_copy_pieces(const launch_site& site, const piece_table& table, unsigned most_blocks,
                        unsigned alignment_bytes) {
  const copy_pieces_policy policy = copy_pieces_policy_of(site.family()).sizes;
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(table.num_tiles, most_blocks));
  const auto launch = [&]<class Word>() {
    copy_pieces_kernel<Word><<<blocks, policy.threads, 0, site.stream>>>(table);
  };
  switch (alignment_bytes) {
    case 1: launch.operator()<std::uint8_t>(); break;
    case 2: launch.operator()<std::uint16_t>(); break;
    case 4: launch.operator()<std::uint32_t>(); break;
    case 8: launch.operator()<std::uint64_t>(); break;
    default: launch.operator()<uint4>(); break;
  }
  check_done(cudaGetLastError(), "copy_pieces_kernel");
}

}  // namespace spansort::device::cuda
