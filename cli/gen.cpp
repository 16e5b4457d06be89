// SPDX-License-Identifier: Apache-2.0
// spansort gen: keys of a named distribution.
#include "spansort/generate.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/common.hpp"
#include "cli/interrupts.hpp"
#include "cli/numbers.hpp"
#include "cli/program.hpp"
#include "spansort/errors.hpp"

namespace cli {
namespace {

struct gen_arguments {
  std::string num_keys;
  std::string output;
  std::string type;
  std::string distribution = "uniform";
  std::string seed = "0";
  bool is_raw = false;
  bool writes_records = false;
  std::string progress = "auto";
};

spansort::distribution parse_distribution_flag(const std::string& text) {
  try {
    return spansort::parse_distribution(text);
  } catch (const spansort::invalid_argument& failure) {
    throw spansort::invalid_argument(fmt::format("--distribution: {}", failure.what()));
  }
}

/// The bytes are for the rate alone, so that more than can be counted do no harm; the library refuses them.
progress_bar bar_of(const gen_arguments& arguments, std::uint64_t num_elements, std::uint64_t element_bytes) {
  return {parse_progress(arguments.progress, arguments.output), {arguments.output, num_elements * element_bytes}};
}

int run_gen_records(const gen_arguments& arguments) {
  const std::uint64_t num_records = parse_count("N", arguments.num_keys);
  const std::uint64_t seed = parse_whole_number("--seed", arguments.seed);
  if (!arguments.type.empty())
    throw spansort::invalid_argument("--type: records have none; --records makes all of them");
  if (parse_distribution_flag(arguments.distribution).kind != spansort::distribution_kind::uniform) {
    throw spansort::invalid_argument("--distribution: the keys of records are uniform");
  }
  require_honest_name("-o", arguments.output, {arguments.is_raw, arguments.writes_records});
  require_not_terminal(arguments.output);
  tell_new_owner(arguments.output);
  progress_bar bar = bar_of(arguments, num_records, spansort::generated_record_bytes);
  spansort::generate_records_file(arguments.output, num_records, seed, remove_temporary_on_signals(), bar.callback());
  return status_ok;
}

int run_gen(const gen_arguments& arguments) {
  if (arguments.writes_records) return run_gen_records(arguments);
  const std::uint64_t num_keys = parse_count("N", arguments.num_keys);
  const std::uint64_t seed = parse_whole_number("--seed", arguments.seed);
  const spansort::distribution distribution = parse_distribution_flag(arguments.distribution);
  const std::optional<spansort::key_type> type = parse_type_flag(arguments.type);
  if (!type) throw spansort::invalid_argument("--type: a key type is needed, or --records");
  require_honest_name("-o", arguments.output, {arguments.is_raw, arguments.writes_records});
  require_not_terminal(arguments.output);
  tell_new_owner(arguments.output);
  progress_bar bar = bar_of(arguments, num_keys, size_bytes(*type));
  spansort::generate_file(arguments.output, *type, num_keys, distribution, seed, remove_temporary_on_signals(),
                          bar.callback());
  return status_ok;
}

}  // namespace

void add_gen_command(CLI::App& app, command_action& action) {
  CLI::App* const command = app.add_subcommand("gen", "Generate keys; same seed, type and count: same bytes anywhere");
  const auto arguments = std::make_shared<gen_arguments>();
  command
      ->add_option("N", arguments->num_keys, "Number of keys or records: 1000000, 1e6, 10M; K M G T are powers of 1000")
      ->required()
      ->type_name("");
  require_name(command->add_option("-o,--output", arguments->output,
                                   "Output: .npy or raw by its name; - is standard output, raw"))
      ->required()
      ->type_name("OUT");
  command
      ->add_option("--type", arguments->type,
                   "u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64, or NumPy's and DuckDB's names of these")
      ->type_name("T");
  command->add_flag("--raw", arguments->is_raw, "Write raw keys although the name of OUT is that of another format");
  command->add_flag("--records", arguments->writes_records,
                    "Records of 100 bytes in the layout of the Sort Benchmark, with 10 random bytes as key (--record "
                    "100 --key 0:10); the random numbers are not those of its gensort");
  command
      ->add_option("--distribution", arguments->distribution,
                   "uniform normal zero sorted reverse nearly-sorted staggered bucket-sorted zipf:Z entropy:Q ...")
      ->type_name("D")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Seed")->type_name("S")->capture_default_str();
  add_progress_flag(*command, arguments->progress);
  command->footer(verb_footer({"spansort gen 1M --type f32 --distribution normal --seed 7 -o x.npy"}, {0, 2, 4, 6}));
  command->callback([arguments, &action] { action = [arguments] { return run_gen(*arguments); }; });
}

}  // namespace cli
