// SPDX-License-Identifier: Apache-2.0
// Spansort's sort on one GPU and CUB's of the same input, data resident, same run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/gpu/device_arrays.hpp"

namespace bench {

/// The side that races CUB.
enum class race_door : std::uint8_t {
  enqueued,  ///< enqueue_sort() and its kin, between CUDA events; CUB likewise
  call       ///< resident_sorter, which blocks, by the host's clock; CUB with a wait
};

struct race_request {
  /// "u32", "f64", "u32(u64)" ...: keys of 1 to 8 bytes, values of none, 4 or 8; "argsort(f32)": indices of 4 bytes.
  std::string type;
  fill_request input;
  std::uint64_t num_keys = 0;
  unsigned repeats = 7;
  race_door door = race_door::enqueued;
};

struct race_result {
  std::vector<double> ours_ms;
  std::vector<double> cub_ms;
  std::vector<double> copy_ms;            ///< a device copy of the keys (read and written once)
  std::uint64_t num_differing_words = 0;  ///< between the results: 0 where both are right
};

/// Races on the current device. Throws invalid_argument for types that it is not compiled for.
[[nodiscard]] race_result race(const race_request& request);

/// Returns what CUB calls its version: 300001 and the like.
[[nodiscard]] int cub_version();

}  // namespace bench
