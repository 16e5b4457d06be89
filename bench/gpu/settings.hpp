// SPDX-License-Identifier: Apache-2.0
// Settings are what the command line says, and the GPUs and sizes that follow from it and from the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct settings {
  std::vector<std::string> suites{"sizes", "local", "host", "resident", "distributions", "breakdown", "small"};
  std::string cases;         ///< a regular expression: only cases whose names have a match of it
  std::vector<int> devices;  ///< ordinals of GPUs, one may repeat; none: all GPUs of the machine
  unsigned max_gpus = 64;
  double num_keys = 2e9;  ///< u32 keys of the large cases; the others move as many bytes
  unsigned log2_size = 28;
  unsigned repeats = 7;
  std::uint64_t device_memory_bytes = std::uint64_t{2} << 30;  ///< of suite larger: what the sort may take of a GPU
  double random_keys = 1e10;  ///< of suite random: it ends when its sorts have had so many
  double seconds = 0;         ///< no further case begins after this long; 0: no limit
  std::uint64_t seed = 1;
  std::string json_file;
  std::string commit = "unknown";
};

/// Replaces an empty device list by all GPUs, and cuts it to max_gpus. Throws invalid_argument or device_error.
void resolve_devices(settings& s);

/// Returns the size of an input of suite larger: four times what the sort may take of all GPUs.
[[nodiscard]] std::uint64_t larger_input_bytes(const settings& s);

/// Shrinks num_keys to what the GPUs and the host can hold. Returns why, "" where nothing was shrunk.
[[nodiscard]] std::string shrink_to_memory(settings& s);

}  // namespace bench
