// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <spansort/devices.hpp>
#include <spansort/errors.hpp>
#include <utility>

#include "bench/suites/devices.hpp"
#include "bench/suites/gpu/gpu.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Returns whether the workspaces of all candidates may fit side by side, each of two copies of the data on the host or
/// on a GPU.
bool may_fit(const input& data, const std::vector<candidate>& candidates) {
  const auto on_gpu = [](const candidate& c) { return is_gpu(c.devices); };
  const auto num_on_gpus = static_cast<std::uint64_t>(std::ranges::count_if(candidates, on_gpu));
  for (const spansort::device_description& device : spansort::list_devices()) {
    const std::uint64_t count = device.name.starts_with("gpu") ? num_on_gpus : candidates.size() - num_on_gpus;
    if (data.size_bytes() * 2 * (count + 1) > device.available_bytes / 4 * 3) return false;
  }
  return true;
}

std::string pace_key(const case_spec& spec, const candidate& c) {
  const char* const memory = spec.device_memory_bytes == 0 ? "" : " in less memory";
  return fmt::format("{} {} {} {}{}", spec.type, c.name, c.devices, c.data, memory);
}

}  // namespace

/// One that takes part, with what came of it.
struct race_runner::lane {
  candidate who;
  std::optional<contender> ready = {};
  std::vector<double> runs_ms = {};
  double total_s = 0;
  std::optional<bool> is_verified = {};
  std::string refused = {};
  bool lacks_memory = false;  ///< why it is refused, perhaps only for what the others hold
  bool is_alone = false;      ///< it does not take turns with others
};

bool race_runner::wants_turn(const lane& of) const {
  return of.refused.empty() && of.runs_ms.size() < settings_.repeats && of.total_s < settings_.contender_seconds;
}

void race_runner::verify(lane& of) {
  spent_.verify_s += seconds_of([&] {
    of.ready->fetch();
    of.is_verified = data_.holds_result();
  });
  all_verified_ = all_verified_ && *of.is_verified;
}

/// Sorts once, and the first time once more before, untimed: memory that nobody has touched yet comes slowly. What
/// takes long in any case has no time for that. The first result that counts is verified.
void race_runner::take_turn(lane& of) {
  const auto sort = [&] {
    spent_.prepare_s += seconds_of([&] { of.ready->prepare(); });
    const double seconds = of.ready->run();
    spent_.sort_s += seconds;
    return seconds;
  };
  try {
    double seconds = 0;
    if (!of.ready) {
      spent_.make_s += seconds_of([&] { of.ready = of.who.make(data_); });
      seconds = sort();
    }
    if (seconds < settings_.contender_seconds) seconds = sort();
    of.runs_ms.push_back(seconds * 1e3);
    of.total_s += seconds;
    if (!of.is_verified) verify(of);
  } catch (const spansort::out_of_memory& e) {
    of = {.who = std::move(of.who), .refused = e.what(), .lacks_memory = true};
  } catch (const std::exception& e) {
    of.refused = e.what();
    of.ready.reset();
  }
}

void race_runner::race_in_turns(std::vector<lane>& lanes) {
  for (unsigned round = 0; round < settings_.repeats; ++round) {
    for (lane& l : lanes) {
      if (wants_turn(l)) take_turn(l);
    }
  }
  for (lane& l : lanes) l.ready.reset();
  for (lane& l : lanes) {
    if (l.lacks_memory) race_alone(l);
  }
}

void race_runner::race_alone(lane& of) {
  if (std::exchange(of.lacks_memory, false)) of.refused.clear();
  of.is_alone = true;
  while (wants_turn(of)) take_turn(of);
  of.ready.reset();
}

std::vector<race_runner::lane> race_runner::lanes_of(const case_spec& spec,
                                                     const std::vector<candidate>& candidates) const {
  std::vector<lane> lanes;
  for (const candidate& c : candidates) {
    lanes.push_back({c});
    const auto before = paces_.find(pace_key(spec, c));
    if (before == paces_.end()) continue;
    const auto& [num_keys, seconds] = before->second;
    const double growth = static_cast<double>(spec.num_keys) / static_cast<double>(num_keys);
    if (growth < 1 || seconds * growth < settings_.contender_seconds) continue;
    lanes.back().refused = fmt::format("left out: {} keys took {:.2g} s", num_keys, seconds);
  }
  return lanes;
}

/// Times that are short beside what a contender may take tell nothing of larger inputs.
void race_runner::remember_pace(const case_spec& spec, const lane& of) {
  if (of.runs_ms.empty()) return;
  const double seconds = *std::ranges::min_element(of.runs_ms) / 1e3;
  if (seconds < settings_.contender_seconds / 100) return;
  pace& kept = paces_[pace_key(spec, of.who)];
  if (kept.num_keys < spec.num_keys) kept = {spec.num_keys, seconds};
}

json race_runner::run(const case_spec& spec, const std::vector<candidate>& candidates) {
  const bool has_gpu = std::ranges::any_of(candidates, [](const candidate& c) { return is_gpu(c.devices); });
  const bool pins = has_gpu && !gpu_is_absent() && spansort::why_no_gpu().empty();
  spent_.generate_s += seconds_of([&] { data_.load(spec, settings_.seed, pins); });
  std::vector<lane> lanes = lanes_of(spec, candidates);
  if (may_fit(data_, candidates)) {
    race_in_turns(lanes);
  } else {
    for (lane& l : lanes) race_alone(l);
  }
  json results = json::array();
  for (lane& l : lanes) {
    remember_pace(spec, l);
    results.push_back(result_of(l));
  }
  json made = {
      {"type", spec.type}, {"distribution", spec.distribution}, {"num_keys", spec.num_keys}, {"seed", settings_.seed}};
  if (spec.radix_bits != 0) made["radix_bits"] = spec.radix_bits;
  if (spec.device_memory_bytes != 0) made["device_memory_bytes"] = spec.device_memory_bytes;
  made["pinned"] = pins;
  made["results"] = std::move(results);
  return made;
}

json race_runner::result_of(lane& from) {
  json result = {{"name", from.who.name}, {"devices", from.who.devices}, {"data", from.who.data}};
  const std::string head = fmt::format("  {:<22} {:<12}", from.who.name, from.who.devices);
  if (from.refused.empty() && from.who.describe && from.who.wanted != detail::none) {
    try {
      spent_.report_s += seconds_of([&] { from.who.describe(result, data_, from.who.wanted); });
    } catch (const std::exception& e) {
      result["no_report"] = e.what();
    }
  }
  if (!from.refused.empty()) result["refused"] = from.refused;
  if (from.runs_ms.empty()) {
    fmt::print("{}  - {}\n", head, from.refused);
    return result;
  }
  const double median_ms = median(from.runs_ms);
  const bool is_verified = from.is_verified.value_or(false);
  result["median_ms"] = median_ms;
  result["mega_keys_per_s"] = static_cast<double>(data_.num_keys()) / median_ms / 1e3;
  result["verified"] = is_verified;
  if (from.is_alone) result["alone"] = true;  // its runs are one after the other
  result["runs_ms"] = from.runs_ms;
  fmt::print("{} {:>11.3f} ms {:>10.1f} M/s{}\n", head, median_ms, result["mega_keys_per_s"].get<double>(),
             is_verified ? "" : "  WRONG RESULT");
  std::fflush(stdout);
  return result;
}

}  // namespace bench
