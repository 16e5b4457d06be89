// SPDX-License-Identifier: Apache-2.0
// spansort sort: a file of keys into order.
#include <memory>

#include "cli/common.hpp"

namespace cli {

void add_sort_command(CLI::App& app, command_action& action) {
  CLI::App* const command = app.add_subcommand("sort", "Sort the keys or records of a file");
  const auto arguments = std::make_shared<sort_arguments>();
  add_sort_flags(*command, *arguments);
  add_record_flags(*command, arguments->records);
  command
      ->add_option("--summary", arguments->summary,
                   "Write quantiles, whiskers and outliers of the keys as JSON, as `spansort summary --json` does")
      ->type_name("FILE");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_file_operation(*arguments, spansort::sort_file); }; });
}

}  // namespace cli
