// SPDX-License-Identifier: Apache-2.0
// The algorithms over several processes by name.
#pragma once

#include <string_view>

#include "algorithms/registry.hpp"

namespace spansort::algorithms {

/// Throws invalid_argument listing what is known. Their problems have `others`.
[[nodiscard]] const entry& find_cluster_algorithm(std::string_view name);

}  // namespace spansort::algorithms
