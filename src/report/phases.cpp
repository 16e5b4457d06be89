// SPDX-License-Identifier: Apache-2.0
#include "report/phases.hpp"

#include <algorithm>

namespace spansort::report {
namespace {

constexpr double ns_per_ms = 1e6;

struct phase_span {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

}  // namespace

void summarize_timeline(sort_report& report) {
  std::ranges::stable_sort(report.timeline, {}, &activity::begin_ns);
  report.phases.clear();
  std::vector<phase_span> spans;
  for (const activity& a : report.timeline) {
    const auto same_name = [&](const phase_report& p) { return p.name == a.name; };
    auto phase = std::ranges::find_if(report.phases, same_name);
    if (phase == report.phases.end()) {
      report.phases.push_back({.name = std::string(a.name)});
      spans.push_back({a.begin_ns, a.end_ns});
      phase = report.phases.end() - 1;
    }
    phase_span& span = spans[static_cast<std::size_t>(phase - report.phases.begin())];
    span.end_ns = std::max(span.end_ns, a.end_ns);
    phase->elapsed_ms = static_cast<double>(span.end_ns - span.begin_ns) / ns_per_ms;
    phase->busy_ms += static_cast<double>(a.end_ns - a.begin_ns) / ns_per_ms;
    phase->bytes_moved += a.bytes_moved;
    phase->num_activities += 1;
  }
}

}  // namespace spansort::report
