// SPDX-License-Identifier: Apache-2.0
// sort_file(), argsort_file() and what they would do. Cheap refusals come first: header, devices, output, free space,
// memory; only then is a key read.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "files/axis_sort.hpp"
#include "files/file_job.hpp"
#include "files/typed_input.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"

namespace spansort {
namespace {

file_plan describe_plan(files::file_job job, const file_options& file) {
  file_plan plan{.num_elements = job.num_elements,
                 .element_bytes = job.order->element_bytes(),
                 .ceiling_bytes = job.ceiling_bytes,
                 .memory_bytes = job.plan.memory_bytes,
                 .chunk_elements = job.plan.chunk_elements,
                 .num_runs = job.plan.num_runs,
                 .fan_in = job.plan.fan_in,
                 .num_merges = job.plan.num_merges,
                 .block_bytes = job.plan.block_bytes,
                 .spilled_bytes = job.plan.spilled_bytes,
                 .temporary_bytes = job.temporary_bytes(),
                 .output_bytes = job.output_bytes(),
                 .folders = job.folders,
                 .keeps_head_only = job.is_head_sort};
  if (job.is_head_sort) {
    plan.num_runs = plan.fan_in = plan.spilled_bytes = 0;
    plan.num_merges = 0;
  }
  files::require_sound_ends(std::move(job), file);
  return plan;
}

/// Opens what is sorted row by row; nothing where the elements are one sequence. A stream cannot be opened again.
std::optional<files::typed_input> open_rows(const std::string& input, const file_options& file) {
  if (!file.array.axis || file.records || file.values) return std::nullopt;
  files::typed_input typed = files::open_typed_input(input, {file.type, file.array, file.direction});
  if (!typed.is_along_axis && typed.reader.num_keys()) return std::nullopt;
  if (typed.records) {
    throw invalid_argument(
        fmt::format("{}: strings and structures of a stream have no axis (--axis); leave it out", input));
  }
  return typed;
}

}  // namespace

file_result sort_file(const std::string& input, const std::string& output, const file_options& file,
                      const sort_options& options) {
  report::open_report open(options.report, files::name(files::file_operation::sort));
  if (auto rows = open_rows(input, file)) {
    const file_result result =
        files::sort_along_axis(std::move(*rows), input, output, file, options, files::row_outcome::keys);
    open.finish();
    return result;
  }
  return files::run(files::make_file_job(input, output, file, options, files::file_operation::sort), file, open);
}

file_result argsort_file(const std::string& input, const std::string& output, const file_options& file,
                         const sort_options& options) {
  report::open_report open(options.report, files::name(files::file_operation::argsort));
  if (auto rows = open_rows(input, file)) {
    const file_result result =
        files::sort_along_axis(std::move(*rows), input, output, file, options, files::row_outcome::indices);
    open.finish();
    return result;
  }
  return files::run(files::make_file_job(input, output, file, options, files::file_operation::argsort), file, open);
}

file_plan plan_sort_file(const std::string& input, const std::string& output, const file_options& file,
                         const sort_options& options) {
  return describe_plan(files::make_file_job(input, output, file, options, files::file_operation::sort), file);
}

file_plan plan_argsort_file(const std::string& input, const std::string& output, const file_options& file,
                            const sort_options& options) {
  return describe_plan(files::make_file_job(input, output, file, options, files::file_operation::argsort), file);
}

}  // namespace spansort
