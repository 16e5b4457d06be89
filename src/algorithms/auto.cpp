// SPDX-License-Identifier: Apache-2.0
// The default: picks the driver that is fastest for input and devices, and says why.
#include <fmt/format.h>

#include "algorithms/registry.hpp"
#include "algorithms/sizes.hpp"

namespace spansort::algorithms {
namespace {

std::uint64_t several_devices_keys(const std::vector<rank>& ranks, const sort_options& options, const problem& sort) {
  const std::uint64_t wanted = options.tuning.several_devices_keys;
  return wanted == 0 ? ranks.front().device->advise(sort.shape).several_devices_keys : wanted;
}

bool has_copies_to_overlap(const std::vector<rank>& ranks, const sort_options& options, const problem& sort) {
  if (sort.is_resident() || ranks.front().device->shares_host_memory()) return false;
  const std::uint64_t piece = options.tuning.copy_piece_bytes;
  return sort.num_keys * sort.shape.bytes() >= (piece == 0 ? overlap_worth_bytes : piece);
}

bool is_for_rmg(const std::vector<rank>& ranks, const sort_options& options, const problem& sort) {
  if (ranks.size() == 1) return has_copies_to_overlap(ranks, options, sort);
  return sort.is_resident() || sort.num_keys >= several_devices_keys(ranks, options, sort);
}

std::string of_one(const device::device& device) {
  if (!device.shares_host_memory()) return device.name();
  return fmt::format("one device with {} thread{}", device.num_threads(), device.num_threads() == 1 ? "" : "s");
}

/// All at once, not in parts.
std::vector<slot_request> whole_workspace(const std::vector<rank>& ranks, const sort_options& options,
                                          const problem& sort) {
  return is_for_rmg(ranks, options, sort) ? rmg_workspace(ranks, options, sort)
                                          : single_workspace(ranks, options, sort);
}

bool may_go_in_parts(const problem& sort) { return !sort.is_resident() && sort.others == nullptr; }

std::string why_in_parts(run_context& run) {
  const std::uint64_t limit = run.options().device_memory_bytes;
  const std::string on = run.num_ranks() == 1 ? "on " + run.ranks()[0].device->name()
                                              : fmt::format("over the {} devices asked for", run.num_ranks());
  return limit == 0 ? fmt::format("out_of_core {}: too large for their free memory", on)
                    : fmt::format("out_of_core {}: too large for the {} bytes allowed on a device", on, limit);
}

}  // namespace

std::vector<slot_request> auto_workspace(const std::vector<rank>& ranks, const sort_options& options,
                                         const problem& sort) {
  const std::vector<slot_request> whole = whole_workspace(ranks, options, sort);
  if (!may_go_in_parts(sort) || fits_devices(ranks, sort.shape, whole, options.device_memory_bytes)) return whole;
  return out_of_core_workspace(ranks, options, sort);
}

void run_auto(run_context& run, const problem& sort) {
  const device::device& first = *run.ranks()[0].device;
  // What has been reserved says what was decided: the devices' free memory may be another by now.
  if (may_go_in_parts(sort) &&
      !is_reserved(run.ranks(), sort.shape, whole_workspace(run.ranks(), run.options(), sort))) {
    run_out_of_core(run, sort);
    run.report().picked = why_in_parts(run);
    return;
  }
  if (is_for_rmg(run.ranks(), run.options(), sort)) {
    run_rmg(run, sort);
    run.report().picked = run.num_ranks() == 1 ? fmt::format("rmg on {}: copies overlap with the work", first.name())
                                               : fmt::format("rmg over the {} devices asked for", run.num_ranks());
  } else if (run.num_ranks() == 1) {
    run_single(run, sort);
    run.report().picked = "single: " + of_one(first);
  } else {
    run_single(run, sort);
    run.report().picked = fmt::format("single on the first of {} devices: fewer than {} keys", run.num_ranks(),
                                      several_devices_keys(run.ranks(), run.options(), sort));
  }
  if (run.report().input_shape != "general") {
    run.report().picked += fmt::format("; the input was {}", run.report().input_shape);
  }
}

}  // namespace spansort::algorithms
