// SPDX-License-Identifier: Apache-2.0
// Suite `small`: where launch gaps and the trip to the GPU rule. Resident keys: a call that waits next to CUB's and a
// wait, by the host's clock, and calls that enqueue between events. Host arrays: the CPU next to one GPU, which tells
// where a GPU begins to pay.
#include <fmt/format.h>

#include <string_view>

#include "bench/gpu/device_list.hpp"
#include "bench/gpu/local_race.hpp"
#include "bench/gpu/sort_runs.hpp"
#include "bench/gpu/suites.hpp"
#include "bench/gpu/timing.hpp"
#include "device/cuda/cuda_error.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;

constexpr unsigned fewest_device_log2 = 8;
constexpr unsigned fewest_log2 = 10;
constexpr unsigned most_log2 = 24;
constexpr double us_per_ms = 1e3;

/// Microseconds vary more than milliseconds, and cost nothing.
unsigned repeats_of(const settings& s, unsigned log2_size) { return log2_size <= 20 ? 10 * s.repeats : s.repeats; }

struct device_case {
  const char* type;
  unsigned step = 2;  ///< sizes are 2^8, 2^(8 + step) ...
};
constexpr device_case device_cases[] = {
    {"u32", 1},   {"u64"},      {"f32"}, {"f64"}, {"u32(u32)"},     {"u32(u64)"},
    {"u64(u32)"}, {"u64(u64)"}, {"u8"},  {"u16"}, {"argsort(f32)"}, {"argsort(u64)"},
};

outcome measure_device(const settings& s, const char* type, unsigned log2_size) {
  const cuda::device_guard guard(s.devices.front());
  const bool is_float = std::string_view(type).find('f') != std::string_view::npos;
  race_request request{type,
                       {.seed = s.seed, .finite_floats = is_float},
                       std::uint64_t{1} << log2_size,
                       repeats_of(s, log2_size),
                       race_door::call};
  const race_result by_call = race(request);
  request.door = race_door::enqueued;
  const race_result enqueued = race(request);
  outcome found;
  found.verified = by_call.num_differing_words + enqueued.num_differing_words == 0;
  const double ratio = median(by_call.cub_ms) / median(by_call.ours_ms);
  found.fields = {{"type", type},
                  {"distribution", "uniform"},
                  {"num_keys", request.num_keys},
                  {"seed", s.seed},
                  {"memory", "device"},
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

outcome measure_host(const settings& s, host_arrays& arrays, unsigned log2_size) {
  const host_input input{"u32", "uniform", std::uint64_t{1} << log2_size, s.seed};
  const unsigned repeats = repeats_of(s, log2_size);
  const std::string gpu = device_list_text({s.devices.front()});
  const sort_runs cpu = run_sorts(arrays, input, arrays.pageable(), {.devices = "cpu"}, repeats);
  const sort_runs pinned = run_sorts(arrays, input, arrays.pinned(), {.devices = gpu}, repeats);
  const sort_runs pageable = run_sorts(arrays, input, arrays.pageable(), {.devices = gpu}, repeats);
  outcome found;
  found.verified = cpu.verified && pinned.verified && pageable.verified;
  found.fields = to_json(input);
  found.fields.update({{"memory", "host"},
                       {"cpu_median_ms", cpu.median_ms()},
                       {"gpu_pinned_median_ms", pinned.median_ms()},
                       {"gpu_pageable_median_ms", pageable.median_ms()},
                       {"cpu_runs_ms", cpu.runs_ms},
                       {"gpu_pinned_runs_ms", pinned.runs_ms},
                       {"gpu_pageable_runs_ms", pageable.runs_ms}});
  found.line = fmt::format("cpu {:9.1f} us  gpu pinned {:9.1f} us  pageable {:9.1f} us", us_per_ms * cpu.median_ms(),
                           us_per_ms * pinned.median_ms(), us_per_ms * pageable.median_ms());
  return found;
}

}  // namespace

void add_small_cases(const settings& s, case_list& cases) {
  for (const device_case& c : device_cases) {
    for (unsigned log2_size = fewest_device_log2; log2_size <= most_log2; log2_size += c.step) {
      cases.push_back({"small", fmt::format("{} on the GPU, n = 2^{}", c.type, log2_size),
                       [s, c, log2_size] { return measure_device(s, c.type, log2_size); }});
    }
  }
  const auto arrays = std::make_shared<host_arrays>((std::uint64_t{1} << most_log2) * sizeof(std::uint32_t));
  for (unsigned log2_size = fewest_log2; log2_size <= most_log2; ++log2_size) {
    cases.push_back({"small", fmt::format("u32 in host memory, n = 2^{}", log2_size),
                     [s, arrays, log2_size] { return measure_host(s, *arrays, log2_size); }});
  }
}

}  // namespace bench
