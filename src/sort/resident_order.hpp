// SPDX-License-Identifier: Apache-2.0
// This header finds out whether shards are in order, without their keys leaving the devices.
#pragma once

#include <vector>

#include "algorithms/rank.hpp"
#include "spansort/resident.hpp"

namespace spansort::sorting {

/// Returns whether all keys are in value order, shard after shard. The ranks are the shards' devices; the shards have
/// been checked.
[[nodiscard]] bool is_sorted_on(std::vector<algorithms::rank>& ranks, const const_sharded_keys& keys, direction d);

}  // namespace spansort::sorting
