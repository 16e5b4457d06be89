// SPDX-License-Identifier: Apache-2.0
// This file has Boost's parallel sorts where its headers are installed.
#include "bench/suites/baselines/baseline.hpp"

#if __has_include(<boost/sort/sort.hpp>)
#include <boost/sort/sort.hpp>

namespace bench {

void add_boost(std::vector<candidate>& to) {
  to.push_back(comparison_sort("boost_block_indirect", [](auto* begin, auto* end, auto... before) {
    boost::sort::block_indirect_sort(begin, end, before...);
  }));
  to.push_back(comparison_sort("boost_stable", [](auto* begin, auto* end, auto... before) {
    boost::sort::parallel_stable_sort(begin, end, before...);
  }));
}

}  // namespace bench
#else
namespace bench {
void add_boost(std::vector<candidate>&) {}
}  // namespace bench
#endif
