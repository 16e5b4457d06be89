// SPDX-License-Identifier: Apache-2.0
// spansort check: order, count, duplicates and checksum of a file's keys.
#include "spansort/check.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/common.hpp"

namespace cli {
namespace {

struct check_arguments {
  std::string input;
  std::string type;
  bool descending = false;
  bool unique = false;
};

int run_check(const check_arguments& arguments) {
  const spansort::key_file file(arguments.input, parse_type_flag(arguments.type));
  const spansort::const_key_span keys = file.keys();
  const spansort::check_result result =
      spansort::check(keys, {.descending = arguments.descending, .unique = arguments.unique});
  print(fmt::format("keys: {}\ntype: {}\nduplicates: {}\nchecksum: {}\n", result.num_keys, spansort::name(keys.type),
                    result.num_duplicates, spansort::to_string(result.checksum)));
  if (!result.first_disorder) return status_ok;
  const std::uint64_t index = *result.first_disorder;
  fmt::print(stderr, "spansort: {}:{}: disorder: {} after {}\n", arguments.input, index,
             spansort::key_to_string(keys, index), spansort::key_to_string(keys, index - 1));
  return status_disorder;
}

}  // namespace

void add_check_command(CLI::App& app, command_action& action) {
  CLI::App* const command =
      app.add_subcommand("check", "Print count, duplicates and checksum; status 1 if the keys are out of order");
  const auto arguments = std::make_shared<check_arguments>();
  add_input_flags(*command, arguments->input, arguments->type);
  add_reverse_flag(*command, arguments->descending);
  command->add_flag("-u,--unique", arguments->unique, "Equal neighbours are disorder, too");
  command->callback([arguments, &action] { action = [arguments] { return run_check(*arguments); }; });
}

}  // namespace cli
