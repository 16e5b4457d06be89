// SPDX-License-Identifier: Apache-2.0
// The default: picks the driver that is fastest for input and devices, and says why.
#include <fmt/format.h>

#include "algorithms/registry.hpp"

namespace spansort::algorithms {
namespace {

/// Below this, one device is done before several have agreed on a plan. An estimate; not measured yet.
constexpr std::uint64_t keys_worth_several_devices = std::uint64_t{1} << 17;

}  // namespace

void run_auto(run_context& run, const problem& sort) {
  if (run.num_ranks() == 1) {
    run_single(run, sort);
    const device::device_info info = run.ranks()[0].device->info();
    run.report().picked = fmt::format("single: one device with {} thread{}", info.num_threads,
                                      info.num_threads == 1 ? "" : "s");
  } else if (sort.num_keys < keys_worth_several_devices) {
    run_single(run, sort);
    run.report().picked = fmt::format("single on the first of {} devices: fewer than {} keys", run.num_ranks(),
                                      keys_worth_several_devices);
  } else {
    run_rmg(run, sort);
    run.report().picked = fmt::format("rmg over the {} devices asked for", run.num_ranks());
  }
  if (run.report().input_shape != "general") {
    run.report().picked += fmt::format("; the input was {}", run.report().input_shape);
  }
}

}  // namespace spansort::algorithms
