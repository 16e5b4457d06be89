// SPDX-License-Identifier: Apache-2.0
// The sizes by which a host device decides, each with where it was measured.
#pragma once

#include <cstdint>

namespace spansort::device::host {

/// Returns how many bytes of copies are worth to be written past the caches: a quarter of the last one, within limits.
/// 2^24 u32(u32) of two values took 1.04 ns a pair through the caches and 0.76 past them on Zen 4, whose cache has 32
/// MiB, and 2^22 0.55 and 0.63; one thread of a Granite Rapids with 480 MiB took 0.74 and 1.33 ns a pair for 2^22, 1.00
/// and 1.31 for 2^23, and as long either way for 2^24.
[[nodiscard, gnu::const]] std::uint64_t fewest_streamed_copies();

/// Sizes that tests shrink. Defaults were measured on AMD Zen 3 (512 KiB second-level cache), g++ 12, two threads;
/// those of vectors on Zen 5.
struct sort_limits {
  std::uint64_t inline_keys = std::uint64_t{1} << 15;          ///< sorted on the calling thread
  std::uint64_t vector_inline_bytes = std::uint64_t{1} << 19;  ///< the same of keys alone that vectors sort
  std::uint64_t word_inline_keys = std::uint64_t{1} << 16;     ///< the same of pairs that are sorted as words
  std::uint64_t vector_alone_keys = std::uint64_t{1} << 20;    ///< most keys that one of two threads sorts alone
  std::uint64_t bucket_bytes = std::uint64_t{1} << 17;         ///< wanted size of a bucket
  std::uint64_t class_bytes = std::uint64_t{5} << 17;          ///< largest wanted size of a class of keys alone
  /// Keys are partitioned into classes where the spare blocks of this take at most one part of so many of their memory,
  /// for those who sort below a ceiling; 0: always.
  std::uint64_t class_memory_parts = 4;
  unsigned radix_bits = 11;                                  ///< widest digit of a level
  std::uint64_t piece_keys = std::uint64_t{1} << 14;         ///< fewest keys worth a task
  std::uint64_t few_values_keys = 1024;                      ///< fewest keys of which a sample looks for few values
  std::uint64_t heavy_values_keys = std::uint64_t{1} << 17;  ///< fewest keys of which a sample looks for heavy values
  std::uint64_t tiled_pairs = std::uint64_t{1} << 18;        ///< fewest u32(u32) that are partitioned tile by tile
  std::uint64_t tile_pairs = std::uint64_t{1} << 15;         ///< of such a tile, 2^15 at most
  double heavy_share = 0.25;  ///< heavy values that hold more than this share of a sample are counted
  std::uint64_t stream_bytes = std::uint64_t{1} << 24;  ///< outputs from this size on are written past the caches
  /// Partitions of pairs are written past the caches from this size on: 2^20 u32(u32) into 64 buckets took 3.9 ns a
  /// pair through the caches and 1.6 past them, u64(u64) 6.3 and 2.0. So are tiles of pairs. A dictionary's values are
  /// moved in a thread's cache first from four times the size on, where that paid.
  std::uint64_t stream_pairs_bytes = std::uint64_t{1} << 21;
  /// Values that are copied back to where they came from are written past the caches from this size on. Pairs of a few
  /// values that are together of this size are moved in a thread's cache first.
  std::uint64_t stream_copies_bytes = fewest_streamed_copies();
};

/// Most records that the calling thread sorts without waking others.
[[nodiscard]] std::uint64_t inline_keys(const sort_limits& limits, std::uint64_t key_bytes, std::uint64_t value_bytes);

}  // namespace spansort::device::host
