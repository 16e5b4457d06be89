// SPDX-License-Identifier: Apache-2.0
// A sort of shards whose memory ends when they are being overwritten already is finished here, by one thread that needs
// none: it merges what lies on the devices through a few kilobytes of its stack, however long that takes.
#pragma once

#include "algorithms/run_context.hpp"

namespace spansort::sorting {

/// Sorts shards from the parts that the run has named, of which each lies in its shard or in its spare memory. Returns
/// false where a device cannot be read or written. All queues are empty.
[[nodiscard]] bool finish_shards(algorithms::run_context& run, const algorithms::problem& problem) noexcept;

}  // namespace spansort::sorting
