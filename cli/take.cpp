// SPDX-License-Identifier: Apache-2.0
// spansort take: elements of a file in the order of indices, as argsort writes them.
#include <memory>
#include <optional>
#include <string>

#include "cli/common.hpp"
#include "cli/foreign_formats.hpp"
#include "cli/interrupts.hpp"
#include "cli/numbers.hpp"
#include "cli/program.hpp"
#include "spansort/errors.hpp"
#include "spansort/take_file.hpp"

namespace cli {
namespace {

struct take_arguments {
  std::string input;
  std::string type;
  bool is_raw = false;
  std::string order;
  std::string output;
  std::string record_bytes;
  std::string index = "i64";
  std::string memory;
  std::string threads;
  std::string progress = "auto";
};

std::uint64_t parse_record_bytes(const std::string& text) {
  if (text.empty()) return 0;
  const std::uint64_t bytes = parse_whole_number("--record", text);
  if (bytes == 0) throw spansort::invalid_argument("--record: 1 byte or more is expected, found 0");
  return bytes;
}

int run_take(const take_arguments& arguments) {
  spansort::take_file_options options{.type = parse_type_flag(arguments.type),
                                      .record_bytes = parse_record_bytes(arguments.record_bytes),
                                      .index_type = parse_index_type(arguments.index),
                                      .memory_limit_bytes = parse_memory_limit(arguments.memory),
                                      .threads = parse_threads(arguments.threads),
                                      .on_temporary = remove_temporary_on_signals()};
  const raw_policy policy{.is_insisted = arguments.is_raw, .may_be_text = options.record_bytes != 0};
  require_honest_name("-o", arguments.output, policy);
  require_raw_input(arguments.input, policy);
  require_raw_input(arguments.order, {.is_insisted = arguments.is_raw});
  require_not_terminal(arguments.output);
  tell_new_owner(arguments.output);
  progress_bar bar(parse_progress(arguments.progress, arguments.output), subject_of(arguments.input));
  options.on_progress = bar.callback();
  static_cast<void>(spansort::take_file(arguments.input, arguments.order, arguments.output, options));
  return status_ok;
}

}  // namespace

void add_take_command(CLI::App& app, command_action& action) {
  CLI::App* const command =
      app.add_subcommand("take", "Write a file's elements in the order of indices, as argsort finds them");
  const auto arguments = std::make_shared<take_arguments>();
  add_input_flags(*command, arguments->input, arguments->type, arguments->is_raw);
  command->get_option("IN")->description(
      "File of elements: the rows of a .npy array of any dtype, raw keys of --type, or records of --record; - is "
      "standard input");
  command
      ->add_option("--order", arguments->order,
                   "Indices of the elements, counted from 0: .npy, or raw ones of --index; - is standard input. Each "
                   "may stand there several times or not at all; those below 0 or beyond the last element are refused")
      ->required()
      ->type_name("FILE");
  require_name(
      command->add_option("-o,--output", arguments->output, "Output: .npy or raw by its name; - is standard output"))
      ->required()
      ->type_name("OUT");
  command->add_option("--record", arguments->record_bytes, "Raw elements are records of so many bytes")
      ->type_name("BYTES");
  command->add_option("--index", arguments->index, "Type of raw indices: i64, u64, i32 or u32")
      ->type_name("T")
      ->capture_default_str();
  add_memory_flag(*command, arguments->memory,
                  "Larger data is read where the order needs it, in as many sweeps as parts of the output fit");
  add_threads_flag(*command, arguments->threads);
  add_progress_flag(*command, arguments->progress);
  command->footer(verb_footer(
      {"spansort take names.npy --order order.npy -o by_price.npy     order.npy is argsort's of prices.npy"},
      {0, 2, 3, 4, 6, 8}));
  command->callback([arguments, &action] { action = [arguments] { return run_take(*arguments); }; });
}

}  // namespace cli
