// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
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

/// Returns what tells which smaller inputs say how long a larger one takes. The grid has all sizes of a distribution.
std::string pace_key(const case_spec& spec, const candidate& c, bool is_grid) {
  const char* const memory = spec.device_memory_bytes == 0 ? "" : " in less memory";
  return fmt::format("{} {} {} {}{} {}", spec.type, c.name, c.devices, c.data, memory,
                     is_grid ? spec.distribution : "");
}

/// Returns the number with four digits, which are more than a clock knows, so that files stay small.
double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

constexpr double never = std::numeric_limits<double>::infinity();
/// A peer of the grid so many times behind the best one has no further part in it.
constexpr double hopeless = 5;
/// Runs of the grid that are this short together are repeated up to so many times as often as others: one interrupt or
/// a clock that has not yet risen makes a case of five runs of 50 us look lost.
constexpr double short_s = 0.005;
constexpr unsigned more_repeats = 4;

}  // namespace

/// One that takes part, with what came of it.
struct race_runner::lane {
  candidate who;
  std::optional<contender> ready = {};
  std::vector<double> runs_ms = {};  ///< for one array
  std::vector<double> cpu_ms = {};   ///< likewise; empty where that is not known
  double total_s = 0;                ///< of all that was timed
  std::optional<bool> is_verified = {};
  std::string refused = {};
  bool lacks_memory = false;  ///< why it is refused, perhaps only for what the others hold
  bool is_alone = false;      ///< it does not take turns with others

  /// Returns its best time; a wrong result has none.
  [[nodiscard]] double least_ms() const {
    return runs_ms.empty() || is_verified == false ? never : *std::ranges::min_element(runs_ms);
  }
};

namespace {

template <class Lanes>
double best_peer_ms(const Lanes& lanes) {
  double best = never;
  for (const auto& lane : lanes) {
    if (!lane.who.is_ours) best = std::min(best, lane.least_ms());
  }
  return best;
}

}  // namespace

/// Returns how often the fastest contenders sort at most.
unsigned race_runner::most_repeats() const {
  return settings_.is_grid ? more_repeats * settings_.repeats : settings_.repeats;
}

/// Returns whether it has another turn. A peer of the grid that is far behind the best one of a case has none, and
/// nobody has many long ones.
bool race_runner::wants_turn(const lane& of, double best_peer) const {
  constexpr double far_behind = 2.5;
  if (!of.refused.empty() || of.runs_ms.size() >= most_repeats()) return false;
  if (!settings_.is_grid) return of.total_s < settings_.contender_seconds;
  if (of.runs_ms.size() >= settings_.repeats && of.total_s >= short_s) return false;
  if (of.is_verified == false) return false;
  return of.total_s < settings_.contender_seconds / 4 &&
         (of.who.is_ours || of.least_ms() == never || of.least_ms() < far_behind * best_peer);
}

void race_runner::verify(lane& of) {
  spent_.verify_s += seconds_of([&] {
    of.ready->fetch();
    of.is_verified = data_.holds_result(of.who.is_stable);
  });
  all_verified_ = all_verified_ && *of.is_verified;
}

/// Sorts once, and the first time once more before, untimed: memory that nobody has touched yet comes slowly. What
/// takes long in any case has no time for that. The first result that counts is verified.
void race_runner::take_turn(lane& of, double best_peer_ms) {
  // A peer of the grid that is hopeless even so has no second run.
  const double in_ms = 1e3 / static_cast<double>(data_.num_arrays());
  const double most_s = settings_.is_grid && !of.who.is_ours
                            ? std::min(settings_.contender_seconds, hopeless * best_peer_ms / in_ms)
                            : settings_.contender_seconds;
  const auto sort = [&] {
    spent_.prepare_s += seconds_of([&] { of.ready->prepare(); });
    const elapsed took = of.ready->run();
    spent_.sort_s += took.wall_s;
    return took;
  };
  try {
    elapsed took = 0;
    if (!of.ready) {
      spent_.make_s += seconds_of([&] { of.ready = of.who.make(data_); });
      took = sort();
    }
    if (took.wall_s < most_s) took = sort();
    of.runs_ms.push_back(took.wall_s * in_ms);
    if (took.cpu_s) of.cpu_ms.push_back(*took.cpu_s * in_ms);
    of.total_s += took.wall_s;
    if (!of.is_verified) verify(of);
  } catch (const spansort::out_of_memory& e) {
    of = {.who = std::move(of.who), .refused = e.what(), .lacks_memory = true};
  } catch (const std::exception& e) {
    of.refused = e.what();
    of.ready.reset();
  }
}

