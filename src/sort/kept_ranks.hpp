// SPDX-License-Identifier: Apache-2.0
// Host ranks that a call without a sorter leaves to the next one: to open a device, start its threads and touch new
// memory took 16 threads of an Emerald Rapids 6 ms for 2^24 u32, which they sort in 10.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/rank.hpp"

namespace spansort::sorting {

/// Ranks that were opened alike serve one another's calls.
struct rank_kind {
  unsigned num_threads = 0;
  bool across_nodes = false;

  bool operator==(const rank_kind&) const = default;
};

/// Returns ranks of that kind that an earlier call of this process has left, with what they hold, or none.
[[nodiscard]] std::vector<algorithms::rank> take_kept_ranks(const rank_kind& kind) noexcept;

/// Leaves idle ranks to the next call, in place of those that were there. The kernel may take their workspace, whose
/// contents are of no use, when it runs short of memory; where they hold more than most_kept_bytes(), it goes at once.
void keep_ranks(const rank_kind& kind, std::vector<algorithms::rank> ranks) noexcept;

/// A thirty-second of the machine's memory, less where little is available, and 1 GiB at most.
[[nodiscard]] std::uint64_t most_kept_bytes();

/// Gives back what was kept. Returns false where there was nothing.
bool release_kept_ranks() noexcept;

}  // namespace spansort::sorting
