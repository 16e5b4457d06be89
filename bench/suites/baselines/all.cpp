// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/baselines/baseline.hpp"

namespace bench {

std::vector<candidate> cpu_baselines() {
  std::vector<candidate> found;
  add_gnu_parallel(found);
  add_standard_sorts(found);
  add_vqsort(found);
  return found;
}

std::vector<candidate> all_cpu_baselines() {
  std::vector<candidate> found;
  add_vqsort(found);
  add_gnu_parallel(found);
  add_standard_sorts(found);
  add_boost(found);
  add_ips4o(found);
  return found;
}

}  // namespace bench
