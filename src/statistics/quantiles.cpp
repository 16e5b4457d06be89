// SPDX-License-Identifier: Apache-2.0
// quantiles(): the room statistics/ between the arguments and the answer.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/threads.hpp"
#include "sort/arguments.hpp"
#include "spansort/errors.hpp"
#include "spansort/statistics.hpp"
#include "statistics/key_ends.hpp"
#include "statistics/open_keys.hpp"
#include "statistics/quantile_position.hpp"
#include "statistics/sorted_copy.hpp"
#include "statistics/statistics_of.hpp"

namespace spansort {
namespace {

using statistics::quantile_position;

std::vector<quantile_position> positions_of(std::uint64_t num_keys, std::span<const double> q, quantile_method method) {
  std::vector<quantile_position> positions;
  for (const double each : q) positions.push_back(statistics::position_of(num_keys, each, method));
  return positions;
}

/// Two ranks a position, then the last of all.
std::vector<std::uint64_t> ranks_of(const std::vector<quantile_position>& positions, std::uint64_t num_keys) {
  std::vector<std::uint64_t> ranks;
  for (const quantile_position& p : positions) {
    ranks.push_back(p.lower_rank);
    ranks.push_back(p.upper_rank);
  }
  ranks.push_back(num_keys - 1);
  return ranks;
}

std::vector<double> values_at(const std::vector<quantile_position>& positions, const std::vector<double>& keys,
                              quantile_method method) {
  std::vector<double> values;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    values.push_back(statistics::quantile_value(method, positions[i], keys[2 * i], keys[2 * i + 1]));
  }
  return values;
}

/// Returns whether NaN is the answer to every q. Throws bad_input where NaN keys are an error.
bool answers_nan(std::uint64_t num_keys, std::uint64_t num_numbers, nan_policy nans) {
  const std::uint64_t num_nans = num_keys - num_numbers;
  if (num_nans != 0 && nans == nan_policy::error) {
    throw bad_input("quantiles: " + std::to_string(num_nans) + " of " + std::to_string(num_keys) + " keys are NaN");
  }
  return num_numbers == 0 || (num_nans != 0 && nans == nan_policy::propagate);
}

std::vector<double> all_nan(std::size_t count) {
  return std::vector<double>(count, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

std::vector<double> statistics::quantiles_of(const ordered_keys& keys, std::span<const double> q,
                                             const quantile_options& options) {
  const std::uint64_t num_keys = keys.num_keys();
  std::vector<quantile_position> positions = positions_of(num_keys, q, options.method);
  if (num_keys == 0) throw bad_input("quantiles of no keys");
  std::optional<std::uint64_t> num_numbers = keys.num_numbers_if_counted();
  if (!num_numbers) {
    std::vector<double> found = keys.at(ranks_of(positions, num_keys));
    if (!std::isnan(found.back())) return values_at(positions, found, options.method);
    // NaN keys come last: there are some if the last is one.
    num_numbers = options.nans == nan_policy::propagate ? 0 : keys.count_before({keys.first_nan()})[0];
  }
  if (answers_nan(num_keys, *num_numbers, options.nans)) return all_nan(q.size());
  positions = positions_of(*num_numbers, q, options.method);
  return values_at(positions, keys.at(ranks_of(positions, *num_numbers)), options.method);
}

namespace {

/// Returns the least and the greatest key for q of 0 and 1, which every method has at the first rank and the last.
std::vector<double> quantiles_of_ends(const const_key_span& keys, std::span<const double> q,
                                      const quantile_options& options) {
  sorting::check_keys(keys);
  const statistics::key_ends ends = base::with_threads(options.threads, [&] { return statistics::find_ends(keys); });
  if (answers_nan(keys.num_keys, ends.num_numbers, options.nans)) return all_nan(q.size());
  std::vector<double> values;
  values.reserve(q.size());
  for (const double each : q) {
    const double end = each == 0 ? ends.least : ends.greatest;
    values.push_back(statistics::quantile_value(
        options.method, statistics::position_of(ends.num_numbers, each, options.method), end, end));
  }
  return values;
}

}  // namespace

std::vector<double> detail::quantiles(const_key_span keys, std::span<const double> q, const quantile_options& options) {
  // Before devices are opened and keys copied.
  static_cast<void>(positions_of(std::max<std::uint64_t>(keys.num_keys, 1), q, options.method));
  // Many narrow keys take less time to sort, and of still more keys a selection reads faster, in vectors.
  const std::uint64_t most_keys = size_bytes(keys.type) >= 4 ? std::uint64_t{1} << 20 : 1024;
  const bool is_worth_it = keys.num_keys <= most_keys;
  const bool wants_ends =
      is_worth_it && !q.empty() && std::ranges::all_of(q, [](double each) { return each == 0 || each == 1; });
  if (keys.num_keys != 0 && wants_ends && options.order == key_order::unknown && statistics::is_cpu(options.devices)) {
    return quantiles_of_ends(keys, q, options);
  }
  if (keys.num_keys != 0 && statistics::is_best_sorted(keys, options.order, options.devices)) {
    return quantiles_rows(keys, keys.num_keys, q, options);
  }
  const auto opened = statistics::open_keys(keys, {options.order, options.devices, options.threads});
  return statistics::quantiles_of(*opened, q, options);
}

}  // namespace spansort
