// SPDX-License-Identifier: Apache-2.0
// The table of `spansort summary`.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/summary_text.hpp"

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

/// Quantiles in ascending order, each once.
std::vector<table_row> quantile_rows(const key_summary& s) {
  const spansort::summary& box = s.box;
  const auto row = [](const char* label, double value) { return table_row{label, value_text(value)}; };
  return {row("  0 %  minimum", box.minimum), row("  2 %", box.normal_seven[0]),
          row("  9 %", box.normal_seven[1]),  row(" 10 %", s.deciles[0]),
          row(" 20 %", s.deciles[1]),         row(" 25 %  lower quartile", box.lower_quartile),
          row(" 30 %", s.deciles[2]),         row(" 40 %", s.deciles[3]),
          row(" 50 %  median", box.median),   row(" 60 %", s.deciles[5]),
          row(" 70 %", s.deciles[6]),         row(" 75 %  upper quartile", box.upper_quartile),
          row(" 80 %", s.deciles[7]),         row(" 90 %", s.deciles[8]),
          row(" 91 %", box.normal_seven[5]),  row(" 98 %", box.normal_seven[6]),
          row("100 %  maximum", box.maximum)};
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

std::string summary_table(const key_summary& s) {
  std::vector<table_row> rows{{"count", fmt::format("{}", s.box.count)},
                              {"NaN", fmt::format("{}", s.box.nan_count)},
                              {"mean", value_text(s.box.mean)},
                              {}};
  const auto append = [&](std::vector<table_row> more) { rows.insert(rows.end(), more.begin(), more.end()); };
  append(quantile_rows(s));
  rows.push_back({});
  append(outlier_rows(s.box));
  return fmt::format("{}: keys of type {}, quantiles by method {}\n\n{}", s.name, spansort::name(s.type),
                     spansort::name(s.options.method), aligned(rows));
}

}  // namespace cli
