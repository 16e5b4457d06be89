// SPDX-License-Identifier: Apache-2.0
// Suite `host`: wall clock around spansort::sorter::sort from host memory to host memory, pinned buffers allocated
// before. The bare copies of the same bytes run in the same process just before each case.
#include <fmt/format.h>

#include "base/test_hooks.hpp"
#include "bench/gpu/bare_copies.hpp"
#include "bench/gpu/device_list.hpp"
#include "bench/gpu/sort_runs.hpp"
#include "bench/gpu/suites.hpp"
#include "bench/gpu/timing.hpp"

namespace bench {
namespace {

struct host_case {
  host_input input;
  std::vector<int> devices;
  std::string algorithm = "auto";
  bool pinned = true;
  unsigned repeats = 7;
  bool packs = true;  ///< sorted keys may leave GPUs packed; else the link carries all of their bytes

  [[nodiscard]] std::string name() const {
    return fmt::format("{}, {}, {}{}{}", input.type, count_text(devices), algorithm, pinned ? "" : ", pageable",
                       packs ? "" : ", never packed");
  }
};

/// Plain copies of pageable memory take seconds and little changes from one to the next.
constexpr unsigned pageable_copy_repeats = 3;

outcome measure(host_arrays& arrays, const host_case& c) {
  arrays.set_input(c.input);
  void* const work = c.pinned ? arrays.pinned() : arrays.pageable();
  arrays.restore(work);
  const copy_times copies = c.pinned
                                ? time_pinned_copies(c.devices, work, c.input.size_bytes(), c.repeats)
                                : time_pageable_copies(c.devices, work, c.input.size_bytes(), pageable_copy_repeats);
  const spansort::base::test_hooks_scope hooks(
      {.packing = c.packs ? spansort::base::key_packing::where_it_pays : spansort::base::key_packing::never});
  const sort_runs runs = run_sorts(
      arrays, c.input, work,
      {.devices = device_list_text(c.devices), .algorithm = spansort::parse_algorithm(c.algorithm)}, c.repeats);
  if (!c.pinned) arrays.release_pageable();

  const double ratio = runs.median_ms() / copies.median_ms();
  outcome found;
  found.verified = runs.verified;
  found.fields = to_json(c.input);
  found.fields.update({{"devices", c.devices},
                       {"num_gpus", c.devices.size()},
                       {"algorithm", c.algorithm},
                       {"memory", c.pinned ? "pinned" : "pageable"},
                       {"may_pack", c.packs},
                       {"bare_copies", copies.to_json()},
                       {"ratio_to_bare_copies", ratio}});
  found.fields.update(to_json(runs, c.input.num_keys));
  found.line = fmt::format("{:8.1f} ms  bare copies {:8.1f} ms  ratio {:.3f}  first call {:.0f} ms", runs.median_ms(),
                           copies.median_ms(), ratio, runs.first_call_ms);
  return found;
}

void add(case_list& cases, const shared_arrays& arrays, const host_case& c) {
  cases.push_back({"host", c.name(), [arrays, c] { return measure(*arrays, c); }});
}

}  // namespace

void add_host_cases(const settings& s, const shared_arrays& arrays, case_list& cases) {
  const auto num_keys = static_cast<std::uint64_t>(s.num_keys);
  const host_input uniform{"u32", "uniform", num_keys, s.seed};
  for (const std::vector<int>& devices : prefixes(s.devices)) {
    for (const char* algorithm : {"rmg", "auto"}) add(cases, arrays, {uniform, devices, algorithm, true, s.repeats});
    add(cases, arrays, {uniform, devices, "auto", true, s.repeats, false});
  }
  // While the uniform input is at hand; one GPU and all of them bound what lies between.
  for (const bool packs : {true, false}) {
    add(cases, arrays, {uniform, prefixes(s.devices).front(), "auto", false, s.repeats, packs});
  }
  if (s.devices.size() > 1) add(cases, arrays, {uniform, s.devices, "auto", false, s.repeats});
  add(cases, arrays, {{"u64", "uniform", num_keys / 2, s.seed}, s.devices, "auto", true, s.repeats, false});
  for (const char* type : {"u64", "f64", "u32(u32)"}) {
    add(cases, arrays, {{type, "uniform", num_keys / 2, s.seed}, s.devices, "auto", true, s.repeats});
  }
  add(cases, arrays, {{"u64(u64)", "uniform", num_keys / 4, s.seed}, s.devices, "auto", true, s.repeats});
}

}  // namespace bench
