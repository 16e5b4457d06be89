// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>

#include "spansort/report.hpp"

namespace spansort {
namespace {

using json = nlohmann::ordered_json;

constexpr double us_per_ns = 1e-3;

json phases_json(const sort_report& report) {
  json phases = json::array();
  for (const phase_report& p : report.phases) {
    phases.push_back({{"name", p.name},
                      {"elapsed_ms", p.elapsed_ms},
                      {"busy_ms", p.busy_ms},
                      {"bytes_moved", p.bytes_moved},
                      {"num_activities", p.num_activities}});
  }
  return phases;
}

json ranks_json(const sort_report& report) {
  json ranks = json::array();
  for (const rank_report& r : report.ranks) {
    ranks.push_back({{"device", r.device},
                     {"num_threads", r.num_threads},
                     {"num_keys_in", r.num_keys_in},
                     {"num_keys_out", r.num_keys_out}});
  }
  return ranks;
}

constexpr std::array<const char*, 3> file_rows{"files: read", "files: sort", "files: write"};

/// The trace's rows: files, each rank's work and, below, each rank's copies.
std::size_t row_of(const sort_report& report, int rank, int queue) {
  const auto below = static_cast<std::size_t>(queue);
  if (rank == activity_of_files) return below;
  return file_rows.size() + static_cast<std::size_t>(rank) + below * report.ranks.size();
}

json row_name(const sort_report& report, int rank, int queue) {
  constexpr std::array<const char*, 5> queues{"", ", copies", ", other processes", ", copies out", ", exchange"};
  const auto at = static_cast<std::size_t>(queue);
  const std::string name = rank == activity_of_files
                               ? file_rows.at(at)
                               : "rank " + std::to_string(rank) + " (" +
                                     report.ranks[static_cast<std::size_t>(rank)].device + ")" + queues.at(at);
  return {{"ph", "M"},
          {"pid", 1},
          {"tid", row_of(report, rank, queue)},
          {"name", "thread_name"},
          {"args", {{"name", name}}}};
}

}  // namespace

std::string to_json(const sort_report& report) {
  const json document = {{"operation", report.operation},
                         {"key_type", report.key_type},
                         {"descending", report.descending},
                         {"num_keys", report.num_keys},
                         {"value_bytes", report.value_bytes},
                         {"algorithm", report.algorithm},
                         {"picked", report.picked},
                         {"input_shape", report.input_shape},
                         {"elapsed_ms", report.elapsed_ms},
                         {"num_passes", report.num_passes},
                         {"num_spanning_buckets", report.num_spanning_buckets},
                         {"imbalance", report.imbalance},
                         {"workspace_bytes", report.workspace_bytes},
                         {"exchanged_bytes", report.exchanged_bytes},
                         {"staged_bytes", report.staged_bytes},
                         {"staged_because", report.staged_because},
                         {"spilled_bytes", report.spilled_bytes},
                         {"ranks", ranks_json(report)},
                         {"phases", phases_json(report)}};
  return document.dump(2);
}

void write_chrome_trace(const sort_report& report, std::ostream& out) {
  json events = json::array();
  events.push_back({{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", "spansort"}}}});
  std::set<std::size_t> named_rows;
  const auto name_row = [&](int rank, int queue) {
    if (named_rows.insert(row_of(report, rank, queue)).second) events.push_back(row_name(report, rank, queue));
  };
  for (int rank = 0; rank < static_cast<int>(report.ranks.size()); ++rank) name_row(rank, 0);
  for (const activity& a : report.timeline) name_row(a.rank, a.queue);
  for (const activity& a : report.timeline) {
    events.push_back({{"ph", "X"},
                      {"pid", 1},
                      {"tid", row_of(report, a.rank, a.queue)},
                      {"name", a.name},
                      {"ts", static_cast<double>(a.begin_ns) * us_per_ns},
                      {"dur", static_cast<double>(a.end_ns - a.begin_ns) * us_per_ns},
                      {"args", {{"bytes_moved", a.bytes_moved}, {"num_keys", a.num_keys}}}});
  }
  out << json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() << '\n';
}

}  // namespace spansort
