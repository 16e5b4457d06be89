// SPDX-License-Identifier: Apache-2.0
#include "report/phases.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "report/open_report.hpp"

namespace spansort::report {
namespace {

constexpr double ns_per_ms = 1e6;

struct phase_span {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::map<int, std::int64_t> ends_ns = {};  ///< by rank: the last end so far
};

}  // namespace

void summarize_timeline(sort_report& report, std::size_t first) {
  const std::span timeline = std::span(report.timeline).subspan(std::min(first, report.timeline.size()));
  std::ranges::stable_sort(timeline, {}, &activity::begin_ns);
  std::vector<phase_report> phases;
  std::vector<phase_span> spans;
  for (const activity& a : timeline) {
    auto phase = std::ranges::find(phases, a.name, &phase_report::name);
    if (phase == phases.end()) {
      phases.push_back({.name = std::string(a.name)});
      spans.push_back({a.begin_ns, a.end_ns, {}});
      phase = phases.end() - 1;
    }
    phase_span& span = spans[static_cast<std::size_t>(phase - phases.begin())];
    span.end_ns = std::max(span.end_ns, a.end_ns);
    phase->elapsed_ms = static_cast<double>(span.end_ns - span.begin_ns) / ns_per_ms;
    // Pieces of a device's work that go on side by side count once.
    std::int64_t& end_ns = span.ends_ns.try_emplace(a.rank, a.begin_ns).first->second;
    phase->busy_ms +=
        static_cast<double>(std::max<std::int64_t>(0, a.end_ns - std::max(a.begin_ns, end_ns))) / ns_per_ms;
    end_ns = std::max(end_ns, a.end_ns);
    phase->bytes_moved += a.bytes_moved;
    phase->num_activities += 1;
  }
  for (const phase_report& phase : phases) add_phase(report, phase);
}

}  // namespace spansort::report
