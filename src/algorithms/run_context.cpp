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

run_context::run_context(std::vector<rank>& ranks, const sort_options& options, sort_report& report,
                         std::uint64_t other_bytes)
    : ranks_(ranks), options_(options), report_(report), start_ns_(now_ns()), other_bytes_(other_bytes) {
  for (rank& r : ranks_) r.queue->set_monitor(&monitor_);
}

run_context::~run_context() {
  for (rank& r : ranks_) {
    try {
      r.queue->synchronize();
    } catch (...) {  // what failed has been thrown already, or something graver is on its way
    }
    r.queue->set_monitor(nullptr);
  }
}

void run_context::require(std::uint64_t total_bytes) const {
  // Below this, asking what is available costs more than it tells.
  constexpr std::uint64_t worth_asking_bytes = std::uint64_t{64} << 20;
  const std::uint64_t held = workspace_bytes();
  const std::uint64_t needed = total_bytes + other_bytes_;
  const std::uint64_t limit = options_.memory_limit_bytes;
  if (limit != 0 && needed > limit) {
    throw out_of_memory(fmt::format("workspace of {} bytes exceeds the limit of {} bytes", needed, limit), needed,
                        limit);
  }
  if (total_bytes < worth_asking_bytes || total_bytes <= held) return;
  const std::uint64_t available = ranks_.front().device->info().available_bytes;
  if (total_bytes - held <= available) return;
  throw out_of_memory(fmt::format("workspace does not fit in memory: {} bytes needed, {} bytes available",
                                  total_bytes - held, available),
                      total_bytes - held, available);
}

std::uint64_t run_context::slot_bytes(const device::record_shape& shape, std::uint64_t num_records) noexcept {
  return base::round_up(num_records * shape.codec.width_bytes(), array_alignment_bytes) +
         num_records * shape.value_bytes;
}

device::records run_context::reserve(unsigned rank_index, unsigned slot, const device::record_shape& shape,
                                     std::uint64_t num_records) {
  rank& r = ranks_[rank_index];
  if (r.slots.size() <= slot) r.slots.resize(slot + 1);
  device::buffer& buffer = r.slots[slot];
  const std::uint64_t keys_bytes = base::round_up(num_records * shape.codec.width_bytes(), array_alignment_bytes);
  const std::uint64_t needed = slot_bytes(shape, num_records);
  if (buffer.size_bytes() < needed) {
    buffer = {};  // the old one goes first: they need not both fit
    require(workspace_bytes() + needed);
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
  if (options_.on_progress) watch_queues(phase, fraction, work);
  std::exception_ptr failure;
  for (rank& r : ranks_) {
    try {
      r.queue->synchronize();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  collect_timeline();
  if (failure != nullptr) {
    throw_if_cancelled();
    std::rethrow_exception(failure);
  }
  if (point == cancel_point::inside_the_work) no_way_back();
  report_progress(phase, fraction);
  throw_if_cancelled();
}

void run_context::watch_queues(std::string_view phase, double fraction, std::uint64_t work) {
  const std::uint64_t work_before = monitor_.work_done.load(std::memory_order_relaxed);
  const double fraction_before = fraction_;
  for (rank& r : ranks_) r.queue->record(*r.idle);
  auto next_report = std::chrono::steady_clock::now() + progress_interval;
  while (!std::ranges::all_of(ranks_, [](const rank& r) { return r.idle->is_complete(); })) {
    std::this_thread::sleep_for(poll_interval);
    if (std::chrono::steady_clock::now() < next_report) continue;
    const auto done = static_cast<double>(monitor_.work_done.load(std::memory_order_relaxed) - work_before);
    const double part = std::min(1.0, done / static_cast<double>(std::max<std::uint64_t>(work, 1)));
    report_progress(phase, fraction_before + (fraction - fraction_before) * part);
    next_report += progress_interval;
  }
}

void run_context::begin() {
  report_progress("start", 0);
  throw_if_cancelled();
}

void run_context::finish() {
  if (fraction_ < 1) report_progress("done", 1);
  if (callback_failure_ != nullptr) std::rethrow_exception(callback_failure_);
}

void run_context::throw_if_cancelled() {
  if (!can_cancel_ || !monitor_.stop_requested.load(std::memory_order_relaxed)) return;
  if (callback_failure_ != nullptr) std::rethrow_exception(callback_failure_);
  throw cancelled("cancelled by the progress callback; the input is untouched");
}

void run_context::join_queues() {
  for (rank& r : ranks_) r.queue->record(*r.done);
  for (rank& waiting : ranks_) {
    for (rank& awaited : ranks_) {
      if (&waiting != &awaited) waiting.queue->wait(*awaited.done);
    }
  }
}

void run_context::report_progress(std::string_view phase, double fraction) noexcept {
  fraction_ = std::max(fraction_, std::min(1.0, fraction));
  if (!options_.on_progress || callback_failure_ != nullptr) return;
  bool go_on = false;
  try {
    go_on = options_.on_progress({phase, fraction_});
  } catch (...) {
    // Queues may be at work on memory of ours: a callback that throws cancels, and its exception follows then.
    callback_failure_ = std::current_exception();
  }
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
