// SPDX-License-Identifier: Apache-2.0
// The order in which cases run: where time ends, every figure has a part of its cases. An input that several figures
// ask for is made and sorted once for all of them.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/suites/figures.hpp"

namespace bench {

struct scheduled_case {
  /// A figure that shows the case, and where among its cases.
  struct user {
    const figure* of;
    std::size_t place;
  };
  case_spec spec;
  std::vector<user> users;
};

/// Returns the cases of all figures, which outlive the result: lower levels first, within a level small inputs first.
/// What is small beside the largest input comes a level earlier.
[[nodiscard]] std::vector<scheduled_case> schedule(const std::vector<figure>& figures);

}  // namespace bench
