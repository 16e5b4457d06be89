// SPDX-License-Identifier: Apache-2.0
// Which devices "auto" means for an input: the GPUs where the trip to them pays, else the CPU.
#pragma once

#include <cstdint>
#include <string>

#include "api/device_list.hpp"

namespace spansort::api {

struct device_choice {
  device_list list;
  std::string why;  ///< half a sentence; "" where nothing else was there to choose
};

/// For an input of so many bytes in host memory, values included. `gpus_are_open`: the caller has used them, so that
/// starting their runtime costs nothing any more; it holds `held_bytes` on each. Does not touch the GPUs' runtime where
/// the CPU is the answer anyway.
[[nodiscard]] device_choice pick_devices(std::uint64_t input_bytes, bool gpus_are_open, std::uint64_t held_bytes);

}  // namespace spansort::api
