// SPDX-License-Identifier: Apache-2.0
// spansort summary: order statistics of a file's keys as a table, a box plot, JSON and a picture.
#include "cli/summary.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <system_error>

#include "cli/asked_quantiles.hpp"
#include "cli/common.hpp"
#include "cli/interrupts.hpp"
#include "cli/png.hpp"
#include "cli/program.hpp"
#include "cli/summary_json.hpp"
#include "cli/svg.hpp"
#include "spansort/errors.hpp"

namespace cli {
namespace {

/// Calls the parser; what it throws then names the flag.
template <class Parser>
auto parse_named(const char* flag, const std::string& text, Parser parse) {
  try {
    return parse(text);
  } catch (const spansort::invalid_argument& failure) {
    throw spansort::invalid_argument(fmt::format("{}: {}", flag, failure.what()));
  }
}

[[noreturn]] void throw_bad_whiskers(const std::string& text) {
  throw spansort::invalid_argument(fmt::format(
      "--whis: '{}' is not X, 0 or more interquartile ranges, nor LO,HI, two percentiles from 0 to 100", text));
}

double parse_number(const std::string& whole, std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc{} || parsed.ptr != end) throw_bad_whiskers(whole);
  return value;
}

spansort::whisker_rule parse_whiskers(const std::string& text) {
  const std::string_view view = text;
  const std::size_t comma = view.find(',');
  if (comma == std::string_view::npos) {
    const double factor = parse_number(text, view);
    if (!(factor >= 0 && factor <= std::numeric_limits<double>::max())) throw_bad_whiskers(text);
    return {.iqr_factor = factor};
  }
  const spansort::percentile_pair pair{parse_number(text, view.substr(0, comma)),
                                       parse_number(text, view.substr(comma + 1))};
  if (!(pair.low >= 0 && pair.low <= pair.high && pair.high <= 100)) throw_bad_whiskers(text);
  return {.percentiles = pair};
}

std::optional<axis_scale> parse_scale(const std::string& text) {
  if (text == "auto") return std::nullopt;
  for (const axis_scale scale : {axis_scale::linear, axis_scale::log, axis_scale::symlog}) {
    if (text == name(scale)) return scale;
  }
  throw spansort::invalid_argument(fmt::format("--scale: '{}' is unknown; auto, linear, log or symlog expected", text));
}

picture_format parse_picture_name(const std::string& path) {
  if (path.ends_with(".svg")) return picture_format::svg;
  if (path.ends_with(".png")) return picture_format::png;
  throw spansort::invalid_argument(fmt::format("--plot: '{}' does not end in .svg or .png", path));
}

/// Outputs that would replace each other or the input.
void require_distinct_files(const summary_arguments& arguments) {
  struct named_file {
    const char* flag;
    const std::string& path;
  };
  const named_file outputs[] = {
      {"--json", arguments.json}, {"--plot", arguments.plot}, {"--outliers", arguments.outliers}};
  for (const named_file& output : outputs) {
    if (output.path.empty()) continue;
    if (output.path != "-" && is_same_place(output.path, arguments.input)) {
      throw spansort::invalid_argument(
          fmt::format("{}: '{}' is the input, which it would replace", output.flag, output.path));
    }
    for (const named_file& other : outputs) {
      if (&other == &output) break;
      if (other.path.empty() || !is_same_place(other.path, output.path)) continue;
      throw spansort::invalid_argument(fmt::format("{} and {}: '{}' is named twice, each needs a place of its own",
                                                   other.flag, output.flag, output.path));
    }
  }
}

/// Returns why there is no picture.
std::string no_picture_text(const key_summary& s) {
  if (s.box.count == 0) return "all keys are NaN";
  if (s.box.nan_count != 0 && s.options.nans == spansort::nan_policy::propagate) {
    return fmt::format("{} of {} keys are NaN, and so is every statistic; --nan omit leaves them out", s.box.nan_count,
                       s.box.nan_count + s.box.count);
  }
  return "quartiles or whiskers are infinite";
}

bool prints_text(const summary_arguments& arguments) { return arguments.json != "-" && arguments.outliers != "-"; }

/// Says what a reader of table and plot could wonder about.
std::string remarks_of(const picture_data& picture, const spansort::summary& box) {
  std::string text;
  if (std::isnan(box.mean)) text += "  There is no mean of both -inf and +inf.\n";
  if (picture.num_not_shown != 0) {
    text += fmt::format("  {} of the keys lie beyond the axis, infinite ones among them.\n", picture.num_not_shown);
  }
  return text;
}

std::string printed_text(const summary_findings& found, const text_style& style) {
  const std::string table = summary_table(found.summary);
  if (!found.picture) return table + fmt::format("\nNo box plot: {}.\n", no_picture_text(found.summary));
  return table + "\n" + text_box_plot(found.summary, found.picture->value_axis, found.text_marks, style) +
         remarks_of(*found.picture, found.summary.box);
}

/// The share of the bar for reading a file that is then held.
constexpr double share_of_reading = 0.9;

/// A file that is not held is read for the summary, for all histograms, and for outliers that are written.
key_source shown_source(spansort::file_statistics& keys, progress_parts& parts, const summary_arguments& arguments) {
  key_source source(keys);
  if (keys.is_held()) return source;
  const double num_reads = arguments.outliers.empty() ? 2 : 3;
  parts.advance(1 / num_reads);
  source.prepare_edges = [&keys, &parts, num_reads](std::span<const double> edges) {
    parts.advance(2 / num_reads);
    keys.prepare_edges(edges);
  };
  return source;
}

int run_summary(const summary_arguments& arguments) {
  const summary_request request = check_summary_flags(arguments);
  require_raw_input(arguments.input, {.is_insisted = arguments.is_raw});
  for (const std::string& output : {arguments.outliers, arguments.plot, arguments.json}) require_writable(output);
  progress_bar bar(parse_progress(arguments.progress), subject_of(arguments.input));
  progress_parts parts(bar.callback());
  parts.advance(share_of_reading);
  spansort::file_statistics keys(arguments.input, {.type = request.type,
                                                   .memory_limit_bytes = parse_memory_limit(arguments.memory),
                                                   .threads = request.options.threads,
                                                   .on_progress = parts.callback()});
  if (keys.is_held()) parts.show("summarize");
  const text_style style = detect_text_style();
  const summary_findings found = find_summary(arguments, request, shown_source(keys, parts, arguments), style);
  // All is made before anything is written.
  const summary_outputs outputs = make_outputs(arguments, request, found, style);
  const spansort::temporary_file_callback on_temporary = remove_temporary_on_signals();
  parts.advance(1);
  if (!arguments.outliers.empty()) {
    keys.write_outliers(arguments.outliers, found.summary.box, on_temporary);
  }
  bar.remove();
  write_outputs(arguments, outputs, on_temporary);
  return status_ok;
}

void add_statistics_flags(CLI::App& command, summary_arguments& arguments) {
  command
      .add_option("--method", arguments.method,
                  "What a quantile is: linear, hazen, weibull, median_unbiased, ... as NumPy names them, or tukey")
      ->type_name("M")
      ->capture_default_str();
  command
      .add_option("-q,--quantiles", arguments.quantiles,
                  "Quantiles to print besides, and to list in the JSON: -q 0.999 or -q 5%,99.9%; default 0.95,0.99")
      ->type_name("Q,...");
  command.add_option("--nan", arguments.nans, "NaN keys: propagate (all statistics are NaN), omit, error")
      ->type_name("POLICY")
      ->capture_default_str();
  command
      .add_option("--whis", arguments.whiskers,
                  "How far whiskers reach: X interquartile ranges beyond the box, or percentiles LO,HI")
      ->type_name("X | LO,HI")
      ->capture_default_str();
  command.add_option("--devices", arguments.devices, "auto, cpu, host:4 (four host devices) ...")
      ->type_name("LIST")
      ->capture_default_str();
  add_threads_flag(command, arguments.threads);
}

void add_output_flags(CLI::App& command, summary_arguments& arguments) {
  const auto add_file = [&](const char* flag, std::string& name, const char* description) {
    require_name(command.add_option(flag, name, description))->type_name("FILE");
  };
  add_file("--json", arguments.json,
           "Write all as JSON that matplotlib's Axes.bxp takes; - is standard output, in place of the table");
  add_file("--plot", arguments.plot, "Draw box plot and histogram into a file .svg or .png");
  add_file("--outliers", arguments.outliers,
           "Write all outliers, in input order: .npy or raw by its name; - is standard output, raw");
  command.add_option("--scale", arguments.scale, "Axis of plots: auto, linear, log, symlog (linear around 0)")
      ->type_name("SCALE")
      ->capture_default_str();
  command.add_option("--caption", arguments.caption, "What the keys are and in what unit, for the axis of plots")
      ->type_name("TEXT");
}

}  // namespace

