// SPDX-License-Identifier: Apache-2.0
// Clocks, medians and what else a result of the cluster's benchmark is made of.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/mpi/node_ranks.hpp"

namespace bench {

[[nodiscard]] inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

/// Collective: how long the slowest node rank took for f(), which all begin together.
template <class F>
[[nodiscard]] double slowest_ms(const node_ranks& nodes, const F& f) {
  nodes.barrier();
  const auto begin = std::chrono::steady_clock::now();
  f();
  return nodes.max(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace bench
