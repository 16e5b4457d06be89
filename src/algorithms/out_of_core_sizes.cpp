// SPDX-License-Identifier: Apache-2.0
#include "algorithms/out_of_core_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/math.hpp"
#include "spansort/errors.hpp"

namespace spansort::algorithms {
namespace {

/// A device that is to have this many parts waits little for the first to arrive and the last to leave.
constexpr std::uint64_t parts_of_a_rank = 16;
constexpr std::uint64_t parts_of_few_ranks = 32;

/// Smaller parts gain nothing: what is brought from one of the runs becomes too short for the link.
constexpr std::uint64_t enough_part_bytes = std::uint64_t{64} << 20;

/// More parts than these take longer by their slices, as many as parts times runs, than by what is in them.
constexpr std::uint64_t most_parts = 4096;
constexpr std::uint64_t least_part_bytes = std::uint64_t{64} << 10;

/// What a device is not asked for without need: asking takes longer than small sorts.
constexpr std::uint64_t worth_asking_bytes = std::uint64_t{64} << 20;

std::uint64_t least_part_records(const sort_settings& options, const problem& sort, std::uint64_t wanted_records) {
  if (options.hooks.device_chunk_keys != 0) return std::min<std::uint64_t>(1, wanted_records);
  const std::uint64_t least =
      std::max(base::ceil_div(sort.num_keys, most_parts), least_part_bytes / sort.shape.bytes());
  return std::min(least, wanted_records);
}

std::uint64_t workspace_bytes(const rank& r, const device::record_shape& shape, std::uint64_t part_records) {
  return r.device->scratch_bytes() + num_pipeline_slots * slot_bytes(shape, part_records);
}

/// The largest part, up to `wanted_records`, that the rank's device has room for.
std::uint64_t fitting_records(const std::vector<rank>& ranks, const rank& r, const sort_settings& options,
                              const problem& sort, std::uint64_t wanted_records) {
  const std::uint64_t wanted_bytes = workspace_bytes(r, sort.shape, wanted_records);
  const std::uint64_t limit_bytes = options.device_memory_bytes;
  if (limit_bytes == 0 && wanted_bytes < held_device_bytes(r) + worth_asking_bytes) return wanted_records;
  const std::uint64_t room_bytes = device_room_bytes(ranks, r, limit_bytes);
  if (wanted_bytes <= room_bytes) return wanted_records;
  const std::uint64_t least_records = least_part_records(options, sort, wanted_records);
  const std::uint64_t least_bytes = workspace_bytes(r, sort.shape, least_records);
  if (least_bytes > room_bytes) {
    const std::uint64_t num_sharers = limit_bytes == 0 ? 1 : num_entries(ranks, r);
    const std::uint64_t granted_bytes = limit_bytes == 0 ? room_bytes : limit_bytes;
    throw out_of_memory(
        fmt::format("sorting {} records in parts needs {} bytes of workspace on {}, but {} bytes are {}", sort.num_keys,
                    least_bytes * num_sharers, r.device->name(), granted_bytes,
                    limit_bytes == 0 ? "available" : "allowed (device_memory_bytes)"),
        least_bytes * num_sharers, granted_bytes);
  }
  const std::uint64_t slot = (room_bytes - r.device->scratch_bytes()) / num_pipeline_slots;
  return records_of_slot(sort.shape, slot);
}

}  // namespace

std::uint64_t wanted_part_records(std::uint64_t num_ranks, const sort_settings& options, const problem& sort) {
  if (options.hooks.device_chunk_keys != 0) return std::min(options.hooks.device_chunk_keys, sort.num_keys);
  const std::uint64_t wanted_parts = std::max(parts_of_few_ranks, parts_of_a_rank * num_ranks);
  const std::uint64_t enough_records = enough_part_bytes / sort.shape.bytes();
  return std::min(std::max(base::ceil_div(sort.num_keys, wanted_parts), enough_records), sort.num_keys);
}

std::uint64_t fitting_part_records(const std::vector<rank>& ranks, const sort_settings& options, const problem& sort,
                                   std::uint64_t wanted_records) {
  std::uint64_t part_records = wanted_records;
  for (const rank& r : ranks) part_records = fitting_records(ranks, r, options, sort, part_records);
  return part_records;
}

std::uint64_t least_slot_records(const std::vector<rank>& ranks, const device::record_shape& shape,
                                 unsigned num_slots) {
  std::uint64_t least = ~std::uint64_t{0};
  for (const rank& r : ranks) {
    for (unsigned i = 0; i < num_slots; ++i) {
      least = std::min(least, records_of_slot(shape, r.slots.at(i).size_bytes()));
    }
  }
  return least;
}

std::uint64_t num_parts(std::uint64_t num_records, std::uint64_t most_records, std::uint64_t num_ranks) {
  if (num_records == 0) return 0;
  const std::uint64_t fewest = base::ceil_div(num_records, most_records);
  return std::min(num_records, fewest > num_ranks ? base::round_up(fewest, num_ranks) : fewest);
}

std::vector<slot_request> out_of_core_workspace(const std::vector<rank>& ranks, const sort_settings& options,
                                                const problem& sort) {
  const std::uint64_t wanted = wanted_part_records(ranks.size(), options, sort);
  const std::uint64_t part_records = fitting_part_records(ranks, options, sort, wanted);
  std::vector<slot_request> wishes;
  for (unsigned r = 0; r < ranks.size(); ++r) {
    for (unsigned slot = 0; slot < num_pipeline_slots; ++slot) wishes.push_back({r, slot, part_records});
  }
  wishes.push_back({.rank = 0, .slot = 0, .num_records = sort.num_keys, .on_host = true});
  return wishes;
}

base::memory_formula out_of_core_host_memory(std::uint64_t num_devices, std::uint64_t record_bytes) {
  return {.fixed_bytes = num_devices * num_pipeline_slots * enough_part_bytes,
          .element_bytes = base::ceil_div(num_devices * num_pipeline_slots * record_bytes, parts_of_few_ranks)};
}

}  // namespace spansort::algorithms
