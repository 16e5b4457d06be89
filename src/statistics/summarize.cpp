// SPDX-License-Identifier: Apache-2.0
// summarize(): quantiles, fences, whiskers, outliers and the mean, each by its own look at the keys.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/threads.hpp"
#include "sort/arguments.hpp"
#include "spansort/errors.hpp"
#include "spansort/statistics.hpp"
#include "statistics/box.hpp"
#include "statistics/key_value.hpp"
#include "statistics/open_keys.hpp"
#include "statistics/quantile_position.hpp"
#include "statistics/sorted_copy.hpp"
#include "statistics/statistics_of.hpp"

namespace spansort {
namespace {

using statistics::interval;
using statistics::quantile_position;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

summary summary_of_nothing(std::uint64_t count, std::uint64_t nan_count) {
  summary s;
  s.count = count;
  s.nan_count = nan_count;
  for (double* const each : {&s.minimum, &s.lower_quartile, &s.median, &s.upper_quartile, &s.maximum, &s.mean, &s.iqr,
                             &s.fence_low, &s.fence_high, &s.whisker_low, &s.whisker_high}) {
    *each = nan;
  }
  s.bowley_seven.fill(nan);
  s.normal_seven.fill(nan);
  return s;
}

/// Quantiles of the first `num_keys` keys, all found together.
class wanted_quantiles {
 public:
  explicit wanted_quantiles(std::uint64_t num_keys) : num_keys_(num_keys) {}

  void add(double q, quantile_method method) {
    methods_.push_back(method);
    positions_.push_back(statistics::position_of(num_keys_, q, method));
  }
  /// Finds the bits of the first and the last key, too.
  [[nodiscard]] std::vector<double> find(const statistics::ordered_keys& keys, summary& s) const {
    std::vector<std::uint64_t> ranks{0, num_keys_ - 1};
    for (const quantile_position& p : positions_) {
      ranks.push_back(p.lower_rank);
      ranks.push_back(p.upper_rank);
    }
    const std::vector<std::uint64_t> found = keys.bits_at(ranks);
    s.minimum_bits = found[0];
    s.maximum_bits = found[1];
    const auto value = [&](std::size_t i) { return statistics::key_value(keys.type(), found[i]); };
    std::vector<double> values;
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      values.push_back(statistics::quantile_value(methods_[i], positions_[i], value(2 * i + 2), value(2 * i + 3)));
    }
    return values;
  }

