// SPDX-License-Identifier: Apache-2.0
// Flags of sort and argsort for files larger than memory, and the plan that --dry-run prints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/common.hpp"
#include "cli/numbers.hpp"

namespace cli {
namespace {

std::string plan_text(const spansort::file_plan& plan, const std::string& output) {
  const std::string elements = plan.num_elements ? fmt::format("{}", *plan.num_elements) : "a stream of";
  std::string text = fmt::format("input    {} elements of {} bytes\n", elements, plan.element_bytes);
  text += fmt::format("memory   {} at most, about {} will be used\n", bytes_text(plan.ceiling_bytes),
                      bytes_text(plan.memory_bytes));
  if (plan.keeps_head_only) {
    text += "parts    one read, of which the head is kept in memory; no temporary files\n";
  } else if (plan.num_elements && plan.num_runs == 0) {
    text += "parts    one, in memory; no temporary files\n";
  } else if (!plan.num_elements) {
    text += fmt::format(
        "parts    {} elements at a time; what is more goes to {} as sorted runs, of which up to {} are "
        "merged at a time\n",
        plan.chunk_elements, fmt::join(plan.folders, " "), plan.fan_in);
  } else {
    text += fmt::format("runs     {} of up to {} elements, in {}\n", plan.num_runs, plan.chunk_elements,
                        fmt::join(plan.folders, " "));
    text += fmt::format("merges   {}, of up to {} runs at a time, in blocks of {}\n", plan.num_merges, plan.fan_in,
                        bytes_text(plan.block_bytes));
    text += fmt::format("spill    {} written and read back, {} there at a time\n", bytes_text(plan.spilled_bytes),
                        bytes_text(plan.temporary_bytes));
  }
  text += fmt::format("output   {}{}\n", output,
                      plan.num_elements ? ", up to " + bytes_text(plan.output_bytes) : std::string());
  return text;
}

}  // namespace

void add_part_flags(CLI::App& command, sort_arguments& arguments) {
  command
      .add_option("-T,--temporary-directory", arguments.temporary_directories,
                  "Folder for what does not fit in memory, $TMPDIR or /tmp if none is named; several share the load")
      ->type_name("DIR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--head", arguments.head,
                  "Only the first K (1000, 1e6, 10M) of the sorted whole, without sorting the rest")
      ->type_name("K");
  command.add_flag("--dry-run", arguments.dry_run, "Print the plan: memory, runs, merges, bytes spilled; sort nothing");
}

std::optional<std::uint64_t> parse_head(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return parse_count("--head", text);
}

file_operation or_plan(const sort_arguments& arguments, file_operation operation, plan_operation plan) {
  if (!arguments.dry_run) return operation;
  return [plan](const std::string& input, const std::string& output, const spansort::file_options& file,
                const spansort::sort_options& options) {
    print(plan_text(plan(input, output, file, options), output));
    return spansort::file_result{};
  };
}

}  // namespace cli
