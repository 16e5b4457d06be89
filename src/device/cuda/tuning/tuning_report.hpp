// SPDX-License-Identifier: Apache-2.0
// The tuning of a GPU in words and as JSON, so that a measurement can say which sizes it was taken with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/tuning/kernel_family.hpp"

namespace spansort::device::cuda {

/// One primitive's sizes, as a report names them.
struct tuning_line {
  std::string primitive;  ///< with the bytes of key and value where they matter: "partition, keys of 4 bytes"
  std::string sizes;      ///< "512 threads, 34 items, 2 blocks, 4 states"
  std::string_view provenance;
};

/// All sizes of the family that code for `code` has, in the order of the pipeline.
[[nodiscard]] std::vector<tuning_line> describe(compute_capability code);

/// Returns the report as a JSON object: the family, where the choice of it comes from, and a list of the lines.
[[nodiscard]] std::string to_json(compute_capability code);

}  // namespace spansort::device::cuda