 private:
  std::uint64_t num_keys_;
  std::vector<quantile_method> methods_;
  std::vector<quantile_position> positions_;
};

/// Fills in the quantiles; returns the fences.
interval fill_quantiles(const statistics::ordered_keys& keys, const summary_options& options, summary& s) {
  // Spafford's rule knows the quartiles alone.
  const quantile_method sevens = options.method == quantile_method::tukey ? quantile_method::linear : options.method;
  wanted_quantiles wanted(s.count);
  for (const double q : {0.0, 0.25, 0.5, 0.75, 1.0}) wanted.add(q, options.method);
  for (const double q : bowley_seven_q) wanted.add(q, sevens);
  for (const double q : normal_seven_q) wanted.add(q, sevens);
  if (const auto& percentiles = options.whiskers.percentiles) {
    wanted.add(statistics::q_of_percentile(percentiles->low), quantile_method::linear);
    wanted.add(statistics::q_of_percentile(percentiles->high), quantile_method::linear);
  }
  const std::vector<double> found = wanted.find(keys, s);
  auto next = found.begin();
  for (double* const each : {&s.minimum, &s.lower_quartile, &s.median, &s.upper_quartile, &s.maximum}) *each = *next++;
  for (double& each : s.bowley_seven) each = *next++;
  for (double& each : s.normal_seven) each = *next++;
  const interval quartiles{s.lower_quartile, s.upper_quartile};
  s.iqr = statistics::interquartile_range(quartiles);
  if (options.whiskers.percentiles) return {*next, *(next + 1)};
  return statistics::iqr_fences(quartiles, options.whiskers.iqr_factor);
}

/// The keys that the whiskers end at, and how many lie beyond.
void fill_whiskers(const statistics::ordered_keys& keys, summary& s) {
  const std::vector<std::uint64_t> before = keys.count_before({keys.at_least(s.fence_low), keys.above(s.fence_high)});
  const std::uint64_t num_low = before[0];
  const std::uint64_t num_upto_high = before[1];
  std::vector<std::uint64_t> ranks;
  if (num_low < s.count) ranks.push_back(num_low);
  if (num_upto_high > 0) ranks.push_back(num_upto_high - 1);
  const std::vector<double> ends = keys.at(ranks);
  std::optional<double> least;
  std::optional<double> greatest;
  if (num_low < s.count) least = ends.front();
  if (num_upto_high > 0) greatest = ends.back();
  s.whisker_low = statistics::lower_whisker(s.lower_quartile, least);
  s.whisker_high = statistics::upper_whisker(s.upper_quartile, greatest);
}

/// Counts those beyond the whiskers, and takes the outermost `most` of them.
void fill_outliers(const statistics::ordered_keys& keys, std::uint64_t most, summary& s) {
  const statistics::key_bound low_end = keys.at_least(s.whisker_low);
  const statistics::key_bound high_begin = keys.above(s.whisker_high);
  const std::vector<std::uint64_t> before = keys.count_before({low_end, high_begin});
  s.num_outliers_below = before[0];
  s.num_outliers_above = s.count - before[1];
  // Where there are too many, each side may have half, and what the other leaves.
  const std::uint64_t half = most / 2;
  const std::uint64_t num_above =
      std::min(s.num_outliers_above, std::max(half, most - std::min(most, s.num_outliers_below)));
  const std::uint64_t num_below = std::min(s.num_outliers_below, most - num_above);
  const auto take = [&](const std::vector<std::byte>& taken) {
    for (std::uint64_t i = 0; i < taken.size() / keys.key_bytes(); ++i) {
      s.outliers.push_back(
          statistics::key_value(keys.type(), statistics::bits_of_key(taken.data(), i, keys.key_bytes())));
    }
  };
  const bool takes_all = num_below == s.num_outliers_below && num_above == s.num_outliers_above;
  const std::uint64_t above = s.count - num_above;
  take(takes_all ? keys.slice_between(0, num_below, {}, low_end) : keys.slice(0, num_below));
  take(takes_all ? keys.slice_between(above, s.count, high_begin, keys.first_nan()) : keys.slice(above, s.count));
}

}  // namespace

summary statistics::summary_of(const ordered_keys& keys, const summary_options& options) {
  const std::uint64_t num_keys = keys.num_keys();
  if (num_keys == 0) throw bad_input("a summary of no keys");
  const key_bound first_nan = keys.first_nan();
  const std::uint64_t num_numbers = first_nan.is_end ? num_keys : keys.count_before({first_nan})[0];
  const std::uint64_t num_nans = num_keys - num_numbers;
  if (num_nans != 0 && options.nans == nan_policy::error) {
    throw bad_input("summary: " + std::to_string(num_nans) + " of " + std::to_string(num_keys) + " keys are NaN");
  }
  summary s = summary_of_nothing(num_numbers, num_nans);
  if (num_numbers == 0 || (num_nans != 0 && options.nans == nan_policy::propagate)) return s;
  if (options.with_mean) s.mean = keys.mean();
  const interval fences = fill_quantiles(keys, options, s);
  s.fence_low = fences.low;
  s.fence_high = fences.high;
  fill_whiskers(keys, s);
  fill_outliers(keys, options.most_outliers, s);
  return s;
}

summary detail::summarize(const_key_span keys, const summary_options& options) {
  statistics::require_valid(options.whiskers);
  sorting::check_keys(keys);
  const auto opened = statistics::is_best_sorted(keys, options.order, options.devices)
                          ? statistics::open_sorted_copy(keys, options.threads)
                          : statistics::open_keys(keys, {options.order, options.devices, options.threads});
  return base::with_threads(options.threads, [&] { return statistics::summary_of(*opened, options); });
}

}  // namespace spansort
