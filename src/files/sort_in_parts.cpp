// SPDX-License-Identifier: Apache-2.0
// Files that are not sorted as one array: larger than memory, streams, records, the head of a sort.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "files/element_sinks.hpp"
#include "files/element_sources.hpp"
#include "files/external/bounded_head.hpp"
#include "files/file_job.hpp"
#include "keys/codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"

namespace spansort::files {
namespace {

using clock = std::chrono::steady_clock;

double milliseconds_since(clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(clock::now() - begin).count();
}

bool fits_in_memory(const file_job& job) { return job.num_elements && job.plan.num_runs == 0; }

void tell(const progress_callback& user, std::string_view phase, double fraction) {
  if (user({phase, fraction})) return;
  throw cancelled(fmt::format("cancelled (phase: {}); the output is as it was", phase));
}

/// All of the work, where sorting is none.
transfer_progress reading_progress(const progress_callback& user) {
  if (!user) return {};
  return [user](std::uint64_t done_bytes, std::uint64_t total_bytes) {
    tell(user, "read", total_bytes == 0 ? 0 : static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
  };
}

std::unique_ptr<external::element_source> make_source(file_job& job, const file_options& file) {
  source_options how{.keeps_page_cache = fits_in_memory(job)};
  if (job.is_bounded_head) how.on_progress = reading_progress(job.options.on_progress);
  if (file.records) return make_record_source(std::move(*job.records_input), file.records->record_bytes, how);
  if (job.outcome == file_outcome::indices) return make_indexed_key_source(std::move(*job.reader), how);
  return make_key_source(std::move(*job.reader), how);
}

external::external_result sort_head(external::element_source& source, external::element_sink& sink, file_job& job,
                                    const file_options& file) {
  const external::head_result head = external::write_head(
      source, *job.order, {.num_wanted = *file.head, .num_buffered = job.plan.chunk_elements, .unique = file.unique},
      sink);
  sink.finish();
  external::external_result result;
  result.num_in = head.num_read;
  result.num_out = head.num_kept;
  return result;
}

std::string how_it_went(const file_job& job, const external::external_result& result) {
  if (job.outcome == file_outcome::merged) {
    return fmt::format("{} sorted inputs, merged {} at a time, on {}", job.plan.num_runs, job.plan.fan_in,
                       to_string(job.options.devices));
  }
  if (result.num_runs == 0) return fmt::format("in memory, element by element, on {}", to_string(job.options.devices));
  return fmt::format(
      "{} runs of up to {} elements in temporary files, merged {} at a time, on {}: larger than {} bytes of memory",
      result.num_runs, job.plan.chunk_elements, job.plan.fan_in, to_string(job.options.devices), job.ceiling_bytes);
}

}  // namespace

std::unique_ptr<external::element_sink> make_sink(const file_job& job, const file_options& file) {
  // What the bounded head keeps is counted before it is written.
  const sink_options how{.is_count_known = !file.unique || job.is_bounded_head,
                         .keeps_page_cache = fits_in_memory(job),
                         .on_temporary = file.on_temporary};
  if (file.records) return make_record_sink(job.target, file.records->record_bytes, how);
  if (job.outcome == file_outcome::indices) {
    key_layout layout = job.layout;
    layout.type = job.type;
    return make_index_sink(job.target, layout, how);
  }
  return make_key_sink(job.target, job.layout, how);
}

void require_sound_ends(file_job job, const file_options& file) {
  static_cast<void>(make_sink(job, file));
  static_cast<void>(make_source(job, file));
}

external::external_options parts_options(const file_job& job, const file_options& file) {
  external::external_options how;
  how.plan = job.plan;
  how.folders = job.folders;
  how.emit = {.input_name = job.input,
              .unique = file.unique,
              .verify = file.verify,
              .head = file.head,
              .damages_result = job.hooks.corrupt_result};
  if (file.on_sorted) {
    how.on_whole = [&file, &job](std::byte* elements, std::uint64_t count) {
      file.on_sorted(const_key_span(job.type, elements, count));
    };
  }
  if (const progress_callback& user = job.options.on_progress) {
    how.on_progress = [user](std::string_view phase, double fraction) { tell(user, phase, fraction); };
  }
  return how;
}

file_result sort_in_parts(file_job job, const file_options& file) {
  const auto begin = clock::now();
  const std::unique_ptr<external::element_sink> sink = make_sink(job, file);
  const std::unique_ptr<external::element_source> source = make_source(job, file);
  const external::external_result result =
      job.is_bounded_head ? sort_head(*source, *sink, job, file)
                          : external::sort_external(*source, *sink, *job.order, parts_options(job, file));
  fill_report(job, result, milliseconds_since(begin));
  return result_of(job, file, result);
}

file_result result_of(const file_job& job, const file_options& file, const external::external_result& result) {
  return {.type = job.type,
          .num_keys_in = result.num_in,
          .num_keys_out = result.num_out,
          .verified = file.verify,
          .num_runs = result.num_runs,
          .spilled_bytes = result.spilled_bytes};
}

void fill_report(const file_job& job, const external::external_result& result, double elapsed_ms) {
  sort_report* const report = job.options.report;
  if (report == nullptr) return;
  *report = {};
  const bool is_merge = job.outcome == file_outcome::merged;
  const bool is_in_memory = !is_merge && result.num_runs == 0;
  report->operation = is_merge ? "merge" : job.outcome == file_outcome::indices ? "argsort" : "sort";
  report->key_type = job.reader ? std::string(name(job.type)) : "record";
  report->algorithm = is_in_memory ? "in memory" : "external";
  report->picked = how_it_went(job, result);
  report->input_shape = "unknown";
  report->descending = keys::is_descending(job.direction);
  report->num_keys = result.num_in;
  report->workspace_bytes = job.plan.memory_bytes;
  report->spilled_bytes = result.spilled_bytes;
  report->num_passes = (result.num_runs == 0 ? 0 : 1) + result.num_merges;
  report->elapsed_ms = elapsed_ms;
  for (const external::stage_report& stage : result.stages) {
    report->phases.push_back({.name = std::string(stage.name),
                              .elapsed_ms = stage.busy_s * 1e3,
                              .busy_ms = stage.busy_s * 1e3,
                              .bytes_moved = stage.bytes_moved,
                              .num_activities = 1});
  }
}

}  // namespace spansort::files
