// SPDX-License-Identifier: Apache-2.0
#include "cli/summary_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>

#include "spansort/errors.hpp"

namespace cli {
namespace {

constexpr std::uint64_t most_bins = 100;
constexpr double fewest_integers_per_bin = 4;
// Smaller values than this part of the largest are as good as 0 to a reader.
constexpr double negligible_share = 1e-12;

bool is_integer(spansort::key_type type) {
  return type != spansort::key_type::f16 && type != spansort::key_type::bf16 && type != spansort::key_type::f32 &&
         type != spansort::key_type::f64;
}

/// All values that are known of the keys and finite, ascending.
std::vector<double> finite_values(const key_summary& summary) {
  const spansort::summary& box = summary.box;
  std::vector<double> values{box.whisker_low, box.whisker_high};
  const auto append = [&](const auto& more) { values.insert(values.end(), more.begin(), more.end()); };
  append(box.five_numbers());
  append(box.bowley_seven);
  append(box.normal_seven);
  append(summary.deciles);
  if (!std::isfinite(box.minimum) || !std::isfinite(box.maximum)) append(box.outliers);
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  std::ranges::sort(values);
  return values;
}

/// Returns where values become small: 1 for counts and sizes, else the quartile that is next to 0.
double smallest_magnitude(const key_summary& summary, double low, double high) {
  const bool are_integers = is_integer(summary.type);
  if (are_integers && low >= 0) return 1;
  const double lower = std::abs(summary.box.lower_quartile);
  const double upper = std::abs(summary.box.upper_quartile);
  const double smaller = std::min(lower, upper) > 0 ? std::min(lower, upper) : std::max(lower, upper);
  if (are_integers) return std::max(smaller, 1.0);
  constexpr double least = 1e-300;
  const double largest = std::max(std::abs(high), std::abs(low));
  return std::max({smaller, largest * negligible_share, least});
}

std::uint64_t count_bins(const axis& a, const spansort::summary& box) {
  const auto count = static_cast<double>(box.count);
  const double sturges = std::ceil(std::log2(count)) + 1;
  const double width = 2 * (a.place_of(box.upper_quartile) - a.place_of(box.lower_quartile)) / std::cbrt(count);
  const double bins = std::max(sturges, width > 0 ? std::ceil(1 / width) : 0);
  return static_cast<std::uint64_t>(std::clamp(bins, 1.0, static_cast<double>(most_bins)));
}

/// Edges halfway between integers, the same number of them in every bin.
std::vector<double> whole_edges(double low, double high, std::uint64_t num_bins) {
  const double width = std::ceil((high - low + 1) / static_cast<double>(num_bins));
  std::vector<double> edges{low - 0.5};
  while (edges.back() < high) edges.push_back(edges.back() + width);
  return edges;
}

std::vector<double> make_edges(const axis& a, std::uint64_t num_bins) {
  if (a.scale == axis_scale::linear) return spansort::equal_width_edges(a.low, a.high, num_bins);
  std::vector<double> edges;
  for (std::uint64_t i = 0; i <= num_bins; ++i) {
    edges.push_back(a.value_at(static_cast<double>(i) / static_cast<double>(num_bins)));
  }
  edges.front() = a.low;
  edges.back() = a.high;
  return edges;
}

unsigned cell_of(double place, unsigned num_cells) {
  return static_cast<unsigned>(std::clamp(place * num_cells, 0.0, num_cells - 1.0));
}

double middle_of(unsigned cell, unsigned num_cells) { return (cell + 0.5) / num_cells; }

/// Bytes of the UTF-8 character that the text begins with; 0 for a control character and what is none. RFC 3629,
/// section 4.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  // The second byte's range shuts out overlong forms, surrogates, what is beyond Unicode, and Latin 1's controls.
  const unsigned least = lead == 0xe0 || lead == 0xc2 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned greatest = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > greatest) return 0;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
  }
  return length;
}

/// Cells of the axis from `low` to `high`: where the first is, and the bounds of all.
struct cell_range {
  unsigned first = 0;
  std::vector<double> edges;  ///< none where there are no cells
};

cell_range cells_between(const axis& a, double low, double high, unsigned num_cells) {
  if (!(low <= high)) return {};
  cell_range cells{cell_of(a.place_of(low), num_cells), {low}};
  const unsigned last = cell_of(a.place_of(high), num_cells);
  for (unsigned cell = cells.first; cell < last; ++cell) {
    cells.edges.push_back(std::clamp(a.value_at((cell + 1.0) / num_cells), cells.edges.back(), high));
  }
  cells.edges.push_back(high);
  return cells;
}

/// Returns the cells beyond either whisker.
std::array<cell_range, 2> cells_of_outliers(const spansort::summary& box, const axis& a, unsigned num_cells) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {cells_between(a, a.low, std::nextafter(box.whisker_low, -infinity), num_cells),
          cells_between(a, std::nextafter(box.whisker_high, infinity), a.high, num_cells)};
}

bool are_all_listed(const spansort::summary& box) {
  return box.outliers.size() == box.num_outliers_below + box.num_outliers_above;
}

/// Tells the keys of all that they will be counted by, so that they are read once for it.
void prepare_counts(const key_source& keys, const spansort::summary& box, const picture_data& data,
                    std::span<const unsigned> mark_cells) {
  if (!keys.prepare_edges) return;
  std::vector<double> edges = data.edges;
  for (const unsigned num_cells : mark_cells) {
    if (are_all_listed(box)) break;
    for (const cell_range& cells : cells_of_outliers(box, data.value_axis, num_cells)) {
      edges.insert(edges.end(), cells.edges.begin(), cells.edges.end());
    }
  }
  keys.prepare_edges(edges);
}

