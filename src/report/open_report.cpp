// SPDX-License-Identifier: Apache-2.0
#include "report/open_report.hpp"

#include <algorithm>
#include <string>

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

open_report::open_report(sort_report* report, std::string_view operation) : report_(report) {
  if (report_ == nullptr) return;
  if (report_->num_open == 0) {
    const bool wants_plan = report_->wants_plan;
    *report_ = {};
    report_->wants_plan = wants_plan;
    report_->operation = operation;
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

void open_report::finish() {
  if (report_ != nullptr && report_->num_open == 1) {
    report_->elapsed_ms = std::chrono::duration<double, std::milli>(clock::now() - begin_).count();
  }
}

}  // namespace spansort::report
