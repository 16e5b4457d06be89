// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace spansort::external {

/// Calls f() and returns how long it took.
template <class F>
double seconds_of(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace spansort::external
