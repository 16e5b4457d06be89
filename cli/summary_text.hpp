// SPDX-License-Identifier: Apache-2.0
// The summary in words and characters: a table, and a box plot that a terminal can show.
#pragma once

#include <optional>
#include <string>

#include "cli/summary_view.hpp"

namespace cli {

/// Returns the least key as text, 64-bit integers in full, which doubles need not hold.
[[nodiscard]] std::string minimum_text(const key_summary& summary);
[[nodiscard]] std::string maximum_text(const key_summary& summary);

/// Count, quantiles, mean, fences, whiskers, outliers; one a line, numbers aligned.
[[nodiscard]] std::string summary_table(const key_summary& summary);

struct text_style {
  unsigned num_columns = 80;
  bool is_unicode = false;  ///< box-drawing characters; ASCII otherwise
};

/// Unicode where the locale's characters are UTF-8; as wide as COLUMNS says, or the terminal on standard output, or 80;
/// 40 to 200.
[[nodiscard]] text_style detect_text_style();

/// Cells of the axis in a box plot of that width.
[[nodiscard]] unsigned num_plot_cells(const text_style& style);

/// Six or seven lines: box and whiskers, outliers, the axis with its ticks, the meaning of the signs.
[[nodiscard]] std::string text_box_plot(const key_summary& summary, const axis& value_axis,
                                        const std::vector<outlier_mark>& outliers, const text_style& style);

}  // namespace cli
