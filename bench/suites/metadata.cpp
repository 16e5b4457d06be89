// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/metadata.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <spansort/devices.hpp>
#include <spansort/version.hpp>

#include "bench/circumstances.hpp"
#include "bench/suites/gpu/gpu.hpp"

namespace bench {

using json = nlohmann::ordered_json;

namespace {

constexpr const char* of_figures =
    "median of runs_ms; contenders take turns, but for those marked alone; the first result that counts of each "
    "contender is verified; what several figures show is measured once";
constexpr const char* of_the_grid =
    "least of runs_ms; contenders take turns, but for those marked alone; the first result that counts of each "
    "contender is verified; a peer that is far behind has one run, and short runs are repeated up to four times as "
    "often";

}  // namespace

json metadata(const std::string& suite, const settings& s, const std::string& command) {
  json devices = json::array();
  for (const spansort::device_description& d : spansort::list_devices()) {
    devices.push_back({{"name", d.name}, {"model", d.model}, {"memory_bytes", d.memory_bytes}});
  }
  json meta = {{"benchmark", suite},
               {"version", SPANSORT_VERSION},
               {"commit", s.commit},
               {"command", command},
               {"date", date_today()},
               {"devices", devices},
               {"num_threads", spansort::num_processors()},
               {"vector_target", spansort::list_devices().front().vector_target},
               {"compiler", __VERSION__}};
  if (const json software = gpu_software(); !software.is_null()) meta["gpu_software"] = software;
  if (s.is_grid) {
    const char* const vectors = std::getenv("SPANSORT_VECTORS");
    meta["vectors_forced"] = vectors == nullptr ? "" : vectors;
    meta["clocks"] = "runs_ms: wall clock; cpu_ms: time of all processors of the process; milliseconds for one array";
  }
  meta.update({{"seed", s.seed},
               {"repeats", s.repeats},
               {"load_average_at_start", load_average()},
               {"notes", s.notes},
               {"statistic", s.is_grid ? of_the_grid : of_figures}});
  return meta;
}

}  // namespace bench
