// SPDX-License-Identifier: Apache-2.0
// A sweep runs one kernel with many sizes on the GPU at hand. Every run's output is checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench::tune {

struct sweep_settings {
  std::uint64_t num_records = 0;
  unsigned repeats = 0;
  std::uint64_t seed = 0;
};

/// What one set of sizes did. Sizes that need more shared memory than the GPU has are not run.
struct sweep_line {
  std::string sizes;           ///< as the tables in src/device/cuda/tuning have them: "{512, 26, 2, 4}"
  bool is_in_use = false;      ///< the library's own sizes for this GPU
  bool fits = false;           ///< a block of it runs on this GPU
  bool is_right = false;       ///< the output was what it has to be
  unsigned shared_bytes = 0;   ///< of a block
  unsigned registers = 0;      ///< of a thread
  unsigned spilled_bytes = 0;  ///< of a thread
  unsigned blocks_each = 0;    ///< blocks that run on a multiprocessor at once
  std::vector<double> runs_ms;
};

struct sweep {
  std::string primitive;  ///< "partition"
  unsigned key_bytes = 0;
  unsigned value_bytes = 0;
  std::vector<sweep_line> (*run)(const sweep_settings&) = nullptr;
};

/// All sweeps, of the partition that keeps order and of the one that does not.
[[nodiscard]] std::vector<sweep> all_sweeps();

/// Sweeps of the partition that keeps order, of keys of type K with values of 0, 4, 8 and 16 bytes, and where there are
/// no values of the one that leaves keys in any order. Instantiated for std::uint32_t and std::uint64_t.
template <class K>
[[nodiscard]] std::vector<sweep> partition_sweeps();

}  // namespace bench::tune
