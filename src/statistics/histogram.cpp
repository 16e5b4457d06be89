// SPDX-License-Identifier: Apache-2.0
// histogram(): keys between edges, counted as keys before bounds, 63 bounds a read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "base/available_memory.hpp"
#include "sort/arguments.hpp"
#include "spansort/errors.hpp"
#include "spansort/statistics.hpp"
#include "statistics/open_keys.hpp"
#include "statistics/sorted_copy.hpp"
#include "statistics/statistics_of.hpp"

namespace spansort {
namespace {

/// Splitters that count_before() has room for.
constexpr std::size_t bounds_per_read = 63;

}  // namespace

void statistics::require_edges(std::span<const double> edges) {
  if (edges.size() < 2)
    throw invalid_argument(fmt::format("histogram: 2 edges or more expected, found {}", edges.size()));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    // Written so that NaN is refused too.
    if (i == 0 ? edges[i] == edges[i] : edges[i - 1] <= edges[i]) continue;
    throw invalid_argument(
        fmt::format("histogram: edges must ascend, found {} at {} after {}", edges[i], i, i == 0 ? 0 : edges[i - 1]));
  }
}

std::vector<double> equal_width_edges(double low, double high, std::uint64_t num_bins) {
  if (num_bins == 0 || !std::isfinite(low) || !std::isfinite(high) || low > high) {
    throw invalid_argument(fmt::format(
        "equal_width_edges: 1 bin or more between finite ends expected, found {} from {} to {}", num_bins, low, high));
  }
  if (num_bins >= std::vector<double>().max_size()) {
    throw invalid_argument(fmt::format("equal_width_edges: {} bins cannot lie in memory", num_bins));
  }
  // numpy.linspace's steps. Where the distance overflows, half of it twice.
  const auto bins = static_cast<double>(num_bins);
  const bool overflows = !std::isfinite(high - low);
  const double distance = overflows ? high / 2 - low / 2 : high - low;
  const double step = distance / bins;
  std::vector<double> edges;
  try {
    edges.resize(num_bins + 1);
  } catch (const std::bad_alloc&) {
    throw out_of_memory(fmt::format("equal_width_edges: no memory for {} bins", num_bins),
                        (num_bins + 1) * sizeof(double), base::available_memory_bytes());
  }
  for (std::uint64_t i = 0; i < num_bins; ++i) {
    const auto index = static_cast<double>(i);
    const double offset = step == 0 ? index / bins * distance : index * step;
    edges[i] = overflows ? low + offset + offset : low + offset;
  }
  edges.back() = high;
  return edges;
}

std::vector<std::uint64_t> statistics::histogram_of(const ordered_keys& keys, std::span<const double> edges) {
  std::vector<std::uint64_t> counts(edges.size() - 1);
  std::uint64_t last = 0;
  for (std::size_t begin = 0; begin < edges.size(); begin += bounds_per_read) {
    const std::size_t end = std::min(begin + bounds_per_read, edges.size());
    std::vector<key_bound> bounds;
    for (std::size_t i = begin; i < end; ++i) {
      bounds.push_back(i + 1 == edges.size() ? keys.above(edges[i]) : keys.at_least(edges[i]));
    }
    const std::vector<std::uint64_t> before = keys.count_before(bounds);
    for (std::size_t i = begin; i < end; ++i) {
      if (i != 0) counts[i - 1] = before[i - begin] - last;
      last = before[i - begin];
    }
  }
  return counts;
}

std::vector<std::uint64_t> detail::histogram(const_key_span keys, std::span<const double> edges,
                                             const count_options& options) {
  statistics::require_edges(edges);
  sorting::check_keys(keys);
  // Few edges are counted in one read: 2^18 f64 take 1.8 ms for 10 bins so, and 2.1 sorted; 3.6 and 2.2 for 100.
  const bool is_worth_it = edges.size() > 16 || keys.num_keys <= std::uint64_t{1} << 14;
  const bool are_sorted = is_worth_it && statistics::is_best_sorted(keys, options.order, options.devices);
  const auto opened = are_sorted ? statistics::open_sorted_copy(keys, options.threads)
                                 : statistics::open_keys(keys, {options.order, options.devices, options.threads});
  return statistics::histogram_of(*opened, edges);
}

}  // namespace spansort
