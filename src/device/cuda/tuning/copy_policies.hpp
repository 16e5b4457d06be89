// SPDX-License-Identifier: Apache-2.0
// Sizes of copies: by kernels into peers' memory, through pinned host memory, and of the tries that prove a link.
#pragma once

#include <array>
#include <cstdint>

#include "device/cuda/tuning/kernel_family.hpp"

namespace spansort::device::cuda {

/// A line of GPU memory. Stores that straddle lines cost a third of a link (four H200).
inline constexpr std::uint64_t line_bytes = 128;

/// One kernel for many copies. Its tiles are cut along the destination's lines.
struct copy_pieces_policy {
  unsigned threads = 0;
  unsigned unrolled = 0;     ///< words that a thread loads before it stores the first
  unsigned blocks_each = 0;  ///< blocks that are launched for each multiprocessor, at most
  /// Where other work of the GPU goes on beside the copies, pieces of this size or more are left to copy engines, and
  /// others to so many blocks in all.
  std::uint64_t least_engine_bytes = 0;
  unsigned blocks_beside = 0;
  std::uint64_t tile_bytes = 0;  ///< what a block copies at a time

  friend constexpr bool operator==(const copy_pieces_policy&, const copy_pieces_policy&) = default;
};

[[nodiscard]] constexpr tuned<copy_pieces_policy> copy_pieces_policy_of(kernel_family) noexcept {
  return {{256, 8, 8, std::uint64_t{1} << 20, 80, std::uint64_t{32} << 10},
          "blocks, words and tiles: in use on four H200, where no sweep of them was kept. Beside other work: two H200, "
          "pieces "
          "of 16 MB; of 48, 80, 128, 192, 320 and 1,056 blocks 80 were best, and copy engines still better"};
}
static_assert(copy_pieces_policy_of(kernel_family::hopper).sizes.tile_bytes % line_bytes == 0);

/// Pieces that one launch takes: their table is an argument of the kernel, of 8 KiB.
inline constexpr unsigned most_pieces_of_a_launch = 256;

/// The ring of pinned buffers that copies of ordinary host memory go through. Its sizes belong to the host and its
/// link, not to a compute capability. A copy fills all buffers in turn, so that the link takes one while the next is
/// filled, and small copies pin little.
struct pinned_ring_policy {
  unsigned num_buffers = 0;
  std::uint64_t least_buffer_bytes = 0;
  std::uint64_t most_buffer_bytes = 0;
  std::uint64_t least_copy_bytes = 0;  ///< smaller copies take the driver's own path

  friend constexpr bool operator==(const pinned_ring_policy&, const pinned_ring_policy&) = default;
};

inline constexpr tuned<pinned_ring_policy> pinned_ring_tuning{
    {4, std::uint64_t{64} << 10, std::uint64_t{8} << 20, std::uint64_t{1} << 16},
    "host of an H100: buffers of 8 and 16 MiB reached 52 (in) and 54 (out) of the link's 55 GB/s, smaller ones less; "
    "threads "
    "with buffers of their own were no faster"};
static_assert(pinned_ring_tuning.sizes.least_buffer_bytes <= pinned_ring_tuning.sizes.most_buffer_bytes);

/// The kernel that packs sorted keys into pinned memory of the host.
struct pack_keys_policy {
  unsigned threads = 0;
  unsigned blocks = 0;  ///< in all, at most

  friend constexpr bool operator==(const pack_keys_policy&, const pack_keys_policy&) = default;
};

[[nodiscard]] constexpr tuned<pack_keys_policy> pack_keys_policy_of(kernel_family) noexcept {
  return {{256, 32},
          "host of an H200, 2e9 u32: 223 ms; with 16, 24, 48 and 96 blocks 233, 228, 226 and 226, whose stores keep "
          "the sorts "
          "beside them waiting"};
}

/// The ring of pinned buffers that packed keys arrive in: one is unpacked while others are filled.
struct packed_ring_policy {
  unsigned num_buffers = 0;
  std::uint64_t buffer_bytes = 0;  ///< of the keys that it takes, before they are packed

  friend constexpr bool operator==(const packed_ring_policy&, const packed_ring_policy&) = default;
};

inline constexpr tuned<packed_ring_policy> packed_ring_tuning{
    {4, std::uint64_t{16} << 20}, "host of an H200: 4 and 8 buffers of 8 MiB took 2 % longer, 3 of 32 MiB as long"};

/// Results of up to this size on their way to ordinary memory are received in pinned memory: the driver's own path
/// holds the calling thread up for some microseconds each. Not measured.
inline constexpr std::uint64_t most_received_bytes = std::uint64_t{1} << 16;
/// Pinned memory for results has this size at least, so that one piece serves results of several sizes.
inline constexpr std::uint64_t least_staging_bytes = std::uint64_t{1} << 12;

/// These sizes say how a link between two GPUs is tried out: small enough for a cache, and large enough to go past it.
struct peer_probe_policy {
  unsigned threads = 0;
  unsigned blocks = 0;
  std::array<std::uint64_t, 3> sizes_bytes{};  ///< ascending
  int timed_repeats = 0;                       ///< copies of the largest size that are timed together

  friend constexpr bool operator==(const peer_probe_policy&, const peer_probe_policy&) = default;
};

inline constexpr tuned<peer_probe_policy> peer_probe_tuning{
    {256, 512, {std::uint64_t{4} << 10, std::uint64_t{1} << 20, std::uint64_t{64} << 20}, 4},
    "chosen to find wrong data, not for speed"};

}  // namespace spansort::device::cuda
