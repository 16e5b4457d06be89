// SPDX-License-Identifier: Apache-2.0
// merge_files: files that are sorted are the runs; nothing is spilled unless there are more than one merge takes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/math.hpp"
#include "files/external/spill_store.hpp"
#include "files/file_job.hpp"
#include "files/file_run.hpp"
#include "files/io/input.hpp"
#include "files/record_order.hpp"
#include "files/spooled_stream.hpp"
#include "files/typed_input.hpp"
#include "report/open_report.hpp"
#include "sort/sorter_memory.hpp"
#include "spansort/errors.hpp"

namespace spansort {
namespace {

/// `expected` are the elements of the first input, in words and as NumPy writes them.
files::sorted_input elements_of(const std::string& path, const file_options& file, const files::typed_input& expected) {
  const files::typed_input input = files::open_typed_input(path, {file.type, file.array, file.direction});
  const files::key_layout& layout = input.reader.layout();
  if (input.elements != expected.elements || input.records != expected.records ||
      (input.records && layout.descr != expected.reader.layout().descr)) {
    throw bad_input(fmt::format("{}: holds {} keys, the files before it {}; a merge takes files of one type",
                                input.reader.name(), input.elements, expected.elements));
  }
  if (!input.reader.num_keys()) {
    throw bad_input(
        fmt::format("{}: is no regular file; a merge reads its inputs here and there", input.reader.name()));
  }
  return {path, input.reader.header_bytes(), *input.reader.num_keys(), layout.changes()};
}

files::sorted_input records_of(const std::string& path, std::uint64_t record_bytes) {
  const files::input_file input(path);
  if (!input.is_regular()) {
    throw bad_input(fmt::format("{}: is no regular file; a merge reads its inputs here and there", input.name()));
  }
  const std::uint64_t num_bytes = input.size_bytes().value_or(0);
  if (num_bytes % record_bytes != 0) {
    throw bad_input(fmt::format("{}: {} bytes are not a multiple of {}, the size of a record", input.name(), num_bytes,
                                record_bytes));
  }
  return {.path = path, .num_elements = num_bytes / record_bytes};
}

std::vector<files::sorted_input> describe_inputs(const std::vector<std::string>& inputs, const file_options& file) {
  std::vector<files::sorted_input> described;
  if (file.records) {
    for (const std::string& path : inputs) described.push_back(records_of(path, file.records->record_bytes));
    return described;
  }
  const auto first = files::open_typed_input(inputs.front(), {file.type, file.array, file.direction});
  for (const std::string& path : inputs) described.push_back(elements_of(path, file, first));
  return described;
}

/// Merges floats that are in order by value and not by bits as records: what is equal in value stays in the order of
/// the files.
void order_by_value(files::file_job& job, key_type type) {
  const auto width = static_cast<std::uint32_t>(size_bytes(type));
  job.order = files::make_record_order({.record_bytes = width, .keys = {{.size_bytes = width, .type = type}}},
                                       job.direction, sorting::for_counted_sorts(job.options));
}

/// Counts merges as merge_external() will do them: what is in more files than one merge takes is spilled once for each
/// merge but the last.
void plan_merges(files::file_job& job, std::uint64_t num_files) {
  files::plan_parts(job, {});  // however little there is: runs are read block by block
  job.plan.num_runs = num_files;
  job.plan.num_merges = 1;
  for (std::uint64_t runs = num_files; runs > job.plan.fan_in; runs = base::ceil_div(runs, job.plan.fan_in))
    ++job.plan.num_merges;
  job.plan.spilled_bytes = (job.plan.num_merges - 1) * *job.num_elements * job.order->element_bytes();
}

file_result merge_runs(files::file_job& job, const file_options& file, const std::vector<files::sorted_input>& sorted,
                       report::open_report& open) {
  plan_merges(job, sorted.size());
  files::require_space(job, file);
  external::run_list runs;
  for (const files::sorted_input& input : sorted) runs.push_back(files::make_file_run(input, *job.order, job.plan));
  return files::merge(job, file, std::move(runs), open);
}

/// Shows the progress of a merge that is begun a second time only once it is beyond that of the first.
progress_callback never_falling(const progress_callback& user) {
  if (!user) return {};
  return [user, highest = std::make_shared<double>(0)](const progress& p) {
    *highest = std::max(*highest, p.fraction);
    return user({p.phase, *highest});
  };
}

/// Has standard input in a temporary file, and its name among the inputs changed to that of the file.
std::optional<files::spooled_stream> spool_stream(std::vector<std::string>& inputs, const file_options& file,
                                                  const sort_options& options) {
  const auto stream = std::ranges::find(inputs, "-");
  if (stream == inputs.end()) return std::nullopt;
  if (std::find(stream + 1, inputs.end(), "-") != inputs.end()) {
    throw invalid_argument("standard input can be one of the inputs of a merge, not two of them");
  }
  // The other inputs are checked first, so that what is wrong with them is said before all of the stream is awaited.
  for (const std::string& input : inputs) {
    std::error_code unknown;
    if (input != "-" && !std::filesystem::is_fifo(input, unknown)) static_cast<void>(files::input_file(input));
  }
  files::shown_progress shown(options.on_progress);
  shown.begin("read", 0, 0);
  std::optional<files::spooled_stream> spooled;
  spooled.emplace(
      file.temporary_directories.empty() ? external::default_temporary_folders() : file.temporary_directories, shown);
  *stream = spooled->path();
  return spooled;
}

}  // namespace

file_result merge_files(const std::vector<std::string>& given, const std::string& output, const file_options& file,
                        const sort_options& options) {
  std::vector<std::string> inputs = given;
  if (inputs.empty()) throw invalid_argument("nothing to merge: no input is named");
  if (file.array.axis) throw invalid_argument("a merge knows no axis: its inputs are sequences that are sorted");
  if (file.on_sorted) throw invalid_argument("the keys of a merge are never in memory all at once: it has no summary");
  report::open_report open(options.report, files::name(files::file_operation::merge));
  const std::optional<files::spooled_stream> spooled = spool_stream(inputs, file, options);
  files::file_job job = files::make_file_job(inputs.front(), output, file, options, files::file_operation::merge);
  job.options.on_progress = never_falling(options.on_progress);
  const std::optional<key_type> type = job.elements->type();
  const std::vector<files::sorted_input> sorted = describe_inputs(inputs, file);
  job.num_elements = 0;
  for (const files::sorted_input& input : sorted) *job.num_elements += input.num_elements;
  file_result result;
  try {
    result = merge_runs(job, file, sorted, open);
  } catch (const files::tie_disorder&) {
    if (!type || job.elements->target().is_stream) throw;  // a stream may have taken a part
    order_by_value(job, *type);
    result = merge_runs(job, file, sorted, open);
  }
  open.finish();
  return result;
}

}  // namespace spansort
