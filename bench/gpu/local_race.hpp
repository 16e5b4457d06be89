// SPDX-License-Identifier: Apache-2.0
// Spansort's local sort of one GPU and CUB's on the same input, data resident, same run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/gpu/device_arrays.hpp"

namespace bench {

enum class race_clock : std::uint8_t {
  events,  ///< CUDA events around what was launched
  wall     ///< the host's clock, from the call to the end of its work
};

struct race_request {
  std::string type;  ///< "u32", "f64", "u32(u64)" ...: keys of 4 or 8 bytes, values of none, 4 or 8
  fill_request input;
  std::uint64_t num_keys = 0;
  unsigned repeats = 7;
  race_clock clock = race_clock::events;
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
