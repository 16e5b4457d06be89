// SPDX-License-Identifier: Apache-2.0
// Spansort's segmented sort on one GPU next to both of CUB's: same input, data resident, runs in turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/gpu/device_arrays.hpp"

namespace bench {

struct segment_race_request {
  std::string type;  ///< "u32", "u64", "f32", "u32(u32)" or "u64(u64)"
  fill_request input;
  std::vector<std::uint32_t> offsets;  ///< from 0 to the number of keys
  bool are_rows = false;               ///< ours is told the length, not the offsets
  unsigned repeats = 7;
};

struct segment_race_result {
  std::vector<double> ours_ms;
  std::vector<double> cub_sort_ms;        ///< cub::DeviceSegmentedSort; one run where that takes long
  std::vector<double> cub_radix_sort_ms;  ///< cub::DeviceSegmentedRadixSort, likewise
  std::uint64_t num_differing_words = 0;  ///< between ours and the results of both
  std::uint64_t workspace_bytes = 0;      ///< of ours
};

/// Races on the current device, between CUDA events. Throws invalid_argument for types that it is not compiled for.
[[nodiscard]] segment_race_result race_segments(const segment_race_request& request);

}  // namespace bench
