// SPDX-License-Identifier: Apache-2.0
#include "algorithms/run_context.hpp"

#include <algorithm>
#include <exception>
#include <thread>

#include "base/said_of_done.hpp"
#include "device/exchange_work.hpp"
#include "spansort/abandon.hpp"
#include "spansort/errors.hpp"

namespace spansort::algorithms {
namespace {

/// How often the callback hears of progress.
constexpr std::chrono::milliseconds progress_interval{100};
/// How often the queues are looked at between two calls.
constexpr std::chrono::milliseconds poll_interval{2};

// activity::queue.
constexpr int queue_of_work = 0;
constexpr int queue_of_copies = 1;
constexpr int queue_of_the_host = 2;
constexpr int queue_of_copies_out = 3;
constexpr int queue_of_exchanges = 4;

}  // namespace

held_queues::held_queues(std::vector<rank>& ranks, overwriting_queues which) noexcept : ranks_(ranks), which_(which) {
  are_held_ = for_each([](device::holding_queue&) {}) && !ranks_.empty();
  if (!are_held_) return;
  for_each([&](device::holding_queue& q) { are_held_ = q.hold() && are_held_; });
  if (!are_held_) for_each([](device::holding_queue& q) { q.release(); });
}

held_queues::~held_queues() {
  if (are_held_) for_each([](device::holding_queue& q) { q.discard(); });
}

void held_queues::release() noexcept {
  if (are_held_) for_each([](device::holding_queue& q) { q.release(); });
  are_held_ = false;
}

/// Calls f(queue) for those of the queues that can hold work back; returns whether all can.
template <class F>
bool held_queues::for_each(const F& f) noexcept {
  bool are_all = true;
  const auto call = [&](device::queue& q) {
    auto* const holding = dynamic_cast<device::holding_queue*>(&q);
    if (holding != nullptr) f(*holding);
    are_all = are_all && holding != nullptr;
  };
  for (rank& r : ranks_) {
    if (which_ == overwriting_queues::all) {
      r.for_each_queue(call);
    } else {
      r.for_each_queue_of_copies(call);
    }
  }
  return are_all;
}

run_context::run_context(std::vector<rank>& ranks, const sort_settings& options, sort_report& report)
    : ranks_(ranks), options_(options), report_(report), first_activity_(report.timeline.size()) {
  monitor_.wants_progress = options_.on_progress != nullptr;
  monitor_.wants_intervals = options_.report != nullptr;
  parts_.reserve(ranks_.size());
  for (rank& r : ranks_) r.for_each_queue([&](device::queue& q) { q.set_monitor(&monitor_); });
}

run_context::~run_context() {
  drain();
  for (rank& r : ranks_) {
    r.for_each_queue([](device::queue& q) {
      q.set_monitor(nullptr);
      try {
        static_cast<void>(q.take_intervals());  // of a run that failed
      } catch (...) {
      }
    });
  }
}

void run_context::drain() noexcept { static_cast<void>(synchronize_all()); }

std::exception_ptr run_context::synchronize_all() noexcept {
  std::exception_ptr failure;
  for (rank& r : ranks_) {
    r.for_each_queue([&](device::queue& q) {
      try {
        q.synchronize();
      } catch (...) {
        if (failure == nullptr) failure = std::current_exception();
      }
    });
    r.num_events_taken = 0;
  }
  return failure;
}

void run_context::finish_phase(std::string_view phase, double fraction, std::uint64_t work, cancel_point point) {
  // Where no memory is left to watch the work, it is waited for all the same.
  if (options_.on_progress) base::say_of_done([&] { watch_queues(phase, fraction, work); });
  const std::exception_ptr failure = synchronize_all();
  if (failure != nullptr) {
    throw_if_cancelled();
    std::rethrow_exception(failure);
  }
  if (point == cancel_point::inside_the_work) commit();
  report_progress(phase, fraction);
  throw_if_cancelled();
}

void run_context::watch_queues(std::string_view phase, double fraction, std::uint64_t work) {
  const std::uint64_t work_before = monitor_.work_done.load(std::memory_order_relaxed);
  const double fraction_before = fraction_;
  for (rank& r : ranks_) r.record_idle();
  auto next_report = std::chrono::steady_clock::now() + progress_interval;
  while (!std::ranges::all_of(ranks_, [](const rank& r) { return r.is_idle(); })) {
    std::this_thread::sleep_for(poll_interval);
    if (std::chrono::steady_clock::now() < next_report) continue;
    const auto done = static_cast<double>(monitor_.work_done.load(std::memory_order_relaxed) - work_before);
    // Work is counted a little before it ends: nobody is told that all is done while a queue is not idle.
    constexpr double most_of_running_work = 0.999;
    const double part = std::min(most_of_running_work, done / static_cast<double>(std::max<std::uint64_t>(work, 1)));
    report_progress(phase, fraction_before + (fraction - fraction_before) * part);
    next_report += progress_interval;
  }
}

void run_context::begin(const problem& sort) {
  is_disposable_ = sort.is_disposable;
  // Other processes would wait for this one, and a flow has taken records away.
  heeds_abandoned_ = sort.others == nullptr && sort.flow == nullptr;
  report_progress("start", 0);
  throw_if_cancelled();
}

void run_context::finish() {
  // Only now: reading hundreds of GPUs' events takes longer than some phases. The result stands whether they can be
  // read.
  try {
    if (monitor_.wants_intervals) collect_timeline();
  } catch (const std::exception&) {
    report_.timeline.resize(std::min(first_activity_, report_.timeline.size()));
  }
  if (fraction_ < 1) report_progress("done", 1);
  if (callback_failure_ != nullptr) std::rethrow_exception(callback_failure_);
}

void run_context::throw_if_cancelled() {
  const bool can_stop = can_cancel_ || monitor_.abandon_requested.load(std::memory_order_relaxed);
  if (!can_stop || !monitor_.stop_requested.load(std::memory_order_relaxed)) return;
  if (callback_failure_ != nullptr) std::rethrow_exception(callback_failure_);
  throw cancelled("cancelled by the progress callback; the input is untouched");
}

void run_context::join_queues() {
  const std::vector<device::event*> done = mark_ends([](rank& r) -> device::queue& { return *r.queue; });
  for (std::size_t waiting = 0; waiting < ranks_.size(); ++waiting) {
    for (std::size_t awaited = 0; awaited < ranks_.size(); ++awaited) {
      if (waiting != awaited) ranks_[waiting].queue->wait(*done[awaited]);
    }
  }
}

void run_context::open_copies_out() {
  for (rank& r : ranks_) {
    if (r.copies == nullptr || r.copies_out != nullptr) continue;
    r.idle_copies_out = r.device->make_event();
    r.copies_out = r.device->make_queue();
    r.copies_out->set_monitor(&monitor_);
  }
}

void run_context::open_exchanges() {
  const std::vector<device::event*> done = mark_ends([](rank& r) -> device::queue& { return *r.queue; });
  for (rank& r : ranks_) {
    if (r.exchanges == nullptr) {
      r.idle_exchanges = r.device->make_event();
      auto* const own = dynamic_cast<device::exchanging_device*>(r.device.get());
      r.exchanges = own != nullptr ? own->make_exchange_queue() : r.device->make_queue();
    }
    r.exchanges->set_monitor(&monitor_);
    for (device::event* const e : done) r.exchanges->wait(*e);
  }
}

void run_context::join_exchanges() {
  const std::vector<device::event*> done = mark_ends([](rank& r) -> device::queue& { return *r.exchanges; });
  for (rank& r : ranks_) {
    for (device::event* const e : done) r.exchanges->wait(*e);
  }
}

void run_context::report_progress(std::string_view phase, double fraction) noexcept {
  fraction_ = std::max(fraction_, std::min(1.0, fraction));
  if (!options_.on_progress || callback_failure_ != nullptr) return;
  bool go_on = false;
  bool is_abandoned = is_disposable_;
  try {
    go_on = options_.on_progress({phase, fraction_});
  } catch (const abandoned&) {
    callback_failure_ = std::current_exception();
    is_abandoned = is_abandoned || heeds_abandoned_;
  } catch (...) {
    // Queues may be at work on memory of ours: a callback that throws cancels, and its exception follows then.
    callback_failure_ = std::current_exception();
  }
  if (go_on) return;
  if (is_abandoned) monitor_.abandon_requested.store(true, std::memory_order_relaxed);
  if (is_abandoned || can_cancel_) monitor_.stop_requested.store(true, std::memory_order_relaxed);
}

void run_context::note_host_work(std::string_view name, std::uint64_t bytes_moved, std::int64_t begin_ns) {
  if (!monitor_.wants_intervals) return;
  const activity work{.rank = 0,
                      .queue = queue_of_the_host,
                      .name = name,
                      .begin_ns = begin_ns - report_.begin_ns,
                      .end_ns = device::now_ns() - report_.begin_ns,
                      .bytes_moved = bytes_moved,
                      .num_keys = 0};
  base::say_of_done([&] { report_.timeline.push_back(work); });
}

void run_context::collect_timeline() {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const rank& r = ranks_[i];
    collect_timeline(r.queue.get(), static_cast<int>(i), queue_of_work);
    collect_timeline(r.copies.get(), static_cast<int>(i), queue_of_copies);
    collect_timeline(r.copies_out.get(), static_cast<int>(i), queue_of_copies_out);
    collect_timeline(r.exchanges.get(), static_cast<int>(i), queue_of_exchanges);
  }
}

void run_context::collect_timeline(device::queue* q, int rank, int queue) {
  if (q == nullptr) return;
  for (const device::work_interval& w : q->take_intervals()) {
    report_.timeline.push_back({.rank = rank,
                                .queue = queue,
                                .name = w.name,
                                .begin_ns = w.begin_ns - report_.begin_ns,
                                .end_ns = w.end_ns - report_.begin_ns,
                                .bytes_moved = w.bytes_moved,
                                .num_keys = w.num_keys});
  }
}

}  // namespace spansort::algorithms
