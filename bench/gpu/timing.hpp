// SPDX-License-Identifier: Apache-2.0
// Clocks and medians of the GPU benchmark.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace bench {

[[nodiscard]] inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

/// Wall clock around f(), which ends when its work is done.
template <class F>
[[nodiscard]] double wall_ms(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// `repeats` times of run() behind prepare(), which is not timed; one more run before them warms up.
template <class Prepare, class Run>
[[nodiscard]] std::vector<double> wall_runs_ms(unsigned repeats, const Prepare& prepare, const Run& run) {
  std::vector<double> runs_ms;
  for (unsigned i = 0; i < repeats + 1; ++i) {
    prepare();
    const double elapsed_ms = wall_ms(run);
    if (i != 0) runs_ms.push_back(elapsed_ms);
  }
  return runs_ms;
}

/// Keys per second in units of 10^9, of `num_keys` keys in `ms`.
[[nodiscard]] inline double giga_per_s(double num_keys, double ms) { return ms > 0 ? num_keys / ms / 1e6 : 0; }

}  // namespace bench
