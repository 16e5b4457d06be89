// SPDX-License-Identifier: Apache-2.0
// spansort sort: a file of keys into order, several sorted ones into one, or only the question whether one is.
#include <fmt/format.h>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cli/check.hpp"
#include "cli/common.hpp"
#include "cli/program.hpp"
#include "spansort/errors.hpp"

namespace cli {
namespace {

/// Flags of `sort` alone.
struct sort_modes {
  std::string check;  ///< "" without -c, which says "true" where it is given no word
  bool checks_quietly = false;
  bool merges = false;
  std::vector<std::string> more_inputs;
};

struct given_flag {
  const char* name;
  bool is_given;
};

struct named_output {
  const char* flag;
  const std::string& path;
};

/// Returns whether the status alone is to say what was found. Throws invalid_argument for an unknown --check=WORD.
bool is_quiet(const sort_modes& modes) {
  if (modes.check == "quiet" || modes.check == "silent") return true;
  if (!modes.check.empty() && modes.check != "true" && modes.check != "diagnose-first") {
    throw spansort::invalid_argument(
        fmt::format("--check: '{}' is unknown; quiet, silent or diagnose-first expected", modes.check));
  }
  return modes.checks_quietly;
}

int check_only(const sort_arguments& arguments, bool is_silent) {
  const std::array<named_output, 5> outputs{{{"-o", arguments.output},
                                             {"--values-out", arguments.values_output},
                                             {"--report", arguments.report},
                                             {"--trace", arguments.trace},
                                             {"--summary", arguments.summary}}};
  for (const named_output& output : outputs) {
    if (output.path.empty()) continue;
    throw spansort::invalid_argument(
        fmt::format("-c: checks and writes nothing, {} {} cannot be given with it", output.flag, output.path));
  }
  const std::array<given_flag, 5> sorting{{{"--head", !arguments.head.empty()},
                                           {"-T", !arguments.temporary_directories.empty()},
                                           {"--dry-run", arguments.dry_run},
                                           {"--verify", arguments.verify},
                                           {"--no-sync", arguments.leaves_unsynced}}};
  for (const given_flag& flag : sorting) {
    if (flag.is_given) throw spansort::invalid_argument(fmt::format("-c: only checks, {} is of a sort", flag.name));
  }
  return run_check({arguments.input, arguments.type, arguments.is_raw, arguments.records, arguments.descending,
                    arguments.unique, arguments.threads, arguments.progress},
                   is_silent ? check_words::none : check_words::disorder);
}

int merge_inputs(const sort_arguments& arguments, const sort_modes& modes) {
  if (arguments.dry_run) throw spansort::invalid_argument("--dry-run: a merge of sorted files has no plan to show");
  std::vector<std::string> inputs{arguments.input};
  inputs.insert(inputs.end(), modes.more_inputs.begin(), modes.more_inputs.end());
  const file_operation merge = [&](const std::string&, const std::string& output, const spansort::file_options& file,
                                   const spansort::sort_options& options) {
    return spansort::merge_files(inputs, output, file, options);
  };
  return run_file_operation(arguments, merge, modes.more_inputs);
}

int run_sort(const sort_arguments& arguments, const sort_modes& modes) {
  const bool checks = !modes.check.empty() || modes.checks_quietly;
  if (checks && modes.merges) throw spansort::invalid_argument("-c and -m: one of them, not both");
  if (modes.merges) return merge_inputs(arguments, modes);
  if (!modes.more_inputs.empty()) {
    throw spansort::invalid_argument(
        fmt::format("'{}': one input is expected; several are merged with -m if each is sorted", modes.more_inputs[0]));
  }
  if (checks) return check_only(arguments, is_quiet(modes));
  return run_file_operation(arguments, or_plan(arguments, spansort::sort_file, spansort::plan_sort_file));
}

}  // namespace

void add_sort_command(CLI::App& app, command_action& action) {
  CLI::App* const command = app.add_subcommand("sort", "Sort the keys or records of a file");
  const auto arguments = std::make_shared<sort_arguments>();
  add_sort_flags(*command, *arguments);
  add_record_flags(*command, arguments->records);
  const auto add_file = [&](const char* flag, std::string& name, const char* description) {
    require_name(command->add_option(flag, name, description))->type_name("FILE");
  };
  add_file("--summary", arguments->summary,
           "Write quantiles, whiskers and outliers of the keys as JSON, as `spansort summary --json` does");
  add_file("--values", arguments->values,
           "Sort this file's rows along with the keys, stable: .npy with a row for each key, or raw bytes, as many for "
           "each");
  add_file("--values-out", arguments->values_output, "Where the rows of --values go; may be that file");
  add_part_flags(*command, *arguments);
  const auto modes = std::make_shared<sort_modes>();
  command->add_flag("-c,--check", modes->check,
                    "Write nothing; status 1 and the first disorder if there is one; --check=quiet is -C");
  command->add_flag("-C", modes->checks_quietly, "As -c, but by the status alone, without a word");
  command->add_flag("-m,--merge", modes->merges, "Merge inputs that are sorted already; - is standard input");
  command->add_option("MORE", modes->more_inputs, "Further inputs of -m")->type_name("");
  command->footer(
      verb_footer({"spansort sort x.npy -o sorted.npy --verify", "spansort sort x.npy -o x.npy     in place",
                   "spansort sort keys.bin --type uint32 -r > falling.bin",
                   "spansort sort trades.npy -o by_price.npy --key sym,price:r     fields of a structured array",
                   "spansort sort matrix.npy -o rows.npy --axis -1     each row by itself",
                   "spansort sort keys.npy --values rows.npy -o keys.npy --values-out rows.npy",
                   "spansort sort -m day1.npy day2.npy -o both.npy", "spansort sort -c sorted.npy && echo in order"},
                  {0, 1, 2, 3, 4, 5, 6, 7, 8}));
  command->callback(
      [arguments, modes, &action] { action = [arguments, modes] { return run_sort(*arguments, *modes); }; });
}

}  // namespace cli
