// SPDX-License-Identifier: Apache-2.0
// spansort sort: a file of keys into order, or only the question whether it is.
#include <fmt/format.h>
#include <array>
#include <memory>

#include "cli/check.hpp"
#include "cli/common.hpp"
#include "spansort/errors.hpp"

namespace cli {
namespace {

struct named_output {
  const char* flag;
  const std::string& path;
};

int check_only(const sort_arguments& arguments) {
  const std::array<named_output, 4> outputs{{{"-o", arguments.output},
                                             {"--report", arguments.report},
                                             {"--trace", arguments.trace},
                                             {"--summary", arguments.summary}}};
  for (const named_output& output : outputs) {
    if (output.path.empty()) continue;
    throw spansort::invalid_argument(
        fmt::format("-c: checks and writes nothing, {} {} cannot be given with it", output.flag, output.path));
  }
  return run_check({arguments.input, arguments.type, arguments.descending, arguments.unique}, false);
}

}  // namespace

void add_sort_command(CLI::App& app, command_action& action) {
  CLI::App* const command = app.add_subcommand("sort", "Sort the keys of a file");
  const auto arguments = std::make_shared<sort_arguments>();
  add_sort_flags(*command, *arguments);
  command
      ->add_option("--summary", arguments->summary,
                   "Write quantiles, whiskers and outliers of the keys as JSON, as `spansort summary --json` does")
      ->type_name("FILE");
  const auto checks_only = std::make_shared<bool>(false);
  command->add_flag("-c,--check", *checks_only, "Write nothing; status 1 and the first disorder if there is one");
  command->callback([arguments, checks_only, &action] {
    action = [arguments, checks_only] {
      return *checks_only ? check_only(*arguments) : run_file_operation(*arguments, spansort::sort_file);
    };
  });
}

}  // namespace cli
