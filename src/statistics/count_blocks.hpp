// SPDX-License-Identifier: Apache-2.0
// One read over keys that come in blocks, on all threads: reading, encoding and counting overlap, and a fixed number of
// blocks is in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "keys/codec.hpp"
#include "statistics/interval_index.hpp"
#include "statistics/key_blocks.hpp"
#include "statistics/mean.hpp"

namespace spansort::statistics {

/// Keys of a block that is read at once: whole blocks of sums, about a mebibyte.
[[nodiscard]] std::uint64_t keys_of_block(unsigned key_bytes) noexcept;

/// Returns the memory that a read takes with so many threads and intervals, beside what it collects.
[[nodiscard]] std::uint64_t memory_of_read(unsigned key_bytes, unsigned threads, std::uint64_t num_intervals) noexcept;

struct block_counts {
  std::vector<interval_count> counts;             ///< of the intervals
  std::shared_ptr<const sorted_words> collected;  ///< null where nothing was to be collected, or it was too much
  number_total total;                             ///< of the keys as numbers
};

/// Reads all keys and counts them by the intervals of `read`. `has_total`: what the mean is made of is wanted, too.
/// `most_collected`: keys that there is memory for. Throws what reading throws, and out_of_memory.
[[nodiscard]] block_counts count_blocks(key_blocks& keys, const keys::key_codec& codec, const index_read& read,
                                        std::uint64_t most_collected, bool has_total);

}  // namespace spansort::statistics
