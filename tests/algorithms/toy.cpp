// SPDX-License-Identifier: Apache-2.0
// An algorithm as a newcomer would add it: one file with a driver, its workspace and its description. Indices are
// sorted by std::stable_sort, and the records follow them by way of the workspace. Devices share the caller's memory.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "algorithms/registry.hpp"

namespace spansort::algorithms {
namespace {

void copy_record(const device::record_shape& shape, const device::records& to, std::uint64_t i,
                 const device::records& from, std::uint64_t j) {
  const device::records target = advance(shape, to, i);
  const device::records source = advance(shape, from, j);
  std::memcpy(target.keys, source.keys, shape.codec.width_bytes());
  if (shape.value_bytes != 0) std::memcpy(target.values, source.values, shape.value_bytes);
}

void run_toy(run_context& run, const problem& sort) {
  const device::record_shape& shape = sort.shape;
  std::vector<std::uint64_t> order(sort.num_keys);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::uint64_t i) { return std::uint64_t{encode_at(shape.codec, sort.data().keys, i)}; });
  const device::records sorted = slot_records(run.ranks()[0], 0, shape, sort.num_keys);
  for (std::uint64_t i = 0; i < sort.num_keys; ++i) copy_record(shape, sorted, i, sort.data(), order[i]);
  run.finish_phase("sort", 0.5, 0);
  run.commit();
  for (std::uint64_t i = 0; i < sort.num_keys; ++i) copy_record(shape, sort.data(), i, sorted, i);
  run.finish_phase("copy", 1.0, 0);
  run.report().algorithm = "toy";
  run.report().input_shape = "unknown";
}

std::vector<slot_request> toy_workspace(const std::vector<rank>&, const sort_settings&, const problem& sort) {
  return {{.rank = 0, .slot = 0, .num_records = sort.num_keys}};
}

}  // namespace

extern constinit const entry toy_algorithm{.name = "toy",
                                           .description = "std::stable_sort of indices",
                                           .is = {.runs_inline = true},
                                           .run = run_toy,
                                           .workspace = toy_workspace};

}  // namespace spansort::algorithms
