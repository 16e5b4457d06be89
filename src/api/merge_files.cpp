// SPDX-License-Identifier: Apache-2.0
// merge_files: files that are sorted are the runs; nothing is spilled unless there are more than one merge takes.
#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <utility>

#include "api/element_sinks.hpp"
#include "api/file_job.hpp"
#include "api/file_run.hpp"
#include "spansort/errors.hpp"

namespace spansort {
namespace {

api::sorted_file keys_of(const std::string& path, std::optional<key_type> type, key_type expected) {
  const files::key_reader reader(path, type);
  const files::key_layout& layout = reader.layout();
  if (layout.type != expected) {
    throw bad_input(fmt::format("{}: holds {} keys, the files before it {}; a merge takes files of one type", path,
                                name(layout.type), name(expected)));
  }
  if (!reader.num_keys())
    throw bad_input(fmt::format("{}: is no regular file; a merge reads its inputs here and there", path));
  const bool is_native = layout.byte_order == std::endian::native;
  return {path, reader.header_bytes(), *reader.num_keys(), is_native ? 0 : size_bytes(layout.type)};
}

api::sorted_file records_of(const std::string& path, std::uint64_t record_bytes) {
  const files::input_file input(path);
  if (!input.is_regular()) {
    throw bad_input(fmt::format("{}: is no regular file; a merge reads its inputs here and there", path));
  }
  const std::uint64_t num_bytes = input.size_bytes().value_or(0);
  if (num_bytes % record_bytes != 0) {
    throw bad_input(
        fmt::format("{}: {} bytes are not a multiple of {}, the size of a record", path, num_bytes, record_bytes));
  }
  return {.path = path, .num_elements = num_bytes / record_bytes};
}

}  // namespace

file_result merge_files(const std::vector<std::string>& inputs, const std::string& output, const file_options& file,
                        const sort_options& options) {
  if (inputs.empty()) throw invalid_argument("nothing to merge: no input is named");
  if (file.on_sorted) throw invalid_argument("the keys of a merge are never in memory all at once: it has no summary");
  const auto begin = std::chrono::steady_clock::now();
  api::file_job job = api::make_file_job(inputs.front(), output, file, options, api::file_outcome::elements);
  api::plan_parts(job, {});  // however little there is: runs are read block by block
  external::run_list runs;
  std::uint64_t num_elements = 0;
  for (const std::string& path : inputs) {
    const api::sorted_file sorted =
        file.records ? records_of(path, file.records->record_bytes) : keys_of(path, file.type, job.type);
    num_elements += sorted.num_elements;
    runs.push_back(api::make_file_run(sorted, *job.order, job.plan));
  }
  job.num_elements = num_elements;
  const std::unique_ptr<external::element_sink> sink = api::make_sink(job, file);
  const external::external_result result =
      external::merge_external(std::move(runs), *sink, *job.order, api::parts_options(job, file));
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
  api::fill_report(job, result, elapsed.count());
  return {.type = job.type,
          .num_keys_in = result.num_in,
          .num_keys_out = result.num_out,
          .verified = file.verify,
          .num_runs = result.num_runs,
          .spilled_bytes = result.spilled_bytes};
}

}  // namespace spansort
