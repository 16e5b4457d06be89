// SPDX-License-Identifier: Apache-2.0
// The sizes by which a host device decides, each with where it was measured.
#pragma once

#include <cstdint>

namespace spansort::device::host {

/// Sizes that tests shrink. Defaults were measured on AMD Zen 3 (512 KiB second-level cache), g++ 12, two threads;
/// those of vectors on Zen 5.
struct sort_limits {
  std::uint64_t inline_keys = std::uint64_t{1} << 15;          ///< sorted on the calling thread
  std::uint64_t vector_inline_bytes = std::uint64_t{1} << 19;  ///< the same of keys alone that vectors sort
  std::uint64_t word_inline_keys = std::uint64_t{1} << 16;     ///< the same of pairs that are sorted as words
  std::uint64_t vector_alone_keys = std::uint64_t{1} << 20;    ///< most keys that one of two threads sorts alone
  std::uint64_t bucket_bytes = std::uint64_t{1} << 17;         ///< wanted size of a bucket
  unsigned radix_bits = 11;                                    ///< widest digit of a level
  std::uint64_t piece_keys = std::uint64_t{1} << 14;           ///< fewest keys worth a task
  std::uint64_t few_values_keys = 1024;                        ///< fewest keys of which a sample looks for few values
  std::uint64_t heavy_values_keys = std::uint64_t{1} << 17;    ///< fewest keys of which a sample looks for heavy values
  double heavy_share = 0.25;  ///< heavy values that hold more than this share of a sample are counted
  std::uint64_t stream_bytes = std::uint64_t{1} << 24;  ///< outputs from this size on are written past the caches
};

/// Most records that the calling thread sorts without waking others.
[[nodiscard]] std::uint64_t inline_keys(const sort_limits& limits, std::uint64_t key_bytes, std::uint64_t value_bytes);

}  // namespace spansort::device::host