summary_request check_summary_flags(const summary_arguments& arguments) {
  summary_request request;
  request.type = parse_type_flag(arguments.type);
  request.options.method = parse_named("--method", arguments.method, spansort::parse_quantile_method);
  request.options.nans = parse_named("--nan", arguments.nans, spansort::parse_nan_policy);
  request.options.whiskers = parse_whiskers(arguments.whiskers);
  request.quantiles = parse_quantiles(arguments.quantiles);
  request.options.most_outliers = most_listed_outliers;
  request.options.devices = arguments.devices;
  request.options.threads = parse_threads(arguments.threads);
  request.scale = parse_scale(arguments.scale);
  if (!arguments.plot.empty()) {
    request.format = parse_picture_name(arguments.plot);
    if (request.format == picture_format::png) require_png();
  }
  require_distinct_files(arguments);
  require_honest_name("--outliers", arguments.outliers, {.is_insisted = arguments.is_raw});
  if (arguments.outliers == "-" && ::isatty(STDOUT_FILENO) != 0) {
    throw spansort::invalid_argument("--outliers: standard output is a terminal, which keys would garble; give a file");
  }
  return request;
}

summary_findings find_summary(const summary_arguments& arguments, const summary_request& request,
                              const key_source& keys, const text_style& style) {
  if (keys.num_keys == 0) {
    throw spansort::bad_input(fmt::format("{}: no keys, so there is nothing to summarize", arguments.input));
  }
  summary_findings found;
  found.summary = describe_keys(arguments.input, keys, request.options, request.quantiles);
  found.summary.caption = printable(arguments.caption);
  std::vector<unsigned> mark_cells;
  if (!arguments.plot.empty()) mark_cells.push_back(num_picture_cells);
  if (prints_text(arguments)) mark_cells.push_back(num_plot_cells(style));
  found.picture = make_picture_data(keys, found.summary, request.scale, mark_cells);
  if (!found.picture) {
    if (arguments.plot.empty()) return found;
    throw spansort::bad_input(
        fmt::format("{}: --plot: nothing to draw: {}", arguments.input, no_picture_text(found.summary)));
  }
  const axis& value_axis = found.picture->value_axis;
  if (!arguments.plot.empty()) {
    found.picture_marks = find_outlier_marks(keys, found.summary, value_axis, num_picture_cells);
  }
  if (prints_text(arguments)) {
    found.text_marks = find_outlier_marks(keys, found.summary, value_axis, num_plot_cells(style));
  }
  return found;
}