void race_runner::race_in_turns(std::vector<lane>& lanes) {
  for (unsigned round = 0; round < most_repeats(); ++round) {
    for (lane& l : lanes) {
      const double best_ms = best_peer_ms(lanes);
      if (wants_turn(l, best_ms)) take_turn(l, best_ms);
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
  while (wants_turn(of, never)) take_turn(of, never);
  of.ready.reset();
}

std::vector<race_runner::lane> race_runner::lanes_of(const case_spec& spec,
                                                     const std::vector<candidate>& candidates) const {
  std::vector<lane> lanes;
  for (const candidate& c : candidates) {
    lanes.push_back({c});
    lanes.back().refused = why_left_out(spec, c);
  }
  return lanes;
}

/// Returns why a contender's times for fewer keys make it no match for these, "" where they do not.
std::string race_runner::why_left_out(const case_spec& spec, const candidate& who) const {
  // A call's own costs say nothing of more keys, and neither do threads that had little to share.
  const std::uint64_t many_keys = std::uint64_t{1} << (who.is_one_thread ? 12 : 18);
  const auto before = paces_.find(pace_key(spec, who, settings_.is_grid));
  if (before == paces_.end()) return "";
  const auto& [num_keys, seconds, behind] = before->second;
  const double growth = static_cast<double>(spec.num_keys) / static_cast<double>(num_keys);
  if (growth >= 1 && seconds * growth >= settings_.contender_seconds && !(settings_.is_grid && who.is_ours)) {
    return fmt::format("left out: {} keys took {:.2g} s", num_keys, seconds);
  }
  if (!settings_.is_grid || who.is_ours || growth <= 1 || behind < hopeless) return "";
  if (num_keys < many_keys) return "";
  return fmt::format("left out: {} keys took it {:.2g} times as long as the best peer", num_keys, behind);
}

/// Times that are short beside what a contender may take tell nothing of larger inputs, but for the grid's.
void race_runner::remember_paces(const case_spec& spec, const std::vector<lane>& lanes) {
  const double best_ms = best_peer_ms(lanes);
  for (const lane& of : lanes) {
    if (of.least_ms() == never) continue;
    const double seconds = of.least_ms() / 1e3;
    if (!settings_.is_grid && seconds < settings_.contender_seconds / 100) continue;
    pace& kept = paces_[pace_key(spec, of.who, settings_.is_grid)];
    if (kept.num_keys < spec.num_keys) kept = {spec.num_keys, seconds, of.least_ms() / best_ms};
  }
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
  remember_paces(spec, lanes);
  for (lane& l : lanes) results.push_back(result_of(l));
  if (settings_.is_grid) print_grid_case(spec, lanes);
  json made = {
      {"type", spec.type}, {"distribution", spec.distribution}, {"num_keys", spec.num_keys}, {"seed", settings_.seed}};
  if (spec.radix_bits != 0) made["radix_bits"] = spec.radix_bits;
  if (spec.device_memory_bytes != 0) made["device_memory_bytes"] = spec.device_memory_bytes;
  if (spec.num_arrays > 1) made["num_arrays"] = spec.num_arrays;
  if (!settings_.is_grid) made["pinned"] = pins;
  made["results"] = std::move(results);
  return made;
}

namespace {

json rounded_list(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(rounded(value));
  return list;
}

/// A grid has thousands of results: what follows from others is left out.
template <class Lane>
void add_grid_result(json& result, const Lane& from) {
  if (from.runs_ms.empty()) return;
  result["verified"] = from.is_verified.value_or(false);
  if (from.is_alone) result["alone"] = true;  // its runs are one after the other
  result["runs_ms"] = rounded_list(from.runs_ms);
  if (from.cpu_ms.size() == from.runs_ms.size()) result["cpu_ms"] = rounded_list(from.cpu_ms);
}

}  // namespace

/// "reused sorter 1.20 (one call 1.02) x vqsort": least times for one array.
void race_runner::print_grid_case(const case_spec& spec, const std::vector<lane>& lanes) const {
  const auto best =
      std::ranges::min_element(lanes, {}, [](const lane& l) { return l.who.is_ours ? never : l.least_ms(); });
  const double best_ms = best_peer_ms(lanes);
  std::string line;
  for (const lane& l : lanes) {
    if (l.is_verified == false) line += "  WRONG RESULT: " + l.who.name;
    if (l.who.is_ours && !l.runs_ms.empty()) {
      line += fmt::format("  {:.4g} us, {:.2f} x", l.least_ms() * 1e3, best_ms / l.least_ms());
    }
  }
  if (best_ms < never) line += fmt::format("  {} {:.4g} us", best->who.name, best_ms * 1e3);
  fmt::print("{:<14} {:<16} {:>10} {}\n", spec.type, spec.distribution, spec.num_keys, line);
  std::fflush(stdout);
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
  if (settings_.is_grid) {
    add_grid_result(result, from);
    return result;
  }
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
  if (from.cpu_ms.size() == from.runs_ms.size()) result["cpu_ms"] = from.cpu_ms;
  fmt::print("{} {:>11.3f} ms {:>10.1f} M/s{}\n", head, median_ms, result["mega_keys_per_s"].get<double>(),
             is_verified ? "" : "  WRONG RESULT");
  std::fflush(stdout);
  return result;
}

}  // namespace bench
