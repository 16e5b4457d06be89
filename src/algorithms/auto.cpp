// SPDX-License-Identifier: Apache-2.0
// The default: picks the driver that is fastest for input and devices, and says why.
#include <fmt/format.h>

#include "algorithms/registry.hpp"

namespace spansort::algorithms {
namespace {

/// Below this, one device is done before several have agreed on a plan. An estimate; not measured yet.
constexpr std::uint64_t keys_worth_several_devices = std::uint64_t{1} << 17;

bool is_for_one_device(std::size_t num_ranks, const problem& sort) {
  return num_ranks == 1 || sort.num_keys < keys_worth_several_devices;
}

}  // namespace

std::vector<slot_request> auto_workspace(const std::vector<rank>& ranks, const sort_options& options,
                                         const problem& sort) {
  return is_for_one_device(ranks.size(), sort) ? single_workspace(ranks, options, sort)
                                               : rmg_workspace(ranks, options, sort);
}

void run_auto(run_context& run, const problem& sort) {
  if (!is_for_one_device(run.num_ranks(), sort)) {
    run_rmg(run, sort);
    run.report().picked = fmt::format("rmg over the {} devices asked for", run.num_ranks());
  } else if (run.num_ranks() == 1) {
    run_single(run, sort);
    const device::device_info info = run.ranks()[0].device->info();
    run.report().picked =
        fmt::format("single: one device with {} thread{}", info.num_threads, info.num_threads == 1 ? "" : "s");
  } else {
    run_single(run, sort);
    run.report().picked = fmt::format("single on the first of {} devices: fewer than {} keys", run.num_ranks(),
                                      keys_worth_several_devices);
  }
  if (run.report().input_shape != "general") {
    run.report().picked += fmt::format("; the input was {}", run.report().input_shape);
  }
}

}  // namespace spansort::algorithms
