// SPDX-License-Identifier: Apache-2.0
// Order statistics of data that is on the devices already: one GPU, several, host devices. As in statistics.hpp and
// top_k.hpp, to the bit, the mean included, however the keys are cut into shards.
//
// Shards are those of resident.hpp, one for each device that options.devices names ("auto" names none); `values` and
// `capacity` are not looked at. The call begins when what is on the shards' streams is done, blocks, and leaves the
// keys as they are. What crosses the link is samples, counts and what is asked for.
// Memory on each device: what the function's host counterpart needs for the device's share, and 34 MiB a GPU.
// options.order is about all shards, one after the other: so it is after sort_resident().
//     spansort::sort_resident(type, shards, {.devices = "gpu:0,1"});
//     spansort::summary s = spansort::summarize_resident(
//         type, shards, {.order = spansort::key_order::ascending, .devices = "gpu:0,1"});
// Throws as the host counterparts; invalid_argument also for shards that are not the devices'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spansort/resident.hpp"
#include "spansort/statistics.hpp"
#include "spansort/top_k.hpp"

namespace spansort {

[[nodiscard]] std::vector<double> quantiles_resident(key_type type, std::span<const shard> shards,
                                                     std::span<const double> q, const quantile_options& options);

[[nodiscard]] summary summarize_resident(key_type type, std::span<const shard> shards, const summary_options& options);

/// `value` points to one key of `type` in host memory.
[[nodiscard]] key_rank rank_of_resident(key_type type, std::span<const shard> shards, const void* value,
                                        const rank_options& options);

/// The k largest keys, the largest first, as bytes in host memory, where they are sorted.
[[nodiscard]] std::vector<std::byte> top_k_resident(key_type type, std::span<const shard> shards, std::uint64_t k,
                                                    const top_options& options);

/// The k smallest, the smallest first.
[[nodiscard]] std::vector<std::byte> bottom_k_resident(key_type type, std::span<const shard> shards, std::uint64_t k,
                                                       const top_options& options);

}  // namespace spansort
