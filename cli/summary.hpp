// SPDX-License-Identifier: Apache-2.0
// The steps of `spansort summary`, from flags to files: what one machine does with all keys, and a cluster with the
// keys of all node ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/draw_summary.hpp"
#include "cli/key_source.hpp"
#include "cli/summary_text.hpp"
#include "cli/summary_view.hpp"
#include "spansort/files.hpp"
#include "spansort/statistics.hpp"

namespace cli {

/// Flags as typed.
struct summary_arguments {
  std::string input;
  std::string type;
  bool is_raw = false;
  std::string method = "linear";
  std::string nans = "propagate";
  std::string whiskers = "1.5";
  std::string quantiles;
  std::string json;
  std::string plot;
  std::string scale = "auto";
  std::string caption;
  std::string outliers;
  std::string devices = "auto";
  std::string threads;
  std::string memory;
  std::string progress = "auto";
};

/// The format of --plot's picture, by the name of its file.
enum class picture_format : std::uint8_t { svg, png };

/// What is to be done, checked.
struct summary_request {
  std::optional<spansort::key_type> type;
  spansort::summary_options options;
  std::vector<double> quantiles;  ///< asked for by -q
  std::optional<axis_scale> scale;
  picture_format format = picture_format::svg;
};

/// Adds IN and all flags.
void add_summary_flags(CLI::App& command, summary_arguments& arguments);

/// Throws invalid_argument.
[[nodiscard]] summary_request check_summary_flags(const summary_arguments& arguments);

/// All that the keys are asked for.
struct summary_findings {
  key_summary summary;
  std::optional<picture_data> picture;
  std::vector<outlier_mark> picture_marks;  ///< where there is a picture to draw
  std::vector<outlier_mark> text_marks;     ///< where there is a text to print
};

/// Asks the keys, in an order that depends on the answers and on the number of the style's columns alone. Throws
/// bad_input where there are none, or nothing to draw.
[[nodiscard]] summary_findings find_summary(const summary_arguments& arguments, const summary_request& request,
                                            const key_source& keys, const text_style& style);

/// The files' contents, and what is printed.
struct summary_outputs {
  std::string picture;
  std::string json;
  std::string text;
};

[[nodiscard]] summary_outputs make_outputs(const summary_arguments& arguments, const summary_request& request,
                                           const summary_findings& found, const text_style& style);

void write_outputs(const summary_arguments& arguments, const summary_outputs& outputs,
                   const spansort::temporary_file_callback& on_temporary);

}  // namespace cli
