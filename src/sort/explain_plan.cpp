// SPDX-License-Identifier: Apache-2.0
// The plan without the sort: the partitioning phase on a copy of the keys.
#include "algorithms/rmg_state.hpp"
#include "device/copy_parallel.hpp"
#include "plan/planner.hpp"
#include "sort/arguments.hpp"
#include "sort/explain_counts.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/open_devices.hpp"
#include "spansort/plan.hpp"

namespace spansort {

plan_explanation explain_plan(const const_key_span keys, direction d, const sort_options& given) {
  const algorithms::sort_settings options = algorithms::settings_of(given);
  sorting::check_keys(keys);
  sorting::check_tuning(options.tuning);
  const sorting::device_set devices = sorting::resolve_devices(options.devices);
  const sorting::gpu_call call(devices, options.hooks);
  std::vector<algorithms::rank> ranks =
      sorting::open_ranks(devices, {.across_nodes = true, .hooks = options.hooks, .threads = options.threads});
  sort_report report;
  for (unsigned i = 0; i < ranks.size(); ++i) report.ranks.emplace_back();
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_bits};
  algorithms::problem problem{{codec, 0}, {}, keys.num_keys};
  const std::uint64_t keys_bytes = keys.num_keys * size_bytes(keys.type);
  // Devices with memory of their own leave the caller's keys alone as long as nothing is gathered.
  const bool needs_copy = ranks.front().device->shares_host_memory();
  algorithms::reserve_workspace(ranks, problem.shape, algorithms::rmg_workspace(ranks, options, problem),
                                needs_copy ? keys_bytes : 0, options.memory_limit_bytes);
  const device::buffer copy = needs_copy ? ranks.front().device->allocate(keys_bytes) : device::buffer();
  if (needs_copy) device::copy_parallel(copy.data(), keys.data, keys_bytes);
  problem.data().keys = needs_copy ? copy.data() : const_cast<void*>(keys.data);
  algorithms::run_context run(ranks, options, report);
  algorithms::rmg_state state(run, problem);
  state.scatter_input();
  while (state.has_spanning_buckets()) {
    state.count_pending();
    state.plan_pass();
    state.partition_pending();
  }
  return {draw(state.plan()), to_json(state.plan())};
}

plan_explanation sorting::explain_counts(key_type type, std::uint64_t num_keys, direction d, const sort_options& given,
                                         const pass_counter& count) {
  const algorithms::sort_settings options = algorithms::settings_of(given);
  check_tuning(options.tuning);
  const device_set devices = resolve_devices(options.devices);
  const gpu_call call(devices, options.hooks);
  const std::vector<algorithms::rank> ranks =
      open_ranks(devices, {.across_nodes = true, .hooks = options.hooks, .threads = options.threads});
  const keys::key_codec codec{type, keys::is_descending(d), keys::tie_rule::by_bits};
  const algorithms::problem problem{{codec, 0}, {}, num_keys};
  plan::planner planner(algorithms::plan_parameters(problem, ranks, options, {}));
  while (!planner.pending().empty()) {
    pass_counts counts;
    for (const plan::refinement& bucket : planner.pending()) {
      counts.emplace_back(bucket.slices.size(), std::vector<std::uint64_t>(bucket.digit.num_buckets()));
    }
    count(planner, counts);
    planner.add_pass(counts);
  }
  const plan::sort_plan plan = std::move(planner).finish();
  return {draw(plan), to_json(plan)};
}

}  // namespace spansort
