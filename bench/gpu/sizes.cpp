// SPDX-License-Identifier: Apache-2.0
// Suite `sizes`: keys on one GPU, of all sizes, types and kinds of records, next to CUB's sort of the same input. A
// call that waits for its result is timed by the host's clock, and calls that only enqueue between events.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "bench/gpu/local_race.hpp"
#include "bench/gpu/suites.hpp"
#include "bench/gpu/timing.hpp"
#include "device/cuda/cuda_error.hpp"

namespace bench {
namespace {

constexpr unsigned fewest_log2 = 8;
constexpr double us_per_ms = 1e3;

/// Microseconds vary more than milliseconds, and cost nothing.
unsigned repeats_of(const settings& s, unsigned log2_size) { return log2_size <= 20 ? 10 * s.repeats : s.repeats; }

struct sizes_of_type {
  const char* type;
  unsigned most_log2 = 28;
};
constexpr sizes_of_type all_sizes[] = {
    {"u32", 30},  {"u64", 29},  {"f32"},      {"f64"}, {"u32(u32)"}, {"u32(u64)"},     {"u64(u32)"},     {"u64(u64)"},
    {"f32(u32)"}, {"f64(u32)"}, {"f64(u64)"}, {"u8"},  {"u16"},      {"argsort(f32)"}, {"argsort(u64)"},
};

/// Floats as programs have them, half of which share an exponent; those above are random bits.
constexpr sizes_of_type unit_sizes[] = {{"f32", 22},      {"f64", 22},          {"f32(u32)", 22},
                                        {"f64(u64)", 24}, {"argsort(f32)", 22}, {"argsort(f64)", 22}};

std::string name_of(const char* type, device_input kind) {
  return kind == device_input::unit ? fmt::format("{} of [0, 1)", type) : type;
}

outcome measure_device(const settings& s, const char* type, unsigned log2_size, device_input kind) {
  const spansort::device::cuda::device_guard guard(s.devices.front());
  const bool is_float = std::string_view(type).find('f') != std::string_view::npos;
  race_request request{type,
                       {.kind = kind, .seed = s.seed, .finite_floats = is_float},
                       std::uint64_t{1} << log2_size,
                       repeats_of(s, log2_size),
                       race_door::call};
  const race_result by_call = race(request);
  request.door = race_door::enqueued;
  const race_result enqueued = race(request);
  outcome found;
  found.verified = by_call.num_differing_words + enqueued.num_differing_words == 0;
  const double ratio = median(by_call.cub_ms) / median(by_call.ours_ms);
  found.fields = {{"type", name_of(type, kind)},
                  {"distribution", "uniform"},
                  {"num_keys", request.num_keys},
                  {"seed", s.seed},
                  {"median_ms", median(by_call.ours_ms)},
                  {"cub_median_ms", median(by_call.cub_ms)},
                  {"ratio_to_cub", ratio},
                  {"kernels_median_ms", median(enqueued.ours_ms)},
                  {"cub_kernels_median_ms", median(enqueued.cub_ms)},
                  {"runs_ms", by_call.ours_ms},
                  {"cub_runs_ms", by_call.cub_ms},
                  {"kernels_runs_ms", enqueued.ours_ms},
                  {"cub_kernels_runs_ms", enqueued.cub_ms}};
  found.line = fmt::format("{:8.1f} us  CUB {:8.1f} us  ratio {:.3f}  kernels alone {:.1f} and {:.1f} us",
                           us_per_ms * median(by_call.ours_ms), us_per_ms * median(by_call.cub_ms), ratio,
                           us_per_ms * median(enqueued.ours_ms), us_per_ms * median(enqueued.cub_ms));
  return found;
}

}  // namespace

void add_size_cases(const settings& s, case_list& cases) {
  // Small sizes of all types come first, so that a run whose time ends has them.
  for (unsigned log2_size = fewest_log2; log2_size <= all_sizes[0].most_log2; log2_size += 2) {
    for (const sizes_of_type& c : all_sizes) {
      if (log2_size > c.most_log2) continue;
      cases.push_back({"sizes", fmt::format("{}, n = 2^{}", c.type, log2_size),
                       [s, c, log2_size] { return measure_device(s, c.type, log2_size, device_input::entropy); }});
    }
    for (const sizes_of_type& c : unit_sizes) {
      if (log2_size > c.most_log2) continue;
      cases.push_back({"sizes", fmt::format("{}, n = 2^{}", name_of(c.type, device_input::unit), log2_size),
                       [s, c, log2_size] { return measure_device(s, c.type, log2_size, device_input::unit); }});
    }
  }
}

}  // namespace bench
