// SPDX-License-Identifier: Apache-2.0
// spansort check: order, count, duplicates and checksum of a file's keys.
#include "cli/check.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/common.hpp"
#include "cli/program.hpp"
#include "spansort/check.hpp"

namespace cli {

namespace {

spansort::file_check check(const check_arguments& arguments, progress_mode shows) {
  progress_bar bar(shows, subject_of(arguments.input));
  const spansort::check_options options{.direction = direction_of(arguments.descending),
                                        .unique = arguments.unique,
                                        .threads = parse_threads(arguments.threads),
                                        .on_progress = bar.callback()};
  require_raw_input(arguments.input, {arguments.is_raw, !arguments.records.record_bytes.empty()});
  if (const auto format = parse_record_flags(arguments.records, arguments.type)) {
    return spansort::check_records_file(arguments.input, *format, options);
  }
  return spansort::check_file(arguments.input, parse_type_flag(arguments.type), options,
                              parse_array_flags(arguments.records));
}

/// Duplicates can be told from one read only where equal keys lie side by side.
std::string duplicates_text(const spansort::check_result& found) {
  if (found.is_in_order) return fmt::format("{}", found.num_duplicates);
  return fmt::format("not counted, for the keys are out of order ({} equal their left neighbour)",
                     found.num_duplicates);
}

}  // namespace

int run_check(const check_arguments& arguments, check_words words) {
  const progress_mode shows = parse_progress(arguments.progress);
  const spansort::file_check result = check(arguments, words == check_words::none ? progress_mode::never : shows);
  const spansort::check_result& found = result.keys;
  if (words == check_words::counts) {
    print(fmt::format("keys: {}\ntype: {}\nduplicates: {}\nchecksum: {}\n", found.num_keys, result.elements,
                      duplicates_text(found), spansort::to_string(found.checksum)));
  }
  if (!found.first_disorder) return status_ok;
  if (words == check_words::none) return status_disorder;
  fmt::print(stderr, "spansort: {}:{}: disorder: {} after {}\n", arguments.input, *found.first_disorder,
             result.disordered, result.left_neighbour);
  return status_disorder;
}

void add_check_command(CLI::App& app, command_action& action) {
  CLI::App* const command =
      app.add_subcommand("check", "Print count, duplicates and checksum; status 1 if the keys are out of order");
  const auto arguments = std::make_shared<check_arguments>();
  add_input_flags(*command, arguments->input, arguments->type, arguments->is_raw);
  add_record_flags(*command, arguments->records);
  add_threads_flag(*command, arguments->threads);
  add_reverse_flag(*command, arguments->descending);
  command->add_flag("-u,--unique", arguments->unique, "Equal neighbours are disorder, too");
  add_progress_flag(*command, arguments->progress);
  command->footer(verb_footer({"spansort check sorted.npy"}, {0, 1, 2, 3, 4, 6}));
  command->callback(
      [arguments, &action] { action = [arguments] { return run_check(*arguments, check_words::counts); }; });
}

}  // namespace cli
