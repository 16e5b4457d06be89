// SPDX-License-Identifier: Apache-2.0
#include "statistics/box.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spansort/errors.hpp"

namespace spansort::statistics {

void require_valid(const whisker_rule& rule) {
  if (!(std::isfinite(rule.iqr_factor) && rule.iqr_factor >= 0)) {
    throw invalid_argument(fmt::format("whiskers: expected a finite factor of 0 or more, found {}", rule.iqr_factor));
  }
  if (!rule.percentiles) return;
  const percentile_pair& p = *rule.percentiles;
  if (!(0 <= p.low && p.low <= p.high && p.high <= 100)) {
    throw invalid_argument(
        fmt::format("whiskers: expected percentiles 0 <= low <= high <= 100, found {} and {}", p.low, p.high));
  }
}

double q_of_percentile(double percentile) noexcept { return percentile / 100; }

double interquartile_range(const interval& quartiles) noexcept {
  return quartiles.low == quartiles.high ? 0 : quartiles.high - quartiles.low;
}

interval iqr_fences(const interval& quartiles, double iqr_factor) noexcept {
  const double range = interquartile_range(quartiles);
  if (range == 0 || iqr_factor == 0) return quartiles;  // 0 * inf is NaN
  return {quartiles.low - iqr_factor * range, quartiles.high + iqr_factor * range};
}

double lower_whisker(double lower_quartile, std::optional<double> least_key) noexcept {
  return least_key ? std::min(*least_key, lower_quartile) : lower_quartile;
}

double upper_whisker(double upper_quartile, std::optional<double> greatest_key) noexcept {
  return greatest_key ? std::max(*greatest_key, upper_quartile) : upper_quartile;
}

}  // namespace spansort::statistics
