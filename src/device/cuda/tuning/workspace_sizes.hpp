// SPDX-License-Identifier: Apache-2.0
// Widths that the kernels are written for, and the memory that a queue keeps for them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spansort::device::cuda {

/// Digits that partitions split by unless they say otherwise: 256 buckets, as in both papers (RMG sort, section 5;
/// Onesweep, section 3). Look-back keeps one state a bucket and a tile, and a block has a thread for each bucket.
inline constexpr unsigned max_partition_bits = 8;
inline constexpr unsigned max_partition_buckets = 1U << max_partition_bits;
/// Digits that published sorts take on request, as table 2 of Onesweep does, and sorts by buckets of many records. The
/// kernels are compiled a second time, for digits between this width and the other.
inline constexpr unsigned max_published_bits = 9;
/// The digit of the partition of 8-byte keys that leaves those of a bucket in any order, where it is a segment's only
/// one: it needs a counter a bucket and no more.
inline constexpr unsigned max_unordered_bits = 10;

/// Digits that one histogram kernel counts together: all of a 64-bit key, in one read.
inline constexpr unsigned max_digits_together = 8;
static_assert(max_digits_together * max_partition_bits >= 64);
/// Counters that one histogram kernel holds in shared memory: 16 KiB, which every GPU grants without being asked.
inline constexpr unsigned max_counters_together = 4096;
static_assert(max_digits_together * max_partition_buckets <= max_counters_together);

/// Shared memory that a kernel may have without asking (CUDA C++ Programming Guide).
inline constexpr unsigned default_shared_bytes = 48U << 10;
static_assert(max_counters_together * sizeof(std::uint32_t) <= default_shared_bytes);

/// Tiles whose look-back states a queue keeps: 32 MiB, enough for all four passes over 2^27 keys of 4 bytes. Longer
/// inputs are taken in portions, so more memory would save clears only. `partition_tile` asserts that a portion's
/// counts fit beside the flags of a state. Not measured.
inline constexpr std::uint64_t workspace_tiles = 32768;
/// Counts of digits, tables of copies and sums that a queue keeps for its current request.
inline constexpr std::uint64_t workspace_counts = 32768;

/// A sort with a workspace of its own size keeps states of 4 MiB where all its passes need as many, and of a fiftieth
/// of its records above. With room for fewer tiles than there are the passes clear their states one after the other, or
/// take the input in portions. Not measured.
inline constexpr std::uint64_t most_tiles_of_all_passes = 4096;
inline constexpr std::uint64_t state_weight = 50;

/// A sort of one array is preceded by a look for order from this many records on; below, the look and its decision take
/// as long as a pass or two of the sort that they could spare. Estimated from the time of launches, not measured.
inline constexpr std::uint64_t least_order_check_keys = std::uint64_t{1} << 21;

/// Streams that take turns with the segments of one local sort: the kernels of one fill the multiprocessors that
/// another's last blocks leave idle. Each has an equal part of the workspace, so more streams mean shorter portions.
/// Not measured.
inline constexpr std::size_t num_lanes = 4;
/// Lanes' parts of the workspace begin at multiples of this, which is what cudaMalloc aligns to.
inline constexpr std::uint64_t lane_alignment_bytes = 256;

/// CUB's temporary memory: 1 KiB for a tile of some 4,000 to 8,000 keys, of which it looks at 2^28 at a time (CUDA
/// 13.0).
inline constexpr std::uint64_t cub_scratch_bytes = std::uint64_t{96} << 20;

/// The planner is told this of a GPU before any code is loaded there, so no compute capability is asked.
struct advice_policy {
  std::uint64_t segment_keys = 0;          ///< buckets up to this size are fused
  std::uint64_t several_devices_keys = 0;  ///< from here on several GPUs beat one
};
/// Fused are buckets whose sort would take no longer than its launches: fusing larger ones, as the paper does under 1 %
/// of a chunk, costs a pass over the bits in which they differ (H100). Below `several_devices_keys` one GPU is done
/// before several have agreed on a plan; that bound is not measured.
inline constexpr advice_policy gpu_advice{std::uint64_t{1} << 21, std::uint64_t{1} << 25};

/// Pages of host memory that could not be pinned.
inline constexpr std::uint64_t host_alignment_bytes = 4096;

}  // namespace spansort::device::cuda