/// Deciles are NaN, and what else is not a count.
spansort::summary summary_of_nothing() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  spansort::summary s;
  for (double* const each : {&s.minimum, &s.lower_quartile, &s.median, &s.upper_quartile, &s.maximum, &s.mean, &s.iqr,
                             &s.fence_low, &s.fence_high, &s.whisker_low, &s.whisker_high}) {
    *each = nan;
  }
  s.bowley_seven.fill(nan);
  s.normal_seven.fill(nan);
  return s;
}

/// Returns the q of the quantiles that the box has not: deciles, high percentiles, those that were asked for.
std::vector<double> further_q(const key_summary& s) {
  std::vector<double> q(decile_q.begin(), decile_q.end());
  q.insert(q.end(), high_percentile_q.begin(), high_percentile_q.end());
  q.insert(q.end(), s.asked_q.begin(), s.asked_q.end());
  return q;
}

void fill_quantiles(const key_source& keys, key_summary& s) {
  // Spafford's rule knows the quartiles alone.
  const bool is_tukey = s.options.method == spansort::quantile_method::tukey;
  const std::vector<double> found =
      keys.quantiles(further_q(s), {.method = is_tukey ? spansort::quantile_method::linear : s.options.method,
                                    .nans = s.options.nans,
                                    .devices = s.options.devices,
                                    .threads = s.options.threads});
  auto next = found.begin();
  for (double& each : s.deciles) each = *next++;
  for (double& each : s.high_percentiles) each = *next++;
  for (double& each : s.asked_quantiles) each = *next++;
}

}  // namespace

key_summary describe_keys(const std::string& path, const key_source& keys, const spansort::summary_options& options,
                          const std::vector<double>& asked_q) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  key_summary s;
  s.name = path == "-" ? "standard input" : printable(std::filesystem::path(path).filename().string());
  s.type = keys.type;
  s.options = options;
  s.deciles.fill(nan);
  s.high_percentiles.fill(nan);
  s.asked_q = asked_q;
  s.asked_quantiles.assign(asked_q.size(), nan);
  s.box = summary_of_nothing();
  if (keys.num_keys == 0) return s;
  if (keys.expect_quantiles) keys.expect_quantiles(further_q(s));
  try {
    s.box = keys.summarize(options);
  } catch (const spansort::bad_input& failure) {
    throw spansort::bad_input(fmt::format("{}: {}", path, failure.what()));
  }
  fill_quantiles(keys, s);
  return s;
}

median_interval notch_of(const spansort::summary& box) {
  const double half = 1.57 * box.iqr / std::sqrt(static_cast<double>(box.count));
  return {box.median - half, box.median + half};
}

std::optional<picture_data> make_picture_data(const key_source& keys, const key_summary& summary,
                                              std::optional<axis_scale> scale, std::span<const unsigned> mark_cells) {
  const spansort::summary& box = summary.box;
  for (const double v : {box.whisker_low, box.lower_quartile, box.median, box.upper_quartile, box.whisker_high}) {
    if (!std::isfinite(v)) return std::nullopt;
  }
  const std::vector<double> values = finite_values(summary);
  picture_data data;
  data.value_axis = make_axis({.low = values.front(),
                               .high = values.back(),
                               .lower_quartile = box.lower_quartile,
                               .upper_quartile = box.upper_quartile,
                               .smallest_magnitude = smallest_magnitude(summary, values.front(), values.back()),
                               .are_integers = is_integer(summary.type)},
                              scale);
  const std::uint64_t num_bins = count_bins(data.value_axis, box);
  const double range = values.back() - values.front();
  // Beyond, doubles do not have the halves between integers.
  const bool has_halves = std::max(-values.front(), values.back()) < 1e15;
  if (is_integer(summary.type) && has_halves && data.value_axis.scale == axis_scale::linear &&
      range < fewest_integers_per_bin * static_cast<double>(num_bins)) {
    data.edges = whole_edges(values.front(), values.back(), num_bins);
    data.value_axis.low = data.edges.front();
    data.value_axis.high = data.edges.back();
  } else {
    data.edges = make_edges(data.value_axis, num_bins);
  }
  prepare_counts(keys, box, data, mark_cells);
  data.counts = keys.histogram(
      data.edges,
      {.order = summary.options.order, .devices = summary.options.devices, .threads = summary.options.threads});
  data.num_not_shown = box.count;
  for (const std::uint64_t count : data.counts) data.num_not_shown -= count;
  return data;
}

std::vector<outlier_mark> find_outlier_marks(const key_source& keys, const key_summary& summary, const axis& value_axis,
                                             unsigned num_cells) {
  const spansort::summary& box = summary.box;
  std::vector<outlier_mark> marks;
  if (!are_all_listed(box)) {
    for (const cell_range& cells : cells_of_outliers(box, value_axis, num_cells)) {
      if (cells.edges.empty()) continue;
      const std::vector<std::uint64_t> counts =
          keys.histogram(cells.edges, {.devices = summary.options.devices, .threads = summary.options.threads});
      for (unsigned i = 0; i < counts.size(); ++i) {
        if (counts[i] != 0) marks.push_back({middle_of(cells.first + i, num_cells), counts[i]});
      }
    }
    return marks;
  }
  for (const double v : box.outliers) {
    if (v < value_axis.low || v > value_axis.high) continue;
    const double place = middle_of(cell_of(value_axis.place_of(v), num_cells), num_cells);
    if (marks.empty() || marks.back().place != place) marks.push_back({place, 0});
    ++marks.back().count;
  }
  return marks;
}

std::string printable(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_bytes(std::string_view(text).substr(i));
    result += length != 0 ? text.substr(i, length) : "?";
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

}  // namespace cli
