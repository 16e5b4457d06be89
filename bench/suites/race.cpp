// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <spansort/devices.hpp>
#include <spansort/errors.hpp>

#include "bench/suites/devices.hpp"
#include "bench/suites/gpu/gpu.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Returns whether the workspaces of all candidates fit side by side; else each is made anew for its turn. A workspace
/// takes up to four copies of the data, its arrays on a GPU included.
bool all_fit(const input& data, std::size_t num_candidates) {
  std::uint64_t available = ~std::uint64_t{0};
  for (const auto& device : spansort::list_devices()) available = std::min(available, device.available_bytes);
  return data.size_bytes() * 4 * num_candidates < available / 2;
}

std::string slow_key(const figure& of, const case_spec& spec, const candidate& c) {
  return of.name + spec.type + c.name + c.devices;
}

}  // namespace

/// One that takes part, with what came of it.
struct race_runner::lane {
  candidate who;
  std::optional<contender> ready = {};
  std::vector<double> runs_ms = {};
  double total_s = 0;
  bool is_verified = true;
  std::string refused = {};
};

void race_runner::take_turn(lane& of, unsigned round, bool keeps, input& data) const {
  const bool is_new = !of.ready;
  if (is_new) of.ready = of.who.make(data);
  const auto run_once = [&] {
    of.ready->prepare();
    const double seconds = of.ready->run();
    of.ready->fetch();
    of.is_verified = data.holds_result() && of.is_verified;
    return seconds;
  };
  const auto count = [&](double seconds) {
    of.runs_ms.push_back(seconds * 1e3);
    of.total_s += seconds;
  };
  // Once untimed: memory that nobody has touched yet comes slowly. What takes long in any case has no time for more.
  const double first = is_new ? run_once() : 0;
  const bool is_long = first >= settings_.contender_seconds;
  if (is_long) count(first);
  if (!is_long && (round != 0 || !keeps)) count(run_once());
  if (!keeps) of.ready.reset();
}

std::vector<race_runner::lane> race_runner::lanes_of(const figure& of, const case_spec& spec,
                                                     const std::vector<candidate>& candidates) const {
  std::vector<lane> lanes;
  for (const candidate& c : candidates) {
    lanes.push_back({c});
    const auto slow = too_slow_.find(slow_key(of, spec, c));
    if (slow != too_slow_.end()) lanes.back().refused = slow->second;
  }
  return lanes;
}

void race_runner::remember_if_slow(const figure& of, const case_spec& spec, const lane& l) {
  if (l.runs_ms.empty() || *std::ranges::min_element(l.runs_ms) < settings_.contender_seconds * 1e3) return;
  too_slow_[slow_key(of, spec, l.who)] =
      fmt::format("left out: {} keys took {:.1f} s", spec.num_keys, l.runs_ms.front() / 1e3);
}

json race_runner::run(const figure& of, const case_spec& spec, const std::vector<candidate>& candidates) {
  const bool has_gpu = std::ranges::any_of(candidates, [](const candidate& c) { return is_gpu(c.devices); });
  const bool pins = has_gpu && !gpu_is_absent() && spansort::why_no_gpu().empty();
  input data(spec, settings_.seed, pins);
  std::vector<lane> lanes = lanes_of(of, spec, candidates);
  const bool keeps = all_fit(data, candidates.size());
  // Round 0 warms up where workspaces stay.
  for (unsigned round = keeps ? 0 : 1; round <= settings_.repeats; ++round) {
    for (lane& l : lanes) {
      if (!l.refused.empty() || l.total_s >= settings_.contender_seconds) continue;
      try {
        take_turn(l, round, keeps, data);
      } catch (const std::exception& e) {
        l.refused = e.what();
        l.ready.reset();
      }
    }
  }
  for (lane& l : lanes) l.ready.reset();
  json results = json::array();
  for (lane& l : lanes) {
    remember_if_slow(of, spec, l);
    results.push_back(result_of(l, data));
  }
  json made = {{"figure", of.name},         {"source", of.source},
               {"type", spec.type},         {"distribution", spec.distribution},
               {"num_keys", spec.num_keys}, {"seed", settings_.seed}};
  if (spec.radix_bits != 0) made["radix_bits"] = spec.radix_bits;
  made["pinned"] = pins;
  made["results"] = std::move(results);
  return made;
}

json race_runner::result_of(lane& from, input& data) {
  json result = {{"name", from.who.name}, {"devices", from.who.devices}, {"data", from.who.data}};
  const std::string head = fmt::format("  {:<22} {:<12}", from.who.name, from.who.devices);
  if (from.runs_ms.empty() && from.refused.empty()) from.refused = "no run";
  if (from.refused.empty() && from.who.describe) {
    try {
      from.who.describe(result, data);
    } catch (const std::exception& e) {
      result["no_phases"] = e.what();
    }
  }
  if (!from.refused.empty()) result["refused"] = from.refused;
  all_verified_ = all_verified_ && from.is_verified;
  if (from.runs_ms.empty()) {
    fmt::print("{}  - {}\n", head, from.refused);
    return result;
  }
  const double median_ms = median(from.runs_ms);
  result["median_ms"] = median_ms;
  result["mega_keys_per_s"] = static_cast<double>(data.num_keys()) / median_ms / 1e3;
  result["verified"] = from.is_verified;
  result["runs_ms"] = from.runs_ms;
  fmt::print("{} {:>11.3f} ms {:>10.1f} M/s{}\n", head, median_ms, result["mega_keys_per_s"].get<double>(),
             from.is_verified ? "" : "  WRONG RESULT");
  std::fflush(stdout);
  return result;
}

}  // namespace bench
