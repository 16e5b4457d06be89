// SPDX-License-Identifier: Apache-2.0
// Suite `small`: arrays of the host so small that launch gaps and the trip to the GPU rule. The CPU next to one GPU
// tells where a GPU begins to pay.
#include <fmt/format.h>

#include "bench/gpu/device_list.hpp"
#include "bench/gpu/sort_runs.hpp"
#include "bench/gpu/suites.hpp"
#include "bench/gpu/timing.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;

constexpr unsigned fewest_log2 = 10;
constexpr unsigned most_log2 = 28;
constexpr double us_per_ms = 1e3;

/// Microseconds vary more than milliseconds, and cost nothing.
unsigned repeats_of(const settings& s, unsigned log2_size) { return log2_size <= 20 ? 10 * s.repeats : s.repeats; }

outcome measure_host(const settings& s, host_arrays& arrays, const char* type, unsigned log2_size) {
  const host_input input{type, "uniform", std::uint64_t{1} << log2_size, s.seed};
  const unsigned repeats = repeats_of(s, log2_size);
  const std::string gpu = device_list_text({s.devices.front()});
  const sort_runs cpu = run_sorts(arrays, input, arrays.pageable(), {.devices = "cpu"}, repeats);
  const sort_runs pinned = run_sorts(arrays, input, arrays.pinned(), {.devices = gpu}, repeats);
  const sort_runs pageable = run_sorts(arrays, input, arrays.pageable(), {.devices = gpu}, repeats);
  const sort_runs automatic = run_sorts(arrays, input, arrays.pageable(), {}, repeats);
  outcome found;
  found.verified = cpu.verified && pinned.verified && pageable.verified && automatic.verified;
  found.fields = to_json(input);
  found.fields.update({{"memory", "host"},
                       {"cpu_median_ms", cpu.median_ms()},
                       {"gpu_pinned_median_ms", pinned.median_ms()},
                       {"gpu_pageable_median_ms", pageable.median_ms()},
                       {"auto_median_ms", automatic.median_ms()},
                       {"auto_first_call_ms", automatic.first_call_ms},
                       {"cpu_first_call_ms", cpu.first_call_ms},
                       {"gpu_first_call_ms", pageable.first_call_ms},
                       {"cpu_runs_ms", cpu.runs_ms},
                       {"gpu_pinned_runs_ms", pinned.runs_ms},
                       {"gpu_pageable_runs_ms", pageable.runs_ms},
                       {"auto_runs_ms", automatic.runs_ms}});
  found.line = fmt::format("cpu {:9.1f} us  gpu pinned {:9.1f} us  pageable {:9.1f} us  auto {:9.1f} us",
                           us_per_ms * cpu.median_ms(), us_per_ms * pinned.median_ms(),
                           us_per_ms * pageable.median_ms(), us_per_ms * automatic.median_ms());
  return found;
}

}  // namespace

void add_small_cases(const settings& s, case_list& cases) {
  const auto arrays = std::make_shared<host_arrays>((std::uint64_t{1} << most_log2) * sizeof(std::uint64_t));
  for (const char* type : {"u32", "f64", "u32(u32)"}) {
    for (unsigned log2_size = fewest_log2; log2_size <= most_log2; log2_size += 2) {
      cases.push_back({"small", fmt::format("{} in host memory, n = 2^{}", type, log2_size),
                       [s, arrays, type, log2_size] { return measure_host(s, *arrays, type, log2_size); }});
    }
  }
}

}  // namespace bench
