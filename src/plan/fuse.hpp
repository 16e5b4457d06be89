// SPDX-License-Identifier: Apache-2.0
// The local sorts of a plan (RMG paper, section 3.3): which neighbouring buckets are sorted together,
// and on which bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/planner.hpp"

namespace spansort::plan {

/// Returns the local sorts of `ranks`, but for those of buckets that are copied. `buckets`: the final ones in order,
/// those of `ranks` at least. `rank_begins`: num_ranks + 1 positions in the sorted whole.
[[nodiscard]] std::vector<local_sort> fuse_buckets(const parameters& params, std::span<const bucket> buckets,
                                                   std::span<const std::uint64_t> rank_begins, rank_group ranks);

}  // namespace spansort::plan
