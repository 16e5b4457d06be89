// SPDX-License-Identifier: Apache-2.0
// Quantiles of sorted doubles, put together from the room's parts.
#pragma once

#include <span>

#include "statistics/quantile_position.hpp"

namespace spansort::statistics::test {

[[nodiscard]] inline double quantile_of_sorted(std::span<const double> sorted, double q, quantile_method method) {
  const quantile_position at = position_of(sorted.size(), q, method);
  return quantile_value(method, at, sorted[at.lower_rank], sorted[at.upper_rank]);
}

}  // namespace spansort::statistics::test
