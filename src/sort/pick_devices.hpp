// SPDX-License-Identifier: Apache-2.0
// Which devices "auto" means for an input: the GPUs where the trip to them pays, else the CPU.
#pragma once

#include <cstdint>
#include <string>

#include "sort/device_list.hpp"

namespace spansort::sorting {

struct device_choice {
  device_list list;
  std::string why;  ///< half a sentence; "" where nothing else was there to choose
};

/// What the choice depends on.
struct sort_demand {
  std::uint64_t input_bytes = 0;          ///< in host memory, values included
  std::uint64_t memory_limit_bytes = 0;   ///< on workspace; 0: none
  std::uint64_t device_memory_bytes = 0;  ///< on workspace on each device; 0: none
  std::uint64_t held_gpu_bytes = 0;       ///< that the caller holds on each GPU already
  bool gpus_are_open = false;             ///< the caller has used them: starting their runtime costs nothing any more
  bool takes_one_device = false;
  bool takes_parts = false;  ///< the algorithm sorts in parts what does not fit
};

/// Does not touch the GPUs' runtime where the CPU is the answer anyway. A GPU that cannot be asked is no reason to fail.
[[nodiscard]] device_choice pick_devices(const sort_demand& sort);

}  // namespace spansort::sorting
