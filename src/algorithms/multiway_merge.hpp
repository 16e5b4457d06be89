// SPDX-License-Identifier: Apache-2.0
// The merge of many sorted runs on the host's threads: multisequence selection cuts the result into pieces of equal
// size, whatever the keys, and one thread merges each by a tree of losers (Knuth, The Art of Computer Programming,
// volume 3, section 5.4.1).
#pragma once

#include <cstdint>
#include <span>

#include "device/device.hpp"

namespace spansort::algorithms {

/// A sorted run in host memory.
struct host_run {
  device::records data;
  std::uint64_t num_records = 0;
};

/// Merges runs into `to`, which overlaps none of them, in `num_pieces` pieces, on the threads of the calling thread's
/// arena. Stable: of equal keys those of an earlier run come first.
void merge_runs(const device::record_shape& shape, std::span<const host_run> runs, const device::records& to,
                std::uint64_t num_pieces);

/// Returns as many pieces as there are threads; fewer where there is little to merge.
[[nodiscard]] std::uint64_t pieces_for_all_threads(std::uint64_t num_records);

}  // namespace spansort::algorithms
