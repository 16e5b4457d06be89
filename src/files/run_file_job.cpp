// SPDX-License-Identifier: Apache-2.0
// Every sort of files runs here: what was planned is read, sorted, verified and written, with report and progress.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/said_of_done.hpp"
#include "base/threads.hpp"
#include "files/external/head_sort.hpp"
#include "files/file_job.hpp"
#include "files/flowing_sort.hpp"
#include "files/note_stage.hpp"
#include "files/shown_progress.hpp"
#include "keys/codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"

namespace spansort::files {
namespace {

/// Shares of the whole that reading and writing are shown as; a sort of what is held whole takes about as long as both.
constexpr double read_share = 0.25;
constexpr double write_share = 0.25;

/// Shows a transfer as the part [begin, begin + share] of the work, about ten times a second.
transfer_progress shown_transfer(const progress_callback& user, std::string_view phase, double begin, double share) {
  if (!user) return {};
  return [user, phase, begin, share, last = std::chrono::steady_clock::now()](std::uint64_t done_bytes,
                                                                              std::uint64_t total_bytes) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now - last < std::chrono::milliseconds(100)) return;
    last = now;
    const double done = total_bytes == 0 ? 0 : static_cast<double>(done_bytes) / static_cast<double>(total_bytes);
    tell(user, phase, begin + share * std::min(done, 1.0));
  };
}

