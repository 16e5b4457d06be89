// SPDX-License-Identifier: Apache-2.0
// Host ranks that a call without a sorter leaves to the next one: to open a device, start its threads and touch new
// memory took 16 threads of an Emerald Rapids 6 ms for 2^24 u32, which they sort in 9.
#pragma once

#include <sched.h>

#include <cstdint>
#include <vector>

#include "algorithms/rank.hpp"

namespace spansort::sorting {

/// Ranks that were opened alike serve one another's calls.
struct rank_kind {
  unsigned num_threads = 0;
  bool across_nodes = false;
  cpu_set_t processors = {};  ///< on which their threads may run

  friend bool operator==(const rank_kind& a, const rank_kind& b) noexcept {
    return a.num_threads == b.num_threads && a.across_nodes == b.across_nodes &&
           CPU_EQUAL(&a.processors, &b.processors);
  }
};

/// Returns the kind that the calling thread would open now.
[[nodiscard]] rank_kind kind_of_ranks(unsigned num_threads, bool across_nodes) noexcept;

/// Returns ranks of that kind that an earlier call of this process has left, or none. Workspace of 64 MiB and more that
/// they hold is there, or the system has memory for it.
[[nodiscard]] std::vector<algorithms::rank> take_kept_ranks(const rank_kind& kind) noexcept;

/// Leaves idle ranks to the next call, in place of those that were there. The kernel may take their workspace, whose
/// contents are of no use, when it runs short of memory; where it cannot, or where they hold more than
/// most_kept_bytes(), the workspace goes at once.
void keep_ranks(const rank_kind& kind, std::vector<algorithms::rank> ranks) noexcept;

/// A thirty-second of the machine's memory, or a sixteenth of what was available at the first call that left ranks
/// where that is less; 1 GiB at most.
[[nodiscard]] std::uint64_t most_kept_bytes();

/// Gives back what was kept. Returns whether there was something, and nobody was at it.
bool release_kept_ranks() noexcept;

/// Gives back all that free functions keep, as release_kept_memory() does, and returns the resident memory of the
/// process: whoever plans below a ceiling begins with that.
[[nodiscard]] std::uint64_t resident_bytes_with_nothing_kept();

}  // namespace spansort::sorting
