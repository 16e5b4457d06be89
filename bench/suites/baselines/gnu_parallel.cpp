// SPDX-License-Identifier: Apache-2.0
// This file has the parallel mode of GCC's library, which takes its threads from OpenMP.
#include <parallel/algorithm>

#include "bench/suites/baselines/baseline.hpp"

namespace bench {

void add_gnu_parallel(std::vector<candidate>& to) {
  to.push_back(comparison_sort(
      "gnu_parallel", [](auto* begin, auto* end, auto... before) { __gnu_parallel::sort(begin, end, before...); }));
}

}  // namespace bench
