// SPDX-License-Identifier: Apache-2.0
// spansort check: order, count, duplicates and checksum of a file's keys.
#include "cli/check.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/common.hpp"
#include "spansort/check.hpp"

namespace cli {

int run_check(const check_arguments& arguments, bool prints_counts) {
  const spansort::file_check found =
      spansort::check_file(arguments.input, parse_type_flag(arguments.type),
                           {.descending = arguments.descending, .unique = arguments.unique});
  if (prints_counts) {
    print(fmt::format("keys: {}\ntype: {}\nduplicates: {}\nchecksum: {}\n", found.keys.num_keys,
                      spansort::name(found.type), found.keys.num_duplicates, spansort::to_string(found.keys.checksum)));
  }
  if (!found.keys.first_disorder) return status_ok;
  fmt::print(stderr, "spansort: {}:{}: disorder: {} after {}\n", arguments.input, *found.keys.first_disorder,
             found.disordered, found.left_neighbour);
  return status_disorder;
}

void add_check_command(CLI::App& app, command_action& action) {
  CLI::App* const command =
      app.add_subcommand("check", "Print count, duplicates and checksum; status 1 if the keys are out of order");
  const auto arguments = std::make_shared<check_arguments>();
  add_input_flags(*command, arguments->input, arguments->type);
  add_reverse_flag(*command, arguments->descending);
  command->add_flag("-u,--unique", arguments->unique, "Equal neighbours are disorder, too");
  command->callback([arguments, &action] { action = [arguments] { return run_check(*arguments, true); }; });
}

}  // namespace cli
