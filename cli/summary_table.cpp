// SPDX-License-Identifier: Apache-2.0
// The table of `spansort summary`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/summary_text.hpp"
#include "spansort/check.hpp"

namespace cli {
namespace {

struct table_row {
  std::string label;
  std::string value;
};

/// Labels to the left, values to the right.
std::string aligned(const std::vector<table_row>& rows) {
  std::size_t label_width = 0;
  std::size_t value_width = 0;
  for (const table_row& r : rows) {
    label_width = std::max(label_width, r.label.size());
    value_width = std::max(value_width, r.value.size());
  }
  std::string text;
  for (const table_row& r : rows) {
    if (!r.label.empty()) text += fmt::format("  {:<{}}  {:>{}}", r.label, label_width, r.value, value_width);
    text += '\n';
  }
  return text;
}

struct table_quantile {
  double q = 0;
  std::string value;
  std::string name = {};
};

/// Doubles hold every integer up to here.
constexpr double most_exact = 9007199254740992.0;  // 2^53

bool is_wide_integer(const key_summary& s) {
  return s.type == spansort::key_type::i64 || s.type == spansort::key_type::u64;
}

/// Returns a key, of which `value` is the nearest double, as text.
std::string key_text(const key_summary& s, std::uint64_t bits, double value) {
  if (!is_wide_integer(s) || std::isnan(value)) return value_text(value);
  return spansort::key_to_string({s.type, &bits, 1}, 0);
}

bool has_rounded_values(const key_summary& s) {
  return is_wide_integer(s) && (s.box.minimum < -most_exact || s.box.maximum > most_exact);
}

/// Quantiles in ascending order, each once.
std::vector<table_quantile> quantiles_of(const key_summary& s) {
  const spansort::summary& box = s.box;
  std::vector<table_quantile> all{{0, minimum_text(s), "minimum"},
                                  {0.25, value_text(box.lower_quartile), "lower quartile"},
                                  {0.5, value_text(box.median), "median"},
                                  {0.75, value_text(box.upper_quartile), "upper quartile"},
                                  {1, maximum_text(s), "maximum"}};
  const auto append = [&](const auto& q, const auto& values) {
    for (std::size_t i = 0; i < q.size(); ++i) all.push_back({q[i], value_text(values[i])});
  };
  append(spansort::normal_seven_q, box.normal_seven);
  append(decile_q, s.deciles);
  append(high_percentile_q, s.high_percentiles);
  append(s.asked_q, s.asked_quantiles);
  // Named ones come first of those with the same q.
  std::ranges::stable_sort(all, {}, &table_quantile::q);
  const auto repeated = std::ranges::unique(all, {}, &table_quantile::q);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

std::vector<table_row> quantile_rows(const key_summary& s) {
  const std::vector<table_quantile> quantiles = quantiles_of(s);
  std::size_t width = 0;
  for (const table_quantile& each : quantiles) width = std::max(width, percent_text(each.q).size());
  std::vector<table_row> rows;
  for (const table_quantile& each : quantiles) {
    const std::string percent = fmt::format("{:>{}} %", percent_text(each.q), width);
    rows.push_back({each.name.empty() ? percent : percent + "  " + each.name, each.value});
  }
  return rows;
}

std::vector<table_row> outlier_rows(const spansort::summary& box) {
  const std::uint64_t num_outliers = box.num_outliers_below + box.num_outliers_above;
  return {{"IQR", value_text(box.iqr)},
          {"fence, low", value_text(box.fence_low)},
          {"fence, high", value_text(box.fence_high)},
          {"whisker, low", value_text(box.whisker_low)},
          {"whisker, high", value_text(box.whisker_high)},
          {"outliers", fmt::format("{}", num_outliers)},
          {"  below", fmt::format("{}", box.num_outliers_below)},
          {"  above", fmt::format("{}", box.num_outliers_above)}};
}

}  // namespace

std::string minimum_text(const key_summary& s) { return key_text(s, s.box.minimum_bits, s.box.minimum); }
std::string maximum_text(const key_summary& s) { return key_text(s, s.box.maximum_bits, s.box.maximum); }

std::string summary_table(const key_summary& s) {
  std::vector<table_row> rows{{"count", fmt::format("{}", s.box.count)},
                              {"NaN", fmt::format("{}", s.box.nan_count)},
                              {"mean", value_text(s.box.mean)},
                              {}};
  const auto append = [&](std::vector<table_row> more) { rows.insert(rows.end(), more.begin(), more.end()); };
  append(quantile_rows(s));
  rows.push_back({});
  append(outlier_rows(s.box));
  const char* const remark = has_rounded_values(s)
                                 ? "  Minimum and maximum are exact; other values beyond 2^53 are rounded to 53 bits.\n"
                                 : "";
  return fmt::format("{}: keys of type {}, quantiles by method {}\n\n{}{}", s.name, spansort::name(s.type),
                     spansort::name(s.options.method), aligned(rows), remark);
}

}  // namespace cli
