// SPDX-License-Identifier: Apache-2.0
// Suite `distributions`: every input of the papers from host to host over all GPUs, as ratio to the uniform input,
// which runs first.
#include <fmt/format.h>

#include "bench/gpu/device_list.hpp"
#include "bench/gpu/sort_runs.hpp"
#include "bench/gpu/suites.hpp"
#include "bench/gpu/timing.hpp"

namespace bench {
namespace {

constexpr const char* names[] = {"uniform",   "zero",      "sorted",    "nearly-sorted", "reverse",  "normal",
                                 "zipf:0.5",  "zipf:1",    "zipf:1.5",  "zipf:2",        "zipf:2.5", "zipf:3",
                                 "entropy:2", "entropy:3", "entropy:4", "entropy:5"};

/// `uniform_ms` is set by the uniform case; 0 while it has not run.
outcome measure(const settings& s, host_arrays& arrays, const host_input& input, double& uniform_ms) {
  double generation_ms = wall_ms([&] { arrays.set_input(input); });
  const sort_runs runs = run_sorts(arrays, input, arrays.pinned(), {.devices = device_list_text(s.devices)}, s.repeats);
  if (input.distribution == "uniform") uniform_ms = runs.median_ms();
  outcome found;
  found.verified = runs.verified;
  found.fields = to_json(input);
  found.fields.update({{"devices", s.devices},
                       {"num_gpus", s.devices.size()},
                       {"algorithm", "auto"},
                       {"memory", "pinned"},
                       {"generation_ms", generation_ms}});
  found.fields.update(to_json(runs, input.num_keys));
  found.line = fmt::format("{:8.1f} ms", runs.median_ms());
  if (uniform_ms > 0) {
    found.fields["ratio_to_uniform"] = runs.median_ms() / uniform_ms;
    found.line += fmt::format("  ratio to uniform {:.3f}", runs.median_ms() / uniform_ms);
  }
  return found;
}

}  // namespace

void add_distribution_cases(const settings& s, const shared_arrays& arrays, case_list& cases) {
  const auto uniform_ms = std::make_shared<double>(0);
  for (const char* name : names) {
    const host_input input{"u32", name, static_cast<std::uint64_t>(s.num_keys), s.seed};
    cases.push_back({"distributions", fmt::format("{} u32, {}", name, count_text(s.devices)),
                     [s, arrays, input, uniform_ms] { return measure(s, *arrays, input, *uniform_ms); }});
  }
}

}  // namespace bench
