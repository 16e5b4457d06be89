// SPDX-License-Identifier: Apache-2.0
// The decisions of a box plot: fences, whiskers, outliers, as matplotlib's cbook.boxplot_stats takes them. Pure;
// whoever holds the keys looks up the two that are asked for.
//
// Use:  const interval reach = iqr_fences(quartiles, 1.5);          // or two percentiles
//       least key >= reach.low, greatest key <= reach.high           // one look at the keys, or a binary search
//       const interval whiskers = {lower_whisker(...), upper_whisker(...)};
//       outliers: keys < whiskers.low and keys > whiskers.high       // counted from the whiskers, not from the fences
#pragma once

#include <optional>

#include "spansort/statistics.hpp"

namespace spansort::statistics {

struct interval {
  double low = 0;
  double high = 0;
  friend bool operator==(const interval&, const interval&) = default;
};

/// Throws invalid_argument where the rule is not what statistics.hpp asks for.
void require_valid(const whisker_rule& rule);

/// The q of a percentile; NumPy's division, so that percentiles agree with numpy.percentile bit for bit.
[[nodiscard]] double q_of_percentile(double percentile) noexcept;

/// upper_quartile - lower_quartile; 0 for equal ones, infinities too; +inf where the difference overflows.
[[nodiscard]] double interquartile_range(const interval& quartiles) noexcept;

/// `iqr_factor` interquartile ranges beyond the quartiles. Never NaN; infinite where the range is, unless the factor
/// is 0. With rule.percentiles the fences are those quantiles by method linear instead: nothing is left to compute.
[[nodiscard]] interval iqr_fences(const interval& quartiles, double iqr_factor) noexcept;

/// `least_key`: the least key >= the low fence, if there is one. The whisker never ends inside the box.
[[nodiscard]] double lower_whisker(double lower_quartile, std::optional<double> least_key) noexcept;

/// `greatest_key`: the greatest key <= the high fence, if there is one.
[[nodiscard]] double upper_whisker(double upper_quartile, std::optional<double> greatest_key) noexcept;

}  // namespace spansort::statistics
