// SPDX-License-Identifier: Apache-2.0
// The algorithms over several processes by name, with what a session needs to know of one. A new one is a driver file
// and a line in cluster_algorithms.cpp.
#pragma once

#include <span>
#include <string_view>

#include "algorithms/registry.hpp"

namespace spansort::algorithms {

struct cluster_entry {
  entry driver;                      ///< of problems that have `others`
  bool sorts_alone_as_auto = false;  ///< a process that is alone sorts as one machine's `auto` does
  bool needs_target_counts =
      false;                      ///< how many records each rank ends with must be settled before, also where balanced
  unsigned most_radix_bits = 12;  ///< the widest digit that tuning_options may ask for
};

/// All of them, in the order of a help text.
[[nodiscard]] std::span<const cluster_entry> all_cluster_algorithms();

/// Throws invalid_argument listing what is known.
[[nodiscard]] const cluster_entry& find_cluster_algorithm(std::string_view name);

}  // namespace spansort::algorithms