/// Shows each part of a transfer that is all of the work.
transfer_progress shown_reading(const progress_callback& user) {
  if (!user) return {};
  return [user](std::uint64_t done_bytes, std::uint64_t total_bytes) {
    tell(user, "read", total_bytes == 0 ? 0 : static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
  };
}

/// The files of a job: source of its elements, and sink.
struct file_ends {
  std::unique_ptr<external::element_source> source;  ///< null: a merge reads runs
  std::unique_ptr<external::element_sink> sink;
};

/// Returns whether a job that is held whole is written while it is being sorted. A stream takes nothing before all is
/// known to be well; how many keys are left of equal ones is known at the end.
bool writes_along(const file_job& job, const file_options& file) {
  return !file.unique && !file.on_sorted && !job.elements->target().is_stream;
}

/// `flow`, where there is one, is told what source and sink do on threads of their own.
file_ends open_ends(const file_job& job, const file_options& file, element_flow* flow = nullptr) {
  const bool keeps_page_cache = job.num_elements && job.plan.num_runs == 0;
  source_options reading{.keeps_page_cache = keeps_page_cache};
  // A head is counted before it is written, as is what is held whole.
  sink_options writing{.is_count_known = !file.unique || job.is_head_sort || job.is_held_whole,
                       .keeps_page_cache = keeps_page_cache,
                       .is_synced = file.sync,
                       .on_temporary = file.on_temporary};
  const progress_callback& user = job.options.on_progress;
  if (job.is_head_sort) reading.on_progress = shown_reading(user);
  if (job.is_held_whole) {
    reading.on_progress = shown_transfer(user, "read", 0, read_share);
    writing.on_progress = shown_transfer(user, "write", 1 - write_share, write_share);
  }
  if (flow != nullptr) {
    reading.on_progress = [flow](std::uint64_t done, std::uint64_t total) { flow->note_reading(done, total); };
    reading.on_arrived = [flow](std::uint64_t num_elements) { flow->arrive(num_elements); };
  }
  if (flow != nullptr && writes_along(job, file)) {
    writing.on_progress = [flow](std::uint64_t done, std::uint64_t total) { flow->note_writing(done, total); };
  }
  file_ends ends;
  ends.sink = job.elements->make_sink(writing);
  if (job.operation != file_operation::merge) ends.source = job.elements->take_source(reading);
  return ends;
}

/// Adds a stage of the job to its report.
void note_job_stage(const file_job& job, report::open_report& open, const external::stage_report& stage) {
  // Elements that are held whole need not be what the file holds.
  const bool is_of_input = job.is_held_whole && stage.name == "read";
  const std::uint64_t num_elements = std::max<std::uint64_t>(job.num_elements.value_or(0), 1);
  note_stage(open, stage, is_of_input ? job.elements->input_bytes() / num_elements : job.order->element_bytes());
}

external::external_options external_options_of(const file_job& job, const file_options& file,
                                               report::open_report& open) {
  external::external_options how;
  how.plan = job.plan;
  how.folders = job.folders;
  how.writing = {.input_name = job.input_name(),
                 .unique = file.unique,
                 .verify = file.verify,
                 .head = file.head,
                 .corrupts_result = job.hooks.corrupt_result};
  if (file.on_sorted && job.operation == file_operation::sort) {
    how.writing.on_whole = [&file, type = *job.elements->type()](std::byte* elements, std::uint64_t count) {
      file.on_sorted(const_key_span(type, elements, count));
    };
  }
  how.on_stage = [&open, &job](const external::stage_report& stage) { note_job_stage(job, open, stage); };
  if (const progress_callback& user = job.options.on_progress; user && !job.is_held_whole) {
    how.on_progress = [user](std::string_view phase, double fraction) { tell(user, phase, fraction); };
  }
  return how;
}

/// Returns the options of a sort of all elements at once: its ceiling is that of the job less what the elements take,
/// its progress is shown in the middle of the whole, and the caller's report gets its phases.
sort_options options_held_whole(const file_job& job) {
  sort_options inner = job.options;
  inner.devices = job.whole_devices;
  if (inner.memory_limit_bytes != 0) {
    inner.memory_limit_bytes -= std::min(inner.memory_limit_bytes - 1, job.elements->whole_bytes());
  }
  if (const progress_callback& user = job.options.on_progress) {
    inner.on_progress = [user](const progress& p) {
      return user({p.phase, read_share + (1 - read_share - write_share) * p.fraction});
    };
  }
  return inner;
}

/// Calls `sort`, and says of too little memory what takes it besides.
template <class Sort>
auto with_held_memory(const file_job& job, const Sort& sort) {
  try {
    return sort();
  } catch (const out_of_memory& failure) {
    const std::uint64_t held = job.elements->whole_bytes();
    throw out_of_memory(
        fmt::format("{}: {}, with {} bytes of keys and result in memory{}", job.input_name(), failure.what(), held,
                    job.options.memory_limit_bytes == 0 ? "" : "; raise the ceiling (-S)"),
        failure.needed_bytes() + held, failure.available_bytes() + held);
  }
}

external::external_result sort_side_by_side(const file_job& job, const file_options& file,
                                            const external::external_options& how) {
  const progress_callback& user = job.options.on_progress;
  const auto show = [&user](std::string_view phase, double fraction) {
    if (user) tell(user, phase, fraction);
  };
  element_flow flow(*job.num_elements, [&](double share) { show("read", read_share * share); });
  const file_ends ends = open_ends(job, file, &flow);
  return with_held_memory(job, [&] {
    return sort_flowing(flow, {*ends.source, *ends.sink}, *job.order,
                        {.writing = how.writing,
                         .threads = job.options.threads,
                         .writes_along = writes_along(job, file),
                         .while_writing = [&](double share) { show("write", 1 - write_share * (1 - share)); },
                         .on_stage = how.on_stage});
  });
}

external::external_result sort_held_whole(file_job& job, const file_options& file, report::open_report& open) {
  job.elements->hold_whole(job.options.memory_limit_bytes);
  job.order = job.elements->make_order(job.direction, options_held_whole(job));
  external::external_options how = external_options_of(job, file, open);
  const std::uint64_t least = job.hooks.file_flow_bytes == 0 ? least_flowing_bytes : job.hooks.file_flow_bytes;
  if (job.elements->whole_bytes() >= least) return sort_side_by_side(job, file, how);
  const file_ends ends = open_ends(job, file);
  how.sort_whole = [&job](std::byte* elements, std::uint64_t count) {
    with_held_memory(job, [&] { job.order->sort(elements, count); });
  };
  return external::sort_external(*ends.source, *ends.sink, *job.order, how);
}

external::external_result sort_head(const file_job& job, const file_options& file, report::open_report& open) {
  const file_ends ends = open_ends(job, file);
  const external::head_result head = external::write_head(
      *ends.source, *job.order,
      {.num_wanted = *file.head, .num_buffered = job.plan.chunk_elements, .unique = file.unique}, *ends.sink);
  external::stage_clock writing = head.writing;
  writing.run([&] {
    ends.sink->finish();
    return 0;
  });
  note_job_stage(job, open, {"read", head.reading});
  note_job_stage(job, open, {"drop late", head.dropping});
  note_job_stage(job, open, {"sort", head.sorting});
  note_job_stage(job, open, {"write", writing});
  external::external_result result;
  result.num_in = head.num_read;
  result.num_out = head.num_kept;
  return result;
}

std::string how_it_went(const file_job& job, const external::external_result& result) {
  if (job.operation == file_operation::merge) {
    return fmt::format("{} sorted inputs, merged {} at a time, on {}", job.plan.num_runs, job.plan.fan_in,
                       to_string(job.options.devices));
  }
  if (result.num_runs == 0) return fmt::format("in memory, element by element, on {}", to_string(job.options.devices));
  return fmt::format(
      "{} runs of up to {} elements in temporary files, merged {} at a time, on {}: larger than {} bytes of memory",
      result.num_runs, job.plan.chunk_elements, job.plan.fan_in, to_string(job.options.devices), job.ceiling_bytes);
}

/// Fills the report of a job that is not held whole; where it is, its one sort does.
void fill_report(const file_job& job, const external::external_result& result) {
  sort_report* const report = job.options.report;
  if (report == nullptr) return;
  const bool is_in_memory = job.operation != file_operation::merge && result.num_runs == 0;
  const std::optional<key_type> type = job.elements->type();
  report->key_type = type ? std::string(spansort::name(*type)) : "record";
  report->algorithm = is_in_memory ? "in memory" : "external";
  report->picked = how_it_went(job, result);
  report->input_shape = "unknown";
  report->descending = keys::is_descending(job.direction);
  report->num_keys = result.num_in;
  report->workspace_bytes = job.plan.memory_bytes;
  report->spilled_bytes = result.spilled_bytes;
  report->num_passes = (result.num_runs == 0 ? 0 : 1) + result.num_merges;
}

file_result result_of(const file_job& job, const file_options& file, const external::external_result& result) {
  return {.type = job.elements->type().value_or(key_type::u8),
          .record_bytes = job.elements->record_bytes(),
          .num_keys_in = result.num_in,
          .num_keys_out = result.num_out,
          .verified = file.verify,
          .num_runs = result.num_runs,
          .spilled_bytes = result.spilled_bytes};
}

external::external_result sort_in_parts(const file_job& job, const file_options& file, report::open_report& open) {
  const file_ends ends = open_ends(job, file);
  return external::sort_external(*ends.source, *ends.sink, *job.order, external_options_of(job, file, open));
}

}  // namespace

void require_sound_ends(file_job job, const file_options& file) { static_cast<void>(open_ends(job, file)); }

file_result run(file_job job, const file_options& file, report::open_report& open) {
  const external::external_result result = base::with_threads(job.options.threads, [&] {
    if (job.is_held_whole) return sort_held_whole(job, file, open);
    return job.is_head_sort ? sort_head(job, file, open) : sort_in_parts(job, file, open);
  });
  base::say_of_done([&] {
    if (!job.is_held_whole) fill_report(job, result);
    open.finish();
  });
  return result_of(job, file, result);
}

file_result merge(const file_job& job, const file_options& file, external::run_list runs, report::open_report& open) {
  const file_ends ends = open_ends(job, file);
  const external::external_result result = base::with_threads(job.options.threads, [&] {
    return external::merge_external(std::move(runs), *ends.sink, *job.order, external_options_of(job, file, open));
  });
  base::say_of_done([&] { fill_report(job, result); });
  return result_of(job, file, result);
}

}  // namespace spansort::files
