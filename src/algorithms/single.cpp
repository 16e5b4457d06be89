// SPDX-License-Identifier: Apache-2.0
// One device: copy in, its local sort, copy out. On a device that shares the caller's memory only the sort is left.
#include "algorithms/registry.hpp"

namespace spansort::algorithms {

namespace {

// On every device, slot 0 is what the sort alternates with, slot 1 the keys where the caller's memory is not shared.
std::vector<slot_request> single_workspace(const std::vector<rank>& ranks, const sort_settings&, const problem& sort) {
  std::vector<slot_request> wishes{{.rank = 0, .slot = 0, .num_records = sort.num_keys}};
  if (!sort.is_resident() && !ranks[0].device->shares_host_memory())
    wishes.push_back({.rank = 0, .slot = 1, .num_records = sort.num_keys});
  return wishes;
}

void run_single(run_context& run, const problem& sort) {
  const rank& only = run.ranks()[0];
  device::queue& queue = *only.queue;
  const std::uint64_t keys_bytes = sort.num_keys * sort.shape.codec.width_bytes();
  const std::uint64_t values_bytes = sort.num_keys * sort.shape.value_bytes;
  const bool in_place = sort.is_resident() || only.device->shares_host_memory();

  const device::records alternate = slot_records(only, 0, sort.shape, sort.num_keys);
  const device::records where_it_lies = sort.is_resident() ? sort.resident().parts[0].data : sort.data();
  const device::records data = in_place ? where_it_lies : slot_records(only, 1, sort.shape, sort.num_keys);
  if (!in_place) {
    queue.copy(data.keys, sort.data().keys, keys_bytes, "copy in");
    queue.copy(data.values, sort.data().values, values_bytes, "copy in");
  }
  if (sort.is_resident()) run.commit();
  device::local_sort_outcome outcome;
  queue.local_sort({.shape = sort.shape,
                    .source = data,
                    .alternate = alternate,
                    .result_in_alternate = false,
                    .segments = {{0, sort.num_keys, {0, sort.shape.codec.key_bits()}}},
                    .outcome = &outcome});
  if (in_place) {
    // The local sort itself stops where it still can; a sort that ran to its end is not cancelled afterwards.
    run.finish_phase("local sort", 1.0, 2 * sort.num_keys, cancel_point::inside_the_work);
  } else {
    run.finish_phase("local sort", 0.9, 2 * sort.num_keys);
    run.commit();
    queue.copy(sort.data().keys, data.keys, keys_bytes, "copy out");
    queue.copy(sort.data().values, data.values, values_bytes, "copy out");
    run.finish_phase("copy out", 1.0, sort.num_keys);
  }
  run.report().algorithm = "single";
  run.report().imbalance = run.num_ranks();
  for (rank_report& r : run.report().ranks) r.num_keys_in = r.num_keys_out = 0;
  run.report().ranks[0].num_keys_in = run.report().ranks[0].num_keys_out = sort.num_keys;
  run.report().input_shape = name(outcome.shape);
  run.report().num_passes = outcome.num_passes;
}

}  // namespace

extern constinit const entry single_algorithm{.name = "single",
                                              .description = "one device's own sort",
                                              .is = {.runs_inline = true, .takes_resident = true},
                                              .run = run_single,
                                              .workspace = single_workspace};

}  // namespace spansort::algorithms
