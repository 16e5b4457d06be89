// SPDX-License-Identifier: Apache-2.0
// Multisequence selection: where sorted runs must be cut so that what lies before the cuts is the beginning of their
// merge. Exact, so that skew and equal keys need no special case. After Varman et al., "Merging Multiple Lists on
// Hierarchical-Memory Multiprocessors" (JPDC 1991), with a weighted median of the runs' middles as the pivot.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "keys/codec.hpp"

namespace spansort::plan {

/// Keys in the order of their codec, in host memory.
struct sorted_run {
  const void* keys = nullptr;
  std::uint64_t num_keys = 0;
};

/// Returns how many keys of each run are among the first `rank` keys of their merge; of equal keys those of an earlier
/// run come first. The counts add up to `rank`, which is at most the number of all keys. `from` are the cuts of a lower
/// rank, or empty: nothing before them is looked at. k runs of n keys together: O(log n) rounds of k binary searches.
[[nodiscard]] std::vector<std::uint64_t> split_runs(const keys::key_codec& codec, std::span<const sorted_run> runs,
                                                    std::uint64_t rank, std::span<const std::uint64_t> from = {});

}  // namespace spansort::plan
