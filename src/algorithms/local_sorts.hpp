// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "algorithms/registry.hpp"

namespace spansort::algorithms {

/// The algorithms that are local sorts of one device.
[[nodiscard]] std::span<const entry> local_sort_algorithms();

}  // namespace spansort::algorithms
