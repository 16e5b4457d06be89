// SPDX-License-Identifier: Apache-2.0
// The suites of the cluster's benchmark: which inputs are sorted by whom. They are the measurements of Spafford's paper
// ("Quartiles, outliers and distributed radix sort", 2011, section III.C, figures 4 to 7), with distributed_rmg and
// distributed_sample_sort beside, and the quartiles without a sort.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/mpi/settings.hpp"

namespace bench {

struct contender {
  std::string algorithm;
  unsigned radix_bits = 0;  ///< of distributed_lsd; 0 for the others
};

/// A case has one input for all contenders, which take turns.
struct sort_case {
  std::string suite;
  std::string distribution;           ///< "uniform", "sorted" (spread over all values), "sequential" (0, 1, 2 ...)
  std::uint64_t num_keys = 0;         ///< over all node ranks
  std::vector<contender> contenders;  ///< none in suite quartiles: keys alone, one sort and one selection
};

/// Those of the suites asked for, on `num_nodes` node ranks. Throws invalid_argument for an unknown suite.
[[nodiscard]] std::vector<sort_case> make_cases(const settings& s, unsigned num_nodes);

}  // namespace bench
