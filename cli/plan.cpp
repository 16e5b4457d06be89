// SPDX-License-Identifier: Apache-2.0
// spansort plan: who owns which bucket, who sends what to whom.
#include "spansort/plan.hpp"

#include <memory>

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
  bool descending = false;
  bool as_json = false;
};

int run_plan(const plan_arguments& arguments) {
  require_raw_input(arguments.input, {.is_insisted = arguments.is_raw});
  const spansort::key_file file(arguments.input, parse_type_flag(arguments.type));
  const spansort::plan_explanation plan =
      spansort::explain_plan(file.keys(), direction_of(arguments.descending),
                             {.devices = arguments.devices, .threads = parse_threads(arguments.threads)});
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
  command->add_flag("--json", arguments->as_json, "As JSON");
  command->footer(verb_footer({"spansort plan x.npy --devices host:4"}, {0, 2, 3, 4, 5, 6}));
  command->callback([arguments, &action] { action = [arguments] { return run_plan(*arguments); }; });
}

}  // namespace cli
