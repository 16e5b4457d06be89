// SPDX-License-Identifier: Apache-2.0
// A sort, argsort or merge of files as its flags say: checked first, shown while it runs, and told of when it is done.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/common.hpp"
#include "cli/finish_line.hpp"
#include "cli/interrupts.hpp"
#include "cli/numbers.hpp"
#include "cli/program.hpp"
#include "cli/report_json.hpp"
#include "cli/summary_json.hpp"
#include "cli/test_world.hpp"
#include "spansort/devices.hpp"
#include "spansort/errors.hpp"

namespace cli {
namespace {

/// Returns the memory of the smallest device that `devices`, a device list, may mean.
std::uint64_t device_memory_bytes(std::string_view devices) {
  std::uint64_t least_gpu = 0;
  for (const spansort::device_description& device : spansort::list_devices()) {
    if (!device.name.starts_with("gpu") || device.memory_bytes == 0) continue;
    least_gpu = least_gpu == 0 ? device.memory_bytes : std::min(least_gpu, device.memory_bytes);
  }
  return devices.starts_with("cpu") || devices.starts_with("host") || least_gpu == 0 ? host_memory_bytes() : least_gpu;
}

std::uint64_t parse_device_memory(const sort_arguments& arguments) {
  const std::string& text = arguments.device_memory;
  if (text.empty()) return 0;
  return parse_size("--device-memory", text, text.ends_with('%') ? device_memory_bytes(arguments.devices) : 0);
}

// The output is standard output where no -o is given, as GNU sort's is.
std::string output_of(const sort_arguments& arguments) { return arguments.output.empty() ? "-" : arguments.output; }

/// Throws invalid_argument where outputs would replace each other, or an input that is not meant.
void require_distinct_files(const std::string& output, const sort_arguments& arguments,
                            const std::vector<std::string>& more_inputs) {
  std::vector<std::string> inputs{arguments.input, arguments.values};
  inputs.insert(inputs.end(), more_inputs.begin(), more_inputs.end());
  const std::pair<const char*, const std::string&> others[] = {
      {"--report", arguments.report}, {"--trace", arguments.trace}, {"--summary", arguments.summary}};
  for (const auto& [flag, name] : others) {
    if (name.empty() || name == "-") continue;
    for (const std::string& input : inputs) {
      if (input.empty() || !is_same_place(name, input)) continue;
      throw spansort::invalid_argument(fmt::format("{}: '{}' is an input, which it would replace", flag, name));
    }
  }
  std::vector<std::string> names{output};
  for (const std::string& name : {arguments.values_output, arguments.report, arguments.trace, arguments.summary}) {
    for (const std::string& other : names) {
      if (!name.empty() && !other.empty() && is_same_place(name, other)) {
        throw spansort::invalid_argument(fmt::format(
            "-o, --values-out, --report, --trace and --summary: '{}' is named twice, each needs a place of its own",
            name));
      }
    }
    names.push_back(name);
  }
}

void write_report(const sort_arguments& arguments, const finished_operation& done,
                  const spansort::temporary_file_callback& on_temporary) {
  if (!arguments.report.empty()) spansort::write_file(arguments.report, report_json(done), on_temporary);
  if (!arguments.trace.empty()) {
    std::ostringstream trace;
    spansort::write_chrome_trace(done.report, trace);
    spansort::write_file(arguments.trace, trace.str(), on_temporary);
  }
}

/// Order statistics as a by-product, as JSON.
std::string summary_of_sorted(const sort_arguments& arguments, spansort::const_key_span keys) {
  const auto order = arguments.descending ? spansort::key_order::descending : spansort::key_order::ascending;
  const key_summary summary = describe_keys(
      arguments.input, keys,
      {.most_outliers = most_listed_outliers, .order = order, .threads = parse_threads(arguments.threads)});
  return summary_json(summary, make_picture_data(keys, summary, std::nullopt));
}

void require_sound_values(const sort_arguments& arguments) {
  if (arguments.values.empty() != arguments.values_output.empty()) {
    throw spansort::invalid_argument(
        "--values, --values-out: the values that go along with the keys need an input and an output: --values rows.npy "
        "--values-out sorted_rows.npy");
  }
  if (arguments.values.empty()) return;
  require_honest_name("--values-out", arguments.values_output, raw_policy_of(arguments));
  if (!arguments.dry_run) require_not_terminal(arguments.values_output);
}

/// Throws invalid_argument for flags that do not go together, before anything is opened.
void require_sound_flags(const sort_arguments& arguments, const std::string& output,
                         const std::vector<std::string>& more_inputs) {
  require_distinct_files(output, arguments, more_inputs);
  require_honest_name("-o", output, raw_policy_of(arguments));
  require_sound_values(arguments);
  if (!arguments.dry_run) require_not_terminal(output);
  if (!arguments.seed.empty()) static_cast<void>(parse_whole_number("--seed", arguments.seed));
  if (!arguments.records.record_bytes.empty() && !arguments.summary.empty()) {
    throw spansort::invalid_argument("--summary: summarises keys, and records are not; leave it out with --record");
  }
}

/// Throws io_error where what is written behind the sort cannot be, so that nobody waits for that.
void tell_of_outputs(const std::string& output, const sort_arguments& arguments) {
  for (const std::string& name : {output, arguments.values_output}) tell_new_owner(name);
  for (const std::string& name : {arguments.report, arguments.trace, arguments.summary}) require_writable(name);
}

/// The output is in place.
int end_without_memory_for_reports(const sort_arguments& arguments) {
  if (arguments.report.empty() && arguments.trace.empty() && arguments.summary.empty()) return status_ok;
  print_message("the output is written, but not all that was asked for besides: out of memory");
  return status_memory;
}

std::optional<spansort::value_files> values_of(const sort_arguments& arguments) {
  if (arguments.values.empty()) return std::nullopt;
  return spansort::value_files{arguments.values, arguments.values_output, also_remove_temporary()};
}

spansort::file_options file_options_of(const sort_arguments& arguments) {
  return {.direction = direction_of(arguments.descending),
          .records = parse_record_flags(arguments.records, arguments.type),
          .array = parse_array_flags(arguments.records),
          .values = values_of(arguments),
          .temporary_directories = arguments.temporary_directories,
          .head = parse_head(arguments.head),
          .type = parse_type_flag(arguments.type),
          .index_type = parse_index_type(arguments.index),
          .unique = arguments.unique,
          .verify = arguments.verify,
          .sync = !arguments.leaves_unsynced,
          .on_temporary = remove_temporary_on_signals()};
}

spansort::sort_options sort_options_of(const sort_arguments& arguments) {
  return {.devices = arguments.devices,
          .threads = parse_threads(arguments.threads),
          .algorithm = spansort::parse_algorithm(arguments.algorithm),
          .memory_limit_bytes = parse_memory_limit(arguments.memory),
          .device_memory_bytes = parse_device_memory(arguments)};
}

}  // namespace

spansort::key_type parse_index_type(const std::string& text) {
  for (const auto type :
       {spansort::key_type::i64, spansort::key_type::u64, spansort::key_type::i32, spansort::key_type::u32}) {
    if (text == name(type)) return type;
  }
  throw spansort::invalid_argument(fmt::format("--index: '{}' is unknown; i64, u64, i32 or u32 expected", text));
}

int run_file_operation(const sort_arguments& arguments, const file_operation& operation,
                       const std::vector<std::string>& more_inputs) {
  const std::string output = output_of(arguments);
  require_sound_flags(arguments, output, more_inputs);
  const progress_mode shows = arguments.dry_run ? progress_mode::never : parse_progress(arguments.progress, output);
  const bool tells_end = is_wanted(shows);

  std::string summary;
  spansort::file_options file = file_options_of(arguments);
  if (!arguments.summary.empty()) {
    file.on_sorted = [&](spansort::const_key_span keys) { summary = summary_of_sorted(arguments, keys); };
  }
  finished_operation done;
  spansort::sort_options options = sort_options_of(arguments);
  if (tells_end || !arguments.report.empty() || !arguments.trace.empty()) options.report = &done.report;

  done.inputs.push_back(find_file(arguments.input));
  if (!arguments.values.empty()) done.inputs.push_back(find_file(arguments.values));
  for (const std::string& more : more_inputs) done.inputs.push_back(find_file(more));
  std::uint64_t total_bytes = 0;
  for (const known_file& input : done.inputs) total_bytes += input.size_bytes.value_or(0);
  progress_bar bar(shows, {arguments.input, total_bytes});
  options.on_progress = bar.callback();
  for (const known_file& input : done.inputs) require_raw_input(input.path, raw_policy_of(arguments));
  if (!arguments.dry_run) tell_of_outputs(output, arguments);
  const test_world_scope world(arguments.test_world);
  done.result = operation(arguments.input, output, file, options);
  if (arguments.dry_run) return status_ok;
  try {
    done.output = find_file(output);
    write_report(arguments, done, file.on_temporary);
    if (!arguments.summary.empty()) spansort::write_file(arguments.summary, summary, file.on_temporary);
    bar.remove();
    if (tells_end) print_message(finish_line(done));
  } catch (const std::bad_alloc&) {
    return end_without_memory_for_reports(arguments);
  }
  return status_ok;
}

}  // namespace cli
