// SPDX-License-Identifier: Apache-2.0
// Suite `local`: the local sort of one GPU next to CUB's.
#include <fmt/format.h>

#include <string_view>

#include "bench/gpu/local_race.hpp"
#include "bench/gpu/suites.hpp"
#include "bench/gpu/timing.hpp"
#include "device/cuda/cuda_error.hpp"
#include "spansort/types.hpp"

namespace bench {
namespace {

struct local_case {
  const char* distribution;
  device_input kind = device_input::entropy;
  unsigned words = 1;
  /// Keys crowd in few values of their highest bits: sorts that are only enqueued, which go other ways, are timed, too.
  bool is_crowded = false;
};

constexpr local_case distributions[] = {
    {"uniform"},
    {"entropy:2", device_input::entropy, 2},
    {"entropy:3", device_input::entropy, 3},
    {"entropy:4", device_input::entropy, 4},
    {"entropy:8", device_input::entropy, 8},
    {"entropy:16", device_input::entropy, 16},
    {"constant", device_input::entropy, 0},
    {"values:2", device_input::few_values, 2},
    {"values:16", device_input::few_values, 16},
    {"values:1000", device_input::few_values, 1000},
    {"zipf:1", device_input::log_uniform},
    {"nearly sorted", device_input::nearly_sorted},
    {"sorted", device_input::sorted},
    {"reversed", device_input::reversed},
};

/// Floats as programs have them: a random word's bits are none.
constexpr local_case float_distributions[] = {
    {"[0, 1)", device_input::unit, 1, true},
    {"normal", device_input::normal, 1, true},
    {"log-normal", device_input::log_normal, 1, true},
};
constexpr const char* float_types[] = {"f32",      "f64",          "f32(u32)",    "f64(u32)",
                                       "f64(u64)", "argsort(f32)", "argsort(f64)"};

/// Types that are raced with every distribution, and those that are raced with uniform keys alone.
constexpr const char* main_types[] = {"u32", "u64", "u32(u32)", "u64(u64)"};
constexpr const char* other_types[] = {"f32", "f64", "u32(u64)",     "u64(u32)",
                                       "u8",  "u16", "argsort(f32)", "argsort(u64)"};

outcome measure(const settings& s, const std::string& type, const local_case& c) {
  const spansort::device::cuda::device_guard guard(s.devices.front());
  const std::uint64_t num_keys = std::uint64_t{1} << s.log2_size;
  const bool is_finite = type.find('f') != std::string::npos && c.kind != device_input::unit_or_zero;
  race_request request{type, {c.kind, c.words, s.seed, 0, is_finite}, num_keys, s.repeats, race_door::call};
  race_result found = race(request);
  std::vector<double> enqueued_ms;
  if (c.is_crowded) {
    request.door = race_door::enqueued;
    const race_result enqueued = race(request);
    enqueued_ms = enqueued.ours_ms;
    found.num_differing_words += enqueued.num_differing_words;
  }
  const auto n = static_cast<double>(num_keys);
  const double rate = giga_per_s(n, median(found.ours_ms));
  const double cub_rate = giga_per_s(n, median(found.cub_ms));
  const std::string_view of_argsort = "argsort(";
  const std::string_view all = type;
  const std::string_view keys = all.starts_with(of_argsort) ? all.substr(of_argsort.size()) : all;
  const std::string key_type(keys.substr(0, keys.find_first_of("()")));
  const auto key_bytes = static_cast<double>(spansort::size_bytes(spansort::parse_key_type(key_type)));
  const double copy_gb_per_s = giga_per_s(2 * n * key_bytes, median(found.copy_ms));
  outcome result;
  result.verified = found.num_differing_words == 0;
  result.fields = {{"type", type},
                   {"distribution", c.distribution},
                   {"num_keys", num_keys},
                   {"seed", s.seed},
                   {"devices", std::vector<int>{s.devices.front()}},
                   {"num_gpus", 1},
                   {"median_ms", median(found.ours_ms)},
                   {"cub_median_ms", median(found.cub_ms)},
                   {"giga_keys_per_s", rate},
                   {"cub_giga_keys_per_s", cub_rate},
                   {"ratio_to_cub", rate / cub_rate},
                   {"copy_gb_per_s", copy_gb_per_s},
                   {"num_differing_words", found.num_differing_words},
                   {"runs_ms", found.ours_ms},
                   {"cub_runs_ms", found.cub_ms},
                   {"copy_runs_ms", found.copy_ms}};
  if (c.is_crowded) {
    result.fields["enqueued_median_ms"] = median(enqueued_ms);
    result.fields["enqueued_runs_ms"] = enqueued_ms;
  }
  result.line = fmt::format("{:7.2f} G/s  CUB {:7.2f} G/s  ratio {:.3f}  copy {:.0f} GB/s", rate, cub_rate,
                            rate / cub_rate, copy_gb_per_s);
  return result;
}

}  // namespace

void add_local_cases(const settings& s, case_list& cases) {
  const auto add = [&](const std::string& type, const local_case& c) {
    cases.push_back({"local", fmt::format("{} {}, n = 2^{}", type, c.distribution, s.log2_size),
                     [s, type, c] { return measure(s, type, c); }});
  };
  for (const char* const type : main_types) {
    for (const local_case& c : distributions) add(type, c);
  }
  for (const char* const type : other_types) add(type, distributions[0]);
  for (const char* const type : float_types) {
    for (const local_case& c : float_distributions) add(type, c);
  }
  for (const char* const type : {"f32(u32)", "f64(u64)"}) {
    add(type, {"[0, 1) and zeros", device_input::unit_or_zero, 1, true});
  }
  for (const char* const type : {"u64", "u64(u64)"}) add(type, {"below 2^40", device_input::low_bits, 40, true});
}

}  // namespace bench