summary_outputs make_outputs(const summary_arguments& arguments, const summary_request& request,
                             const summary_findings& found, const text_style& style) {
  summary_outputs outputs;
  if (!arguments.plot.empty()) {
    const drawing picture = draw_summary(found.summary, *found.picture, found.picture_marks);
    outputs.picture = request.format == picture_format::svg ? to_svg(picture) : to_png(picture);
  }
  if (!arguments.json.empty()) outputs.json = summary_json(found.summary, found.picture);
  if (prints_text(arguments)) outputs.text = printed_text(found, style);
  return outputs;
}

void write_outputs(const summary_arguments& arguments, const summary_outputs& outputs,
                   const spansort::temporary_file_callback& on_temporary) {
  if (!arguments.plot.empty()) spansort::write_file(arguments.plot, outputs.picture, on_temporary);
  if (!arguments.json.empty()) spansort::write_file(arguments.json, outputs.json, on_temporary);
  print(outputs.text);
}

void add_summary_flags(CLI::App& command, summary_arguments& arguments) {
  add_input_flags(command, arguments.input, arguments.type, arguments.is_raw);
  add_statistics_flags(command, arguments);
  add_output_flags(command, arguments);
  add_mpi_flag(command);
}

void add_summary_command(CLI::App& app, command_action& action) {
  CLI::App* const command =
      app.add_subcommand("summary", "Quantiles, box plot and outliers of a file's keys, without sorting them");
  const auto arguments = std::make_shared<summary_arguments>();
  add_summary_flags(*command, *arguments);
  add_memory_flag(
      *command, arguments->memory,
      "A larger file is read in blocks: twice, if a few percent of its keys fit, and once more for --outliers");
  add_progress_flag(*command, arguments->progress);
  command->footer(verb_footer({"spansort summary x.npy --plot x.svg"}, {0, 2, 3, 4, 5, 6, 7}));
  command->callback([arguments, &action] { action = [arguments] { return run_summary(*arguments); }; });
}

}  // namespace cli
