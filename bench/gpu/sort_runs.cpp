// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/sort_runs.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "bench/gpu/timing.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;

constexpr double ms_per_ns = 1e-6;

/// A phase on a device. Its pieces of work may overlap; the time in which there was one counts once.
struct rank_phase {
  int rank = 0;
  std::string_view name;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t busy_ns = 0;
  std::uint64_t bytes_moved = 0;
  std::uint64_t num_activities = 0;

  void add(const spansort::activity& a) {
    busy_ns += std::max<std::int64_t>(0, a.end_ns - std::max(a.begin_ns, end_ns));
    end_ns = std::max(end_ns, a.end_ns);
    bytes_moved += a.bytes_moved;
    ++num_activities;
  }
};

}  // namespace

double sort_runs::median_ms() const { return median(runs_ms); }

sort_runs run_sorts(host_arrays& arrays, const host_input& input, void* work, spansort::sort_options options,
                    unsigned repeats) {
  arrays.set_input(input);
  std::optional<spansort::sorter> sorter;
  sort_runs found;
  arrays.restore(work);
  found.first_call_ms = wall_ms([&] {
    sorter.emplace(options);
    sort_records(*sorter, input, work);
  });
  found.verified = arrays.looks_right(work);
  for (unsigned i = 0; i < repeats; ++i) {
    arrays.restore(work);
    found.runs_ms.push_back(wall_ms([&] { sort_records(*sorter, input, work); }));
    const bool is_last = i + 1 == repeats;
    found.verified = (is_last ? arrays.holds_result(work) : arrays.looks_right(work)) && found.verified;
  }
  sorter.reset();  // two would not fit
  options.report = &found.report;
  sorter.emplace(options);
  for (unsigned i = 0; i < 2; ++i) {  // the first one takes the memory
    arrays.restore(work);
    sort_records(*sorter, input, work);
  }
  return found;
}

json to_json(const host_input& input) {
  return {
      {"type", input.type}, {"distribution", input.distribution}, {"num_keys", input.num_keys}, {"seed", input.seed}};
}

json to_json(const sort_runs& runs, std::uint64_t num_keys) {
  return {{"median_ms", runs.median_ms()},
          {"giga_keys_per_s", giga_per_s(static_cast<double>(num_keys), runs.median_ms())},
          {"first_call_ms", runs.first_call_ms},
          {"runs_ms", runs.runs_ms},
          {"report", json::parse(spansort::to_json(runs.report))}};
}

json phases_by_rank(const spansort::sort_report& report) {
  std::vector<rank_phase> phases;  // in order of their first start, as the timeline is
  for (const spansort::activity& a : report.timeline) {
    const auto same = [&](const rank_phase& p) { return p.rank == a.rank && p.name == a.name; };
    auto phase = std::ranges::find_if(phases, same);
    if (phase == phases.end()) phase = phases.insert(phases.end(), {a.rank, a.name, a.begin_ns, a.begin_ns});
    phase->add(a);
  }
  json found = json::array();
  for (const rank_phase& p : phases) {
    found.push_back({{"rank", p.rank},
                     {"phase", p.name},
                     {"begin_ms", static_cast<double>(p.begin_ns) * ms_per_ns},
                     {"end_ms", static_cast<double>(p.end_ns) * ms_per_ns},
                     {"busy_ms", static_cast<double>(p.busy_ns) * ms_per_ns},
                     {"bytes_moved", p.bytes_moved},
                     {"num_activities", p.num_activities}});
  }
  return found;
}

}  // namespace bench
