// SPDX-License-Identifier: Apache-2.0
#include "files/note_stage.hpp"

#include <string_view>
#include <vector>

#include "base/said_of_done.hpp"

namespace spansort::files {
namespace {

/// Returns the row of the trace that shows a stage.
int row_of(std::string_view stage) {
  if (stage == "read" || stage == "read runs") return report::row_of_reading;
  return stage == "write" || stage == "spill" ? report::row_of_writing : report::row_of_work;
}

std::vector<activity> activities_of(const external::stage_report& stage, std::uint64_t element_bytes) {
  std::vector<activity> activities;
  for (const external::stage_interval& i : stage.clock.intervals()) {
    activities.push_back({.rank = activity_of_files,
                          .queue = row_of(stage.name),
                          .name = stage.name,
                          .begin_ns = i.begin_ns,
                          .end_ns = i.end_ns,
                          .bytes_moved = i.num_elements * element_bytes,
                          .num_keys = i.num_elements});
  }
  return activities;
}

}  // namespace

// The output may be in place already.
void note_stage(report::open_report& open, const external::stage_report& stage, std::uint64_t element_bytes) {
  base::say_of_done([&] { open.add_activities(activities_of(stage, element_bytes)); });
}

}  // namespace spansort::files
