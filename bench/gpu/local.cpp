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
  const char* type;
  const char* distribution;
  device_input kind = device_input::entropy;
  unsigned words = 1;
};

constexpr local_case local_cases[] = {
    {"u32", "uniform"},
    {"u32", "entropy:2", device_input::entropy, 2},
    {"u32", "entropy:4", device_input::entropy, 4},
    {"u32", "entropy:8", device_input::entropy, 8},
    {"u32", "constant", device_input::entropy, 0},
    {"u32", "sorted", device_input::sorted},
    {"u32", "reversed", device_input::reversed},
    {"f32", "uniform"},
    {"u64", "uniform"},
    {"u64", "entropy:2", device_input::entropy, 2},
    {"u64", "entropy:4", device_input::entropy, 4},
    {"u64", "entropy:8", device_input::entropy, 8},
    {"u64", "constant", device_input::entropy, 0},
    {"u64", "sorted", device_input::sorted},
    {"u64", "reversed", device_input::reversed},
    {"f64", "uniform"},
    {"u32(u32)", "uniform"},
    {"u32(u64)", "uniform"},
    {"u64(u32)", "uniform"},
    {"u64(u64)", "uniform"},
    {"u8", "uniform"},
    {"u16", "uniform"},
    {"argsort(f32)", "uniform"},
    {"argsort(u64)", "uniform"},
};

outcome measure(const settings& s, const local_case& c) {
  const spansort::device::cuda::device_guard guard(s.devices.front());
  const std::uint64_t num_keys = std::uint64_t{1} << s.log2_size;
  const bool is_float = std::string_view(c.type).find('f') != std::string_view::npos;
  const race_result found =
      race({c.type, {c.kind, c.words, s.seed, 0, is_float}, num_keys, s.repeats, race_door::call});
  const auto n = static_cast<double>(num_keys);
  const double rate = giga_per_s(n, median(found.ours_ms));
  const double cub_rate = giga_per_s(n, median(found.cub_ms));
  const std::string_view of_argsort = "argsort(";
  const std::string_view all = c.type;
  const std::string_view keys = all.starts_with(of_argsort) ? all.substr(of_argsort.size()) : all;
  const std::string key_type(keys.substr(0, keys.find_first_of("()")));
  const auto key_bytes = static_cast<double>(spansort::size_bytes(spansort::parse_key_type(key_type)));
  const double copy_gb_per_s = giga_per_s(2 * n * key_bytes, median(found.copy_ms));
  outcome result;
  result.verified = found.num_differing_words == 0;
  result.fields = {{"type", c.type},
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
  result.line = fmt::format("{:7.2f} G/s  CUB {:7.2f} G/s  ratio {:.3f}  copy {:.0f} GB/s", rate, cub_rate,
                            rate / cub_rate, copy_gb_per_s);
  return result;
}

}  // namespace

void add_local_cases(const settings& s, case_list& cases) {
  for (const local_case& c : local_cases) {
    cases.push_back({"local", fmt::format("{} {}, n = 2^{}", c.type, c.distribution, s.log2_size),
                     [s, c] { return measure(s, c); }});
  }
}

}  // namespace bench
