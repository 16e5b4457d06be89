// SPDX-License-Identifier: Apache-2.0
// spansort plan: who owns which bucket, who sends what to whom.
#include "spansort/plan.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "cli/common.hpp"
#include "cli/program.hpp"

namespace cli {
namespace {

struct plan_arguments {
  std::string input;
  std::string type;
  bool is_raw = false;
  std::string devices = "auto";
  std::string threads;
  std::string memory;
  bool descending = false;
  bool as_json = false;
  std::string progress = "auto";
};

/// A stream is held in memory; of a file, keys are counted as they are read.
spansort::plan_explanation explain(const plan_arguments& arguments) {
  const std::optional<spansort::key_type> type = parse_type_flag(arguments.type);
  const spansort::direction direction = direction_of(arguments.descending);
  const progress_mode shows = parse_progress(arguments.progress);
  progress_bar bar(shows, subject_of(arguments.input));
  const spansort::sort_options options{.devices = arguments.devices,
                                       .threads = parse_threads(arguments.threads),
                                       .memory_limit_bytes = parse_memory_limit(arguments.memory),
                                       .on_progress = bar.callback()};
  std::error_code ignored;
  if (std::filesystem::is_regular_file(arguments.input, ignored)) {
    return spansort::explain_plan_file(arguments.input, type, direction, options);
  }
  return spansort::explain_plan(spansort::key_file(arguments.input, type).keys(), direction, options);
}

int run_plan(const plan_arguments& arguments) {
  require_raw_input(arguments.input, {.is_insisted = arguments.is_raw});
  const spansort::plan_explanation plan = explain(arguments);
  const std::string& text = arguments.as_json ? plan.json : plan.text;
  print(text);
  if (!text.ends_with('\n')) print("\n");
  return status_ok;
}

}  // namespace

void add_plan_command(CLI::App& app, command_action& action) {
  CLI::App* const command = app.add_subcommand("plan", "Show the plan of the multi-device sort of a file");
  const auto arguments = std::make_shared<plan_arguments>();
  add_input_flags(*command, arguments->input, arguments->type, arguments->is_raw);
  command->add_option("--devices", arguments->devices, "host:4 (four host devices) ...")
      ->type_name("LIST")
      ->capture_default_str();
  add_threads_flag(*command, arguments->threads);
  add_reverse_flag(*command, arguments->descending);
  add_memory_flag(*command, arguments->memory, "A file is counted as it is read, whatever its size");
  command->add_flag("--json", arguments->as_json, "As JSON");
  add_progress_flag(*command, arguments->progress);
  command->footer(verb_footer({"spansort plan x.npy --devices host:4"}, {0, 2, 3, 4, 5, 6}));
  command->callback([arguments, &action] { action = [arguments] { return run_plan(*arguments); }; });
}

}  // namespace cli
