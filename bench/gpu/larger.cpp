// SPDX-License-Identifier: Apache-2.0
// Suite `larger`: inputs of four times what a GPU may hold, from host memory to host memory, next to bare copies that
// make the same two trips, and to what the other design would take at least: the CPU splits, one trip sorts.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "bench/gpu/device_list.hpp"
#include "bench/gpu/duplex_copies.hpp"
#include "bench/gpu/sort_runs.hpp"
#include "bench/gpu/split_by_value.hpp"
#include "bench/gpu/suites.hpp"
#include "bench/gpu/timing.hpp"
#include "device/cuda/handles.hpp"

namespace bench {
namespace {

/// This many parts are what the sort makes too where neither memory nor a small input decides.
constexpr std::uint64_t num_parts = 32;

struct trip_times {
  double first_ms = 0;
  double second_ms = 0;
};

/// Both trips copy out equally often, and none of the second begins before the last of the first has ended.
trip_times trips_of(const spansort::sort_report& report) {
  std::vector<std::int64_t> ends_ns;
  for (const spansort::activity& a : report.timeline) {
    if (a.name == "copy out") ends_ns.push_back(a.end_ns);
  }
  if (ends_ns.empty()) return {};
  std::ranges::sort(ends_ns);
  const double first_ms = static_cast<double>(ends_ns[ends_ns.size() / 2 - 1]) * 1e-6;
  return {first_ms, static_cast<double>(ends_ns.back()) * 1e-6 - first_ms};
}

struct larger_case {
  host_input input;
  std::vector<int> devices;
  std::uint64_t device_memory_bytes = 0;
  unsigned repeats = 7;
};

/// What is measured beside the sort; its second array is gone when the sort begins.
struct rivals {
  duplex_times copies;
  std::vector<double> split_ms;
};

rivals measure_rivals(host_arrays& arrays, const larger_case& c) {
  const auto other = spansort::device::cuda::allocate_pinned_memory(c.input.size_bytes());
  void* const work = arrays.pinned();
  arrays.restore(work);
  const std::uint64_t part_bytes = std::min(c.device_memory_bytes / 4, c.input.size_bytes() / num_parts);
  rivals found;
  found.copies = time_duplex_copies(c.devices, work, other.get(), c.input.size_bytes(), part_bytes, c.repeats);
  found.split_ms = time_split_by_value(c.input, work, other.get(), c.repeats);
  return found;
}

outcome measure(host_arrays& arrays, const larger_case& c) {
  arrays.set_input(c.input);
  const rivals others = measure_rivals(arrays, c);
  const sort_runs runs =
      run_sorts(arrays, c.input, arrays.pinned(),
                {.devices = device_list_text(c.devices), .device_memory_bytes = c.device_memory_bytes}, c.repeats);
  const trip_times trips = trips_of(runs.report);
  const double floor_ms = median(others.copies.two_trips_ms);
  const double by_value_ms = median(others.split_ms) + trips.second_ms;
  outcome found;
  found.verified = runs.verified && runs.report.algorithm == "out_of_core";
  found.fields = to_json(c.input);
  found.fields.update({{"devices", c.devices},
                       {"num_gpus", c.devices.size()},
                       {"algorithm", "auto"},
                       {"memory", "pinned"},
                       {"device_memory_bytes", c.device_memory_bytes},
                       {"bare_duplex_copies", others.copies.to_json()},
                       {"ratio_to_two_trips", runs.median_ms() / floor_ms},
                       {"first_trip_ms", trips.first_ms},
                       {"second_trip_ms", trips.second_ms},
                       {"cpu_split_runs_ms", others.split_ms},
                       {"cpu_split_median_ms", median(others.split_ms)},
                       {"split_by_value_estimate_ms", by_value_ms}});
  found.fields.update(to_json(runs, c.input.num_keys));
  found.fields["phases_by_rank"] = phases_by_rank(runs.report);
  found.line = fmt::format(
      "{:8.1f} ms  two duplex trips {:8.1f} ms  ratio {:.3f}  split by value {:8.1f} ms  first call {:.0f} ms",
      runs.median_ms(), floor_ms, runs.median_ms() / floor_ms, by_value_ms, runs.first_call_ms);
  return found;
}

}  // namespace

void add_larger_cases(const settings& s, const shared_arrays& arrays, case_list& cases) {
  for (const char* type : {"u32", "u64", "u64(u64)"}) {
    host_input input{type, "uniform", 1, s.seed};
    input.num_keys = larger_input_bytes(s) / input.record_bytes();
    const larger_case c{input, s.devices, s.device_memory_bytes, s.repeats};
    cases.push_back(
        {"larger", fmt::format("{}, {}", type, count_text(s.devices)), [arrays, c] { return measure(*arrays, c); }});
  }
}

}  // namespace bench
