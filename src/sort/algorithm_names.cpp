// SPDX-License-Identifier: Apache-2.0
// The public names of algorithms are those of the registry.
#include "algorithms/registry.hpp"
#include "spansort/options.hpp"

namespace spansort {

algorithm parse_algorithm(std::string_view text) { return algorithm(algorithms::find_algorithm(text).name); }

std::vector<algorithm> list_algorithms() {
  std::vector<algorithm> all;
  for (const algorithms::entry* e : algorithms::all_algorithms()) all.push_back(algorithm(e->name));
  return all;
}

std::string_view description(algorithm which) { return algorithms::find_algorithm(name(which)).description; }

}  // namespace spansort
