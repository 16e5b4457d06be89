// SPDX-License-Identifier: Apache-2.0
// One device: copy in, its local sort, copy out. On a device that shares the caller's memory only the sort is left.
#include "algorithms/single.hpp"

#include <fmt/format.h>

#include <new>

#include "algorithms/registry.hpp"
#include "base/math.hpp"
#include "base/said_of_done.hpp"
#include "spansort/errors.hpp"

namespace spansort::algorithms {

namespace {

// The slots hold what the sort alternates with, the keys where the caller's memory is not shared, and the local sort's
// scratch.
constexpr unsigned alternate_slot = 0;
constexpr unsigned data_slot = 1;
constexpr unsigned scratch_slot = 2;
static_assert(scratch_slot < callers_slot);

bool is_in_place(const rank& only, const problem& sort) {
  return sort.is_resident() || only.device->shares_host_memory();
}

/// Returns the number of records whose slot holds `size_bytes`.
std::uint64_t records_holding(const device::record_shape& shape, std::uint64_t size_bytes) {
  return base::ceil_div(size_bytes, std::uint64_t{shape.bytes()});
}

/// Returns the device's offer of a local sort.
device::local_sort_offer offer_of(const rank& only, const problem& sort, std::string_view local_sort) {
  return only.device->offer_local_sort(local_sort, sort.shape, sort.num_keys);
}

/// Returns the records of the scratch slot: as many as hold `size_bytes`, or none where the slot was not taken.
std::uint64_t held_scratch_records(const rank& only, const device::record_shape& shape, std::uint64_t size_bytes) {
  const std::uint64_t num_records = records_holding(shape, size_bytes);
  const bool is_held =
      scratch_slot < only.slots.size() && only.slots[scratch_slot].size_bytes() >= slot_bytes(shape, num_records);
  return is_held ? num_records : 0;
}

void require_offered(const device::local_sort_offer& offer, const rank& only, const sort_settings& options,
                     std::string_view local_sort) {
  if (!offer.why_not.empty()) {
    throw invalid_argument(
        fmt::format("algorithm {} does not sort on {}: {}", local_sort, only.device->name(), offer.why_not));
  }
  if (offer.most_digit_bits != 0 && options.tuning.radix_bits > offer.most_digit_bits) {
    throw invalid_argument(fmt::format("algorithm {} takes digits of at most {} bits on {}, not of {}", local_sort,
                                       offer.most_digit_bits, only.device->name(), options.tuning.radix_bits));
  }
}

void run_single(run_context& run, const problem& sort) { sort_on_one(run, sort, {}); }

std::vector<slot_request> single_workspace(const std::vector<rank>& ranks, const sort_settings& options,
                                           const problem& sort) {
  return workspace_on_one(ranks, options, sort, {});
}

/// Waits for a local sort that overwrites the input. It stops by itself where it still can; one that ran to its end is
/// not cancelled afterwards.
void finish_in_place(run_context& run, const problem& sort) {
  try {
    run.finish_phase("local sort", 1.0, 2 * sort.num_keys, cancel_point::inside_the_work);
  } catch (const std::bad_alloc&) {
    if (sort.is_resident()) run.take_back_commit();  // a local sort of one segment lacks memory before it begins
    throw;
  }
}

}  // namespace

std::vector<slot_request> workspace_on_one(const std::vector<rank>& ranks, const sort_settings& options,
                                           const problem& sort, std::string_view local_sort) {
  const rank& only = ranks[0];
  const device::local_sort_offer offer = offer_of(only, sort, local_sort);
  require_offered(offer, only, options, local_sort);
  std::vector<slot_request> wishes;
  if (offer.needs_alternate) wishes.push_back({.rank = 0, .slot = alternate_slot, .num_records = sort.num_keys});
  if (!is_in_place(only, sort)) wishes.push_back({.rank = 0, .slot = data_slot, .num_records = sort.num_keys});
  if (offer.scratch_bytes == 0) return wishes;
  wishes.push_back({.rank = 0, .slot = scratch_slot, .num_records = records_holding(sort.shape, offer.scratch_bytes)});
  // The device's own choice sorts without, and so takes it only where nobody is short of memory for it.
  const bool is_needed = !local_sort.empty();
  std::vector<slot_request> all = wishes;
  all.insert(all.end(), sort.callers_wishes.begin(), sort.callers_wishes.end());
  const bool has_room =
      options.memory_limit_bytes == 0 && fits_devices(ranks, sort.shape, all, options.device_memory_bytes);
  if (!is_needed && !has_room) wishes.pop_back();
  return wishes;
}

void sort_on_one(run_context& run, const problem& sort, std::string_view local_sort) {
  const rank& only = run.ranks()[0];
  device::queue& queue = *only.queue;
  const std::uint64_t keys_bytes = sort.num_keys * sort.shape.codec.width_bytes();
  const std::uint64_t values_bytes = sort.num_keys * sort.shape.value_bytes;
  const bool in_place = is_in_place(only, sort);
  const device::local_sort_offer offer = offer_of(only, sort, local_sort);

  const device::records alternate =
      slot_records(only, alternate_slot, sort.shape, offer.needs_alternate ? sort.num_keys : 0);
  const device::records where_it_lies = sort.is_resident() ? sort.resident().parts[0].data : sort.data();
  const device::records data = in_place ? where_it_lies : slot_records(only, data_slot, sort.shape, sort.num_keys);
  if (!in_place) {
    queue.copy(data.keys, sort.data().keys, keys_bytes, "copy in");
    queue.copy(data.values, sort.data().values, values_bytes, "copy in");
  }
  device::local_sort_outcome outcome;
  const std::uint64_t scratch_records = held_scratch_records(only, sort.shape, offer.scratch_bytes);
  queue.local_sort({.shape = sort.shape,
                    .source = data,
                    .alternate = alternate,
                    .result_in_alternate = false,
                    .segments = {{0, sort.num_keys, {0, sort.shape.codec.key_bits()}}},
                    .outcome = &outcome,
                    .algorithm = local_sort,
                    .scratch = slot_records(only, scratch_slot, sort.shape, scratch_records).keys,
                    .digit_bits = offer.most_digit_bits == 0 ? 0 : run.options().tuning.radix_bits,
                    .flow = in_place ? sort.flow : nullptr});
  if (sort.is_resident()) run.commit();
  if (in_place) {
    finish_in_place(run, sort);
  } else {
    run.finish_phase("local sort", 0.9, 2 * sort.num_keys);
    run.queue_as_one([&] {
      run.commit();
      queue.copy(sort.data().keys, data.keys, keys_bytes, "copy out");
      queue.copy(sort.data().values, data.values, values_bytes, "copy out");
    });
    run.finish_phase("copy out", 1.0, sort.num_keys);
  }
  base::say_of_done([&] { run.report().algorithm = local_sort.empty() ? "single" : local_sort; });
  run.report().imbalance = run.num_ranks();
  for (rank_report& r : run.report().ranks) r.num_keys_in = r.num_keys_out = 0;
  run.report().ranks[0].num_keys_in = run.report().ranks[0].num_keys_out = sort.num_keys;
  base::say_of_done([&] { run.report().input_shape = name(outcome.shape); });
  run.report().num_passes = outcome.num_passes;
}

extern constinit const entry single_algorithm{.name = "single",
                                              .description = "one device's own sort",
                                              .is = {.runs_inline = true, .takes_resident = true},
                                              .run = run_single,
                                              .workspace = single_workspace};

}  // namespace spansort::algorithms
