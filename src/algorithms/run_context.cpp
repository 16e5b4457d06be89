// SPDX-License-Identifier: Apache-2.0
#include "algorithms/run_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "base/math.hpp"
#include "spansort/errors.hpp"

namespace spansort::algorithms {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// How often the callback hears of progress.
constexpr std::chrono::milliseconds progress_interval{100};
/// How often the queues are looked at between two calls.
constexpr std::chrono::milliseconds poll_interval{2};

/// Values start on a line of their own, so that partition can stream both arrays.
constexpr std::uint64_t array_alignment_bytes = 4096;

}  // namespace

run_context::run_context(std::vector<rank>& ranks, const sort_options& options, sort_report& report)
    : ranks_(ranks), options_(options), report_(report), start_ns_(now_ns()) {
  for (rank& r : ranks_) r.queue->set_monitor(&monitor_);
}

run_context::~run_context() {
  for (rank& r : ranks_) r.queue->set_monitor(nullptr);
}

device::records run_context::reserve(unsigned rank_index, unsigned slot, const device::record_shape& shape,
                                     std::uint64_t num_records) {
  rank& r = ranks_[rank_index];
  if (r.slots.size() <= slot) r.slots.resize(slot + 1);
  device::buffer& buffer = r.slots[slot];
  const std::uint64_t keys_bytes = base::round_up(num_records * shape.codec.width_bytes(), array_alignment_bytes);
  const std::uint64_t needed = keys_bytes + num_records * shape.value_bytes;
  if (buffer.size_bytes() < needed) {
    buffer = {};  // the old one goes first: they need not both fit
    const std::uint64_t limit = options_.memory_limit_bytes;
    const std::uint64_t held = workspace_bytes();
    if (limit != 0 && held + needed > limit) {
      throw out_of_memory(fmt::format("workspace of {} bytes exceeds the limit of {} bytes", held + needed, limit),
                          held + needed, limit);
    }
    buffer = r.device->allocate(needed);
  }
  char* const begin = static_cast<char*>(buffer.data());
  return {begin, shape.value_bytes == 0 ? nullptr : begin + keys_bytes};
}

std::uint64_t run_context::workspace_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const rank& r : ranks_) {
    for (const device::buffer& b : r.slots) bytes += b.size_bytes();
  }
  return bytes;
}

void run_context::finish_phase(std::string_view phase, double fraction, std::uint64_t work, cancel_point point) {
  const std::uint64_t work_before = monitor_.work_done.load(std::memory_order_relaxed);
  const double fraction_before = fraction_;
  if (options_.on_progress) {
    for (rank& r : ranks_) r.queue->record(*r.done);
    auto next_report = std::chrono::steady_clock::now() + progress_interval;
    while (!std::ranges::all_of(ranks_, [](const rank& r) { return r.done->is_complete(); })) {
      std::this_thread::sleep_for(poll_interval);
      if (std::chrono::steady_clock::now() < next_report) continue;
      const auto done = static_cast<double>(monitor_.work_done.load(std::memory_order_relaxed) - work_before);
      const double part = std::min(1.0, done / static_cast<double>(std::max<std::uint64_t>(work, 1)));
      report_progress(phase, fraction_before + (fraction - fraction_before) * part);
      next_report += progress_interval;
    }
  }
  std::exception_ptr failure;
  for (rank& r : ranks_) {
    try {
      r.queue->synchronize();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  collect_timeline();
  if (failure != nullptr) std::rethrow_exception(failure);
  if (point == cancel_point::inside_the_work) no_way_back();
  report_progress(phase, fraction);
  if (can_cancel_ && monitor_.stop_requested.load(std::memory_order_relaxed)) {
    throw cancelled("cancelled by the progress callback; the input is untouched");
  }
}

void run_context::join_queues() {
  for (rank& r : ranks_) r.queue->record(*r.done);
  for (rank& waiting : ranks_) {
    for (rank& awaited : ranks_) {
      if (&waiting != &awaited) waiting.queue->wait(*awaited.done);
    }
  }
}

void run_context::report_progress(std::string_view phase, double fraction) {
  fraction_ = std::max(fraction_, std::min(1.0, fraction));
  if (!options_.on_progress) return;
  const bool go_on = options_.on_progress({phase, fraction_});
  if (!go_on && can_cancel_) monitor_.stop_requested.store(true, std::memory_order_relaxed);
}

void run_context::collect_timeline() {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    for (const device::work_interval& w : ranks_[i].queue->take_intervals()) {
      report_.timeline.push_back({.rank = static_cast<int>(i),
                                  .name = w.name,
                                  .begin_ns = w.begin_ns - start_ns_,
                                  .end_ns = w.end_ns - start_ns_,
                                  .bytes_moved = w.bytes_moved,
                                  .num_keys = w.num_keys});
    }
  }
}

}  // namespace spansort::algorithms
