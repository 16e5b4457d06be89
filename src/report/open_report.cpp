// SPDX-License-Identifier: Apache-2.0
#include "report/open_report.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "report/phases.hpp"

namespace spansort::report {
void add_phase(sort_report& report, const phase_report& phase) {
  const auto known = std::ranges::find(report.phases, phase.name, &phase_report::name);
  if (known == report.phases.end()) {
    report.phases.push_back(phase);
    return;
  }
  known->elapsed_ms += phase.elapsed_ms;
  known->busy_ms += phase.busy_ms;
  known->bytes_moved += phase.bytes_moved;
  known->num_activities += phase.num_activities;
}

namespace {

/// Puts phases in the order of their first start: what goes on side by side is summed up when it ends.
void order_phases(sort_report& report) {
  const auto first_start = [&](const phase_report& phase) {
    return std::ranges::find(report.timeline, phase.name, &activity::name) - report.timeline.begin();
  };
  const auto num_activities = static_cast<std::ptrdiff_t>(report.timeline.size());
  const auto is_timed = [&](const phase_report& phase) { return first_start(phase) != num_activities; };
  if (std::ranges::all_of(report.phases, is_timed)) std::ranges::stable_sort(report.phases, {}, first_start);
}

}  // namespace

open_report::open_report(sort_report* report, std::string_view operation) : report_(report) {
  if (report_ == nullptr) return;
  if (report_->num_open == 0) {
    const bool wants_plan = report_->wants_plan;
    *report_ = {};
    report_->wants_plan = wants_plan;
    report_->operation = operation;
    report_->begin_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(begin_.time_since_epoch()).count();
  }
  ++report_->num_open;
}

open_report::~open_report() {
  if (report_ != nullptr) --report_->num_open;
}

void open_report::add_phase(std::string_view name, double elapsed_ms, std::uint64_t bytes_moved) {
  if (report_ == nullptr) return;
  report::add_phase(*report_, {std::string(name), elapsed_ms, elapsed_ms, bytes_moved, 1});
}

void open_report::add_activities(const std::vector<activity>& activities) {
  if (report_ == nullptr || activities.empty()) return;
  const std::size_t first = report_->timeline.size();
  for (activity a : activities) {
    a.begin_ns -= report_->begin_ns;
    a.end_ns -= report_->begin_ns;
    report_->timeline.push_back(a);
  }
  summarize_timeline(*report_, first);
}

void open_report::finish() {
  if (report_ != nullptr && report_->num_open == 1) {
    std::ranges::stable_sort(report_->timeline, {}, &activity::begin_ns);
    order_phases(*report_);
    report_->elapsed_ms = std::chrono::duration<double, std::milli>(clock::now() - begin_).count();
  }
}

}  // namespace spansort::report
