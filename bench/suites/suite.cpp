// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <spansort/devices.hpp>
#include <spansort/errors.hpp>
#include <spansort/files.hpp>
#include <spansort/version.hpp>

#include "bench/suites/devices.hpp"
#include "bench/suites/gpu/gpu.hpp"
#include "bench/suites/race.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;
using steady = std::chrono::steady_clock;

std::string date_today() {
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  return date;
}

/// The processes that want to run, over the last minute.
double load_average() {
  double load = -1;
  return ::getloadavg(&load, 1) == 1 ? load : -1;
}

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
  meta.update({{"seed", s.seed},
               {"repeats", s.repeats},
               {"load_average_at_start", load_average()},
               {"notes", s.notes},
               {"statistic", "median of runs_ms; contenders take turns"}});
  return meta;
}

bool is_wanted(const figure& f, const settings& s) {
  return s.figures.empty() || std::ranges::any_of(s.figures, [&](const std::string& word) {
           return f.name.find(word) != std::string::npos;
         });
}

/// Returns why there is no memory for a case, "" where there is: the input, its work array and records of baselines,
/// and a workspace of three copies.
std::string why_too_large(const case_spec& spec, const figure& of, const std::vector<std::string>& lists) {
  const std::uint64_t size_bytes = spec.num_keys * record_bytes_of(spec.type);
  for (const spansort::device_description& device : spansort::list_devices()) {
    const bool is_host = !device.name.starts_with("gpu");
    const bool holds_all = is_host || (!of.spans_devices && std::ranges::any_of(lists, is_gpu));
    const std::uint64_t needed = size_bytes * (is_host ? 6 : 5);
    if (holds_all && needed > device.available_bytes) {
      return fmt::format("{} has {} of the {} bytes that it may take", device.name, device.available_bytes, needed);
    }
  }
  return "";
}

std::vector<candidate> candidates_of(const figure& of, const case_spec& spec, const settings& s) {
  std::vector<candidate> found = our_candidates(of, spec, s);
  if (!of.with_baselines) return found;
  const auto add = [&found](std::vector<candidate> more) { std::ranges::move(more, std::back_inserter(found)); };
  const bool has_cpu = !std::ranges::all_of(s.devices, is_gpu);
  if (has_cpu || of.spans_devices) add(cpu_baselines());
  const auto gpu = std::ranges::find_if(s.devices, is_gpu);
  if (gpu != s.devices.end() && !of.spans_devices) add(gpu_baselines(first_gpu(*gpu)));
  if (!s.peers_file.empty()) add(peer_candidates(s.peers_file, spec));
  return found;
}

/// The cases of all figures with the time that they may take, and what came of them.
class suite_runner {
 public:
  suite_runner(settings s, json meta) : settings_(std::move(s)), race_(settings_) {
    document_ = {{"meta", std::move(meta)}, {"cases", json::array()}, {"left_out", json::array()}};
  }

  int run(const std::vector<figure>& figures) {
    for (std::size_t i = 0; i < figures.size(); ++i) {
      // Each figure has its share of the time, and what the ones before it left.
      end_s_ = settings_.seconds * static_cast<double>(i + 1) / static_cast<double>(figures.size());
      for (const case_spec& spec : figures[i].cases) run_case(figures[i], spec);
    }
    write();
    fmt::print("{} cases, {} left out\n", document_["cases"].size(), document_["left_out"].size());
    return race_.all_verified() ? 0 : 8;
  }

 private:
  void run_case(const figure& of, const case_spec& spec) {
    const std::string title = fmt::format("{}: {} {} n = {}{}", of.name, spec.type, spec.distribution, spec.num_keys,
                                          spec.radix_bits == 0 ? "" : fmt::format(", {} bits", spec.radix_bits));
    std::string why_not = why_too_large(spec, of, settings_.devices);
    if (settings_.seconds > 0 && elapsed_s() > end_s_) why_not = "no time left";
    fmt::print("\n{}\n", title);
    try {
      if (why_not.empty()) {
        document_["cases"].push_back(race_.run(of, spec, candidates_of(of, spec, settings_)));
      }
    } catch (const spansort::out_of_memory& e) {
      why_not = e.what();
    }
    if (!why_not.empty()) leave_out(of, spec, why_not);
    write();  // after every case: an hour's figures must not be lost with the last one
  }

  void leave_out(const figure& of, const case_spec& spec, const std::string& why) {
    fmt::print("  left out: {}\n", why);
    document_["left_out"].push_back({{"figure", of.name},
                                     {"type", spec.type},
                                     {"distribution", spec.distribution},
                                     {"num_keys", spec.num_keys},
                                     {"reason", why}});
  }

  [[nodiscard]] double elapsed_s() const { return std::chrono::duration<double>(steady::now() - begin_).count(); }
  void write() const {
    if (!settings_.json_file.empty()) spansort::write_file(settings_.json_file, document_.dump(1) + "\n");
  }

  settings settings_;
  race_runner race_;
  json document_;
  steady::time_point begin_ = steady::now();
  double end_s_ = 0;
};

}  // namespace

int run_suite(const std::string& suite, settings s, const std::string& command) {
  s.devices = resolve_devices(s.devices);
  std::vector<figure> figures = figures_of(suite, s.max_log2_size);
  std::erase_if(figures, [&](const figure& f) { return !is_wanted(f, s); });
  if (figures.empty()) throw spansort::invalid_argument("--cases names no figure of suite " + suite);
  const json meta = metadata(suite, s, command);
  return suite_runner(std::move(s), meta).run(figures);
}

}  // namespace bench
