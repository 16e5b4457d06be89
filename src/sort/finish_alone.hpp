// SPDX-License-Identifier: Apache-2.0
// A sort whose memory ends when the caller's arrays are being overwritten already is finished here, by one thread that
// needs none, however long that takes. Shards: finish_shards.hpp.
#pragma once

#include "algorithms/run_context.hpp"

namespace spansort::sorting {

/// Sorts the caller's arrays from the parts that the run has named. Returns false where it has named none, and where
/// shards cannot be reached. All queues are empty.
[[nodiscard]] bool finish_alone(algorithms::run_context& run, const algorithms::problem& problem) noexcept;

}  // namespace spansort::sorting
