// SPDX-License-Identifier: Apache-2.0
// Reports of operations that run inside each other: the outermost one opens the report, those inside add to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "spansort/report.hpp"

namespace spansort::report {

// Queues of `activity_of_files`.
inline constexpr int row_of_reading = 0;
inline constexpr int row_of_work = 1;
inline constexpr int row_of_writing = 2;

/// Adds a phase to those that the report has; a phase of the same name takes its numbers in.
void add_phase(sort_report& report, const phase_report& phase);

/// Holds a report open while an operation runs.
class open_report {
 public:
  using clock = std::chrono::steady_clock;

  /// Begins the report anew where no other operation holds it open; only that one's name and duration stand in it. A
  /// null `report` is of an operation that nobody wants to know about.
  open_report(sort_report* report, std::string_view operation);
  ~open_report();
  open_report(const open_report&) = delete;
  open_report& operator=(const open_report&) = delete;

  /// Adds a phase of the host alone.
  void add_phase(std::string_view name, double elapsed_ms, std::uint64_t bytes_moved);
  /// Adds pieces of work to the timeline, and what they sum up to, to the phases. Their times are the steady clock's.
  void add_activities(const std::vector<activity>& activities);
  /// The operation has succeeded: notes how long it took and sorts the timeline, where it is the outermost one.
  void finish();

 private:
  sort_report* report_;
  clock::time_point begin_ = clock::now();
};

}  // namespace spansort::report
