// SPDX-License-Identifier: Apache-2.0
// This file has oneTBB and the standard library, whose parallel sort is oneTBB's.
#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <execution>

#include "bench/suites/baselines/baseline.hpp"

namespace bench {

void add_standard_sorts(std::vector<candidate>& to) {
  to.push_back(comparison_sort(
      "tbb", [](auto* begin, auto* end, auto... before) { tbb::parallel_sort(begin, end, before...); }));
  to.push_back(comparison_sort("std_par", [](auto* begin, auto* end, auto... before) {
    std::sort(std::execution::par, begin, end, before...);
  }));
  to.push_back(
      comparison_sort("std_sort", [](auto* begin, auto* end, auto... before) { std::sort(begin, end, before...); }));
  to.back().is_one_thread = true;
}

}  // namespace bench
