// SPDX-License-Identifier: Apache-2.0
// Suite `small`: where launch gaps and the trip to the GPU rule. Resident keys: resident_sorter next to CUB, by the
// host's clock and, for the kernels alone, between events. Host arrays: the CPU next to one GPU, which tells where a
// GPU begins to pay.
#include <fmt/format.h>

#include <spansort/resident.hpp>

#include "bench/gpu/device_list.hpp"
#include "bench/gpu/local_race.hpp"
#include "bench/gpu/sort_runs.hpp"
#include "bench/gpu/suites.hpp"
#include "bench/gpu/timing.hpp"
#include "device/cuda/handles.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;

constexpr unsigned fewest_log2 = 10;
constexpr unsigned most_log2 = 24;
constexpr double us_per_ms = 1e3;

/// Microseconds vary more than milliseconds, and cost nothing.
unsigned repeats_of(const settings& s, unsigned log2_size) { return log2_size <= 20 ? 10 * s.repeats : s.repeats; }

struct resident_times {
  std::vector<double> runs_ms;
  bool verified = true;
};

resident_times run_resident(const settings& s, std::uint64_t num_keys, unsigned repeats) {
  const cuda::device_memory work = cuda::allocate_device_memory(num_keys * sizeof(std::uint32_t));
  const cuda::stream_handle stream = cuda::make_stream();
  const auto fill = [&] {
    fill_device(stream.get(), work.get(), sizeof(std::uint32_t), num_keys, {.seed = s.seed});
    cuda::check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  };
  const auto look = [&] { return summarize(stream.get(), static_cast<const std::uint32_t*>(work.get()), num_keys); };
  fill();
  const std::uint64_t checksum = look().checksum;
  spansort::resident_sorter sorter({.devices = device_list_text({s.devices.front()})});
  resident_times found;
  found.runs_ms = wall_runs_ms(repeats, fill, [&] {
    spansort::shard shard{.keys = work.get(), .num_keys = num_keys, .stream = stream.get()};
    sorter.sort({spansort::key_type::u32, std::span(&shard, 1)});
  });
  const key_summary result = look();
  found.verified = result.in_order && result.checksum == checksum;
  return found;
}

outcome measure_resident(const settings& s, unsigned log2_size) {
  const cuda::device_guard guard(s.devices.front());
  const unsigned repeats = repeats_of(s, log2_size);
  race_request request{"u32", {.seed = s.seed}, std::uint64_t{1} << log2_size, repeats, race_clock::wall};
  const race_result by_wall = race(request);
  request.clock = race_clock::events;
  const race_result by_events = race(request);
  const resident_times ours = run_resident(s, request.num_keys, repeats);
  outcome found;
  found.verified = ours.verified && by_wall.num_differing_words + by_events.num_differing_words == 0;
  const double ratio = median(by_wall.cub_ms) / median(ours.runs_ms);
  found.fields = {{"type", "u32"},
                  {"distribution", "uniform"},
                  {"num_keys", request.num_keys},
                  {"seed", s.seed},
                  {"memory", "device"},
                  {"median_ms", median(ours.runs_ms)},
                  {"cub_median_ms", median(by_wall.cub_ms)},
                  {"ratio_to_cub", ratio},
                  {"kernels_median_ms", median(by_events.ours_ms)},
                  {"cub_kernels_median_ms", median(by_events.cub_ms)},
                  {"runs_ms", ours.runs_ms},
                  {"local_sort_runs_ms", by_wall.ours_ms},
                  {"cub_runs_ms", by_wall.cub_ms},
                  {"kernels_runs_ms", by_events.ours_ms},
                  {"cub_kernels_runs_ms", by_events.cub_ms}};
  found.line = fmt::format("{:8.1f} us  CUB {:8.1f} us  ratio {:.3f}  kernels alone {:.1f} and {:.1f} us",
                           us_per_ms * median(ours.runs_ms), us_per_ms * median(by_wall.cub_ms), ratio,
                           us_per_ms * median(by_events.ours_ms), us_per_ms * median(by_events.cub_ms));
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
  for (unsigned log2_size = fewest_log2; log2_size <= most_log2; ++log2_size) {
    cases.push_back({"small", fmt::format("u32 on the GPU, n = 2^{}", log2_size),
                     [s, log2_size] { return measure_resident(s, log2_size); }});
  }
  const auto arrays = std::make_shared<host_arrays>((std::uint64_t{1} << most_log2) * sizeof(std::uint32_t));
  for (unsigned log2_size = fewest_log2; log2_size <= most_log2; ++log2_size) {
    cases.push_back({"small", fmt::format("u32 in host memory, n = 2^{}", log2_size),
                     [s, arrays, log2_size] { return measure_host(s, *arrays, log2_size); }});
  }
}

}  // namespace bench
