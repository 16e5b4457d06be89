// SPDX-License-Identifier: Apache-2.0
// The default: chooses the driver that is fastest for the input and the devices, and says why.
#include <fmt/format.h>

#include "algorithms/input_place.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/rmg.hpp"
#include "algorithms/sizes.hpp"

namespace spansort::algorithms {

// It chooses between these, beside RMG sort.
extern const entry single_algorithm, out_of_core_algorithm;

namespace {

void run_rmg_with_extras(run_context& run, const problem& sort) {
  run_rmg(run, sort, {.looks_for_order = !sort.is_resident(), .refines_large_buckets = is_copied(run.ranks(), sort)});
}

constexpr entry rmg_with_extras{.name = "rmg",
                                .description = "rmg, with what is beyond the paper",
                                .is = {.uses_all_devices = true, .takes_resident = true, .awaits_records = true},
                                .run = run_rmg_with_extras,
                                .workspace = rmg_workspace};

bool has_copies_to_overlap(const rank& only, const sort_settings& options, const problem& sort) {
  if (sort.is_resident() || only.device->shares_host_memory()) return false;
  const std::uint64_t piece = options.hooks.copy_piece_bytes;
  return sort.num_keys * sort.shape.bytes() >= (piece == 0 ? overlap_worth_bytes : piece);
}

std::string describe(const device::device& device) {
  if (!device.shares_host_memory()) return device.name();
  return fmt::format("one device with {} thread{}", device.num_threads(), device.num_threads() == 1 ? "" : "s");
}

choice choose_on_one(const rank& only, const sort_settings& options, const problem& sort) {
  if (!has_copies_to_overlap(only, options, sort)) {
    return {.algorithm = &single_algorithm, .why = "single: " + describe(*only.device)};
  }
  return {.algorithm = &rmg_with_extras,
          .why = fmt::format("rmg on {}: copies overlap with the work", only.device->name())};
}

choice choose_on_several(const std::vector<rank>& ranks, const sort_settings& options, const problem& sort) {
  const std::uint64_t given = options.hooks.several_devices_keys;
  const std::uint64_t fewest = given == 0 ? ranks.front().device->advise(sort.shape).several_devices_keys : given;
  if (sort.is_resident() || sort.num_keys >= fewest) {
    return {.algorithm = &rmg_with_extras, .why = fmt::format("rmg over the {} devices asked for", ranks.size())};
  }
  return {.algorithm = &single_algorithm,
          .why = fmt::format("single on the first of {} devices: fewer than {} keys", ranks.size(), fewest)};
}

std::string why_in_parts(const std::vector<rank>& ranks, std::uint64_t limit_bytes) {
  const std::string on =
      ranks.size() == 1 ? "on " + ranks[0].device->name() : fmt::format("over the {} devices asked for", ranks.size());
  return limit_bytes == 0
             ? fmt::format("out_of_core {}: too large for their free memory", on)
             : fmt::format("out_of_core {}: too large for the {} bytes allowed on a device", on, limit_bytes);
}

choice choose_fastest(const std::vector<rank>& ranks, const sort_settings& options, const problem& sort) {
  choice whole = ranks.size() == 1 ? choose_on_one(ranks[0], options, sort) : choose_on_several(ranks, options, sort);
  whole.workspace = whole.algorithm->workspace(ranks, options, sort);
  if (sort.is_resident() || fits_devices(ranks, sort.shape, whole.workspace, options.device_memory_bytes)) return whole;
  return {.algorithm = &out_of_core_algorithm,
          .workspace = out_of_core_algorithm.workspace(ranks, options, sort),
          .why = why_in_parts(ranks, options.device_memory_bytes)};
}

}  // namespace

extern constinit const entry auto_algorithm{
    .name = "auto",
    .description = "what is fastest for the input and the devices",
    .is = {.uses_all_devices = true, .runs_inline = true, .takes_resident = true, .sorts_in_parts = true},
    .choose = choose_fastest};

}  // namespace spansort::algorithms
