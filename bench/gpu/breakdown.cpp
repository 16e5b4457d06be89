// SPDX-License-Identifier: Apache-2.0
// Suite `breakdown`: where the time of a sort from host to host goes, by phase and device (figures 6 and 7 of the BTW
// paper), from the report of a run after the timed ones. A Chrome trace of it is written beside the JSON.
#include <fmt/format.h>

#include <filesystem>
#include <spansort/files.hpp>
#include <sstream>

#include "bench/gpu/device_list.hpp"
#include "bench/gpu/sort_runs.hpp"
#include "bench/gpu/suites.hpp"

namespace bench {
namespace {

/// Writes the trace; returns its file's name, "" where no JSON is written either.
std::string write_trace(const settings& s, const spansort::sort_report& report, std::size_t num_gpus) {
  if (s.json_file.empty()) return "";
  std::filesystem::path file(s.json_file);
  file.replace_filename(fmt::format("{}-{}gpu.trace.json", file.stem().string(), num_gpus));
  std::ostringstream trace;
  spansort::write_chrome_trace(report, trace);
  spansort::write_file(file.string(), trace.str());
  return file.filename().string();
}

outcome measure(const settings& s, host_arrays& arrays, const std::vector<int>& devices) {
  const host_input input{"u32", "uniform", static_cast<std::uint64_t>(s.num_keys), s.seed};
  const sort_runs runs = run_sorts(arrays, input, arrays.pinned(), {.devices = device_list_text(devices)}, s.repeats);
  const spansort::sort_report& report = runs.report;
  outcome found;
  found.verified = runs.verified;
  found.fields = to_json(input);
  found.fields.update(
      {{"devices", devices}, {"num_gpus", devices.size()}, {"algorithm", "auto"}, {"memory", "pinned"}});
  found.fields.update(to_json(runs, input.num_keys));
  found.fields.update({{"phases_by_rank", phases_by_rank(report)}, {"trace", write_trace(s, report, devices.size())}});
  found.line = fmt::format("{:8.1f} ms:", runs.median_ms());
  for (const spansort::phase_report& phase : report.phases) {
    found.line += fmt::format("  {} {:.1f}", phase.name, phase.elapsed_ms);
  }
  return found;
}

}  // namespace

void add_breakdown_cases(const settings& s, const shared_arrays& arrays, case_list& cases) {
  for (const std::vector<int>& devices : prefixes(s.devices)) {
    cases.push_back(
        {"breakdown", "u32, " + count_text(devices), [s, arrays, devices] { return measure(s, *arrays, devices); }});
  }
}

}  // namespace bench
