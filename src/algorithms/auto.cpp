// SPDX-License-Identifier: Apache-2.0
// The default: picks the driver that is fastest for input and devices, and says why.
#include <fmt/format.h>

#include "algorithms/registry.hpp"

namespace spansort::algorithms {
namespace {

/// Below this, one device is done before several have agreed on a plan: where rmg over cpu:2 begins to beat one of the
/// two (u32, u64, f32, uniform; AMD Zen 3, two cores).
constexpr std::uint64_t keys_worth_several_devices = std::uint64_t{1} << 17;

std::uint64_t several_devices_keys(const sort_options& options) {
  const std::uint64_t wanted = options.tuning.several_devices_keys;
  return wanted == 0 ? keys_worth_several_devices : wanted;
}

bool is_for_one_device(std::size_t num_ranks, const sort_options& options, const problem& sort) {
  return num_ranks == 1 || sort.num_keys < several_devices_keys(options);
}

}  // namespace

std::vector<slot_request> auto_workspace(const std::vector<rank>& ranks, const sort_options& options,
                                         const problem& sort) {
  return is_for_one_device(ranks.size(), options, sort) ? single_workspace(ranks, options, sort)
                                                        : rmg_workspace(ranks, options, sort);
}

void run_auto(run_context& run, const problem& sort) {
  if (!is_for_one_device(run.num_ranks(), run.options(), sort)) {
    run_rmg(run, sort);
    run.report().picked = fmt::format("rmg over the {} devices asked for", run.num_ranks());
  } else if (run.num_ranks() == 1) {
    run_single(run, sort);
    const unsigned num_threads = run.ranks()[0].device->num_threads();
    run.report().picked = fmt::format("single: one device with {} thread{}", num_threads, num_threads == 1 ? "" : "s");
  } else {
    run_single(run, sort);
    run.report().picked = fmt::format("single on the first of {} devices: fewer than {} keys", run.num_ranks(),
                                      several_devices_keys(run.options()));
  }
  if (run.report().input_shape != "general") {
    run.report().picked += fmt::format("; the input was {}", run.report().input_shape);
  }
}

}  // namespace spansort::algorithms
