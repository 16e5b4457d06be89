// SPDX-License-Identifier: Apache-2.0
// The NVIDIA driver is asked here what it says of itself, without the CUDA runtime: builds without a GPU backend have
// none, and it calls a missing driver one that is too old.
#pragma once

#include <string>

namespace spansort::sorting {

struct gpu_driver {
  bool is_installed = false;
  std::string text;  ///< what it is, or why it is of no use: "no NVIDIA driver found"
};

/// Loads the driver's library, where there is one, and starts it: some hundreds of milliseconds with GPUs.
[[nodiscard]] gpu_driver find_gpu_driver();

}  // namespace spansort::sorting
