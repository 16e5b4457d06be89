// SPDX-License-Identifier: Apache-2.0
// This file has IPS4o where its headers are installed, by Debian's libips4o-dev for one.
#include "bench/suites/baselines/baseline.hpp"

#if defined(SPANSORT_BENCH_IPS4O)
#include <ips4o.hpp>

namespace bench {

void add_ips4o(std::vector<candidate>& to) {
  to.push_back(comparison_sort(
      "ips4o", [](auto* begin, auto* end, auto... before) { ips4o::parallel::sort(begin, end, before...); }));
}

}  // namespace bench
#else
namespace bench {
void add_ips4o(std::vector<candidate>&) {}
}  // namespace bench
#endif
