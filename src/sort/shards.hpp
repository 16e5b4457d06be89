// SPDX-License-Identifier: Apache-2.0
// Shards of data on devices, as callers pass them. All checks throw invalid_argument.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithms/rank.hpp"
#include "sort/open_devices.hpp"
#include "spansort/resident.hpp"

namespace spansort::sorting {

/// A device list that names devices: "auto" cannot know whose memory the shards are.
[[nodiscard]] device_set named_devices(const device_list& list);

[[nodiscard]] std::uint64_t capacity_of(const shard& s);

/// One shard a device, in memory of that device, aligned, and none overlaps another.
void check_shards(const std::vector<algorithms::rank>& ranks, const device::record_shape& shape,
                  std::span<const shard> shards);

/// Checks shards whose keys are only read: their values and their capacity are of no interest.
void check_keys_of_shards(const std::vector<algorithms::rank>& ranks, const const_sharded_keys& keys);

/// Returns shards of an argsort: their values are the indices, and there is room for as many as there are keys. Checks
/// them, and that the indices can name all places.
[[nodiscard]] std::vector<shard> argsort_shards(const std::vector<algorithms::rank>& ranks,
                                                const const_sharded_keys& keys, std::span<void* const> indices,
                                                std::uint64_t index_bytes);

}  // namespace spansort::sorting
