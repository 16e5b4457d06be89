// SPDX-License-Identifier: Apache-2.0
#include "sort/run_reported.hpp"

#include <algorithm>
#include <exception>
#include <new>

#include "base/said_of_done.hpp"
#include "report/open_report.hpp"
#include "report/phases.hpp"
#include "sort/arguments.hpp"
#include "sort/finish_alone.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {
namespace {

/// Returns what a failure means for the caller's arrays. An argsort only reads the keys.
std::string with_state(const error& failure, bool output_has_begun, std::string_view operation_name) {
  const std::string what = failure.what();
  if (!output_has_begun) return what + "; the input is untouched";
  if (operation_name == "argsort") {
    return what + "; the result was being written: the indices are neither input nor result, the keys are untouched";
  }
  return what + "; the result was being written: the data is neither input nor result";
}

/// Returns why this algorithm sorted, and what it found the input to be where that made it faster.
std::string why_picked(const algorithms::choice& chosen, const sort_report& report) {
  if (chosen.why.empty()) return report.algorithm + ": asked for";
  if (report.input_shape == "general" || report.input_shape == "unknown") return chosen.why;
  return chosen.why + "; the input was " + report.input_shape;
}

/// Finishes a sort that has begun to overwrite the caller's arrays. Returns false where it has not, or cannot be
/// finished. Records that flow may have been taken away already.
bool finish_what_has_begun(algorithms::run_context& context, const algorithms::problem& problem) {
  context.drain();
  return context.output_has_begun() && problem.flow == nullptr && finish_alone(context, problem);
}

/// Throws what failed with what it means for the caller's arrays, or as it is where there is no memory for the text:
/// std::bad_alloc would promise that nothing has been touched.
template <class Failure>
[[noreturn]] void rethrow_with_state(const Failure& failure, bool output_has_begun, std::string_view operation_name) {
  try {
    throw Failure(with_state(failure, output_has_begun, operation_name), failure.device());
  } catch (const std::bad_alloc&) {
    throw Failure(failure);
  }
}

/// Runs the driver. Where memory ends, or a host device gets no thread for a queue, when it has begun to overwrite the
/// caller's arrays, the sort is finished without either.
void run_driver(const algorithms::choice& chosen, algorithms::run_context& context,
                const algorithms::problem& problem) {
  const auto is_host = [](const algorithms::rank& r) { return r.device->memory_id() == device::host_memory; };
  // Made beforehand, for it is thrown where there is no memory.
  const std::exception_ptr unfinished = std::make_exception_ptr(device_error("no memory for the rest of the sort"));
  try {
    chosen.algorithm->run(context, problem);
  } catch (const std::bad_alloc&) {
    if (finish_what_has_begun(context, problem)) return;
    // Records that flow are the library's own: nothing of the caller's is lost.
    if (!context.output_has_begun() || problem.flow != nullptr) throw;
    std::rethrow_exception(unfinished);
  } catch (const device_error&) {
    if (!std::ranges::all_of(context.ranks(), is_host) || !finish_what_has_begun(context, problem)) throw;
  }
}

}  // namespace

void run_telling_state(const std::function<void()>& work, const std::function<bool()>& output_has_begun,
                       std::string_view operation_name) {
  try {
    work();
  } catch (const device_memory_error& failure) {
    rethrow_with_state(failure, output_has_begun(), operation_name);
  } catch (const device_lost& failure) {
    rethrow_with_state(failure, output_has_begun(), operation_name);
  } catch (const device_error& failure) {
    rethrow_with_state(failure, output_has_begun(), operation_name);
  } catch (const out_of_memory& failure) {
    if (!output_has_begun()) throw;
    // out_of_memory promises that nothing has been touched.
    throw device_error(with_state(failure, true, operation_name), failure.device());
  }
}

void run_reported(const algorithms::choice& chosen, std::vector<algorithms::rank>& ranks,
                  const algorithms::sort_settings& options, const algorithms::problem& problem, const operation& what,
                  const std::function<void(base::stop_rule)>& place_values, sort_report& report) {
  report::open_report open(&report, what.name);
  const std::size_t first_activity = report.timeline.size();
  report.ranks.clear();
  report.picked.clear();
  report.key_type = name(problem.shape.codec.type);
  report.descending = problem.shape.codec.descending;
  report.num_keys = problem.num_keys;
  report.value_bytes = problem.shape.value_bytes;
  for (unsigned i = 0; i < ranks.size(); ++i) {
    report.ranks.push_back(describe(*ranks[i].device, i, ranks.size(), problem));
  }
  {
    algorithms::run_context context(ranks, options, report);
    context.begin(problem);
    const auto work = [&] {
      if (what.make_records) what.make_records();
      run_driver(chosen, context, problem);
    };
    run_telling_state(
        work, [&] { return context.output_has_begun(); }, what.name);
    if (place_values) place_values(context.stop_rule());
    context.finish();  // last: here an exception of the progress callback surfaces
  }
  report.workspace_bytes = algorithms::held_bytes(ranks) + what.scratch_bytes;
  base::say_of_done([&] {
    report.picked = why_picked(chosen, report);
    if (!what.devices_picked.empty()) report.picked += "; " + what.devices_picked;
    report::summarize_timeline(report, first_activity);
    open.finish();
  });
}

}  // namespace spansort::sorting
