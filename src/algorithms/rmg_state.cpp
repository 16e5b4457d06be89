// SPDX-License-Identifier: Apache-2.0
#include "algorithms/rmg_state.hpp"

#include <algorithm>
#include <bit>

#include "algorithms/registry.hpp"
#include "base/assert.hpp"
#include "exchange/in_memory.hpp"

namespace spansort::algorithms {
namespace {

// The caller's progress bar: how far a sort is when a phase ends.
constexpr double fraction_after_partitioning = 0.45;
constexpr double fraction_after_exchange = 0.6;

bool devices_share_memory(const std::vector<rank>& ranks) {
  return std::ranges::all_of(ranks, [](const rank& r) { return r.device->shares_host_memory(); });
}

std::uint64_t chunk_count(const plan::parameters& p, unsigned rank) {
  return chunk_begin(p, rank + 1) - chunk_begin(p, rank);
}

/// Most records that a rank can hold before or after the exchange.
std::uint64_t rank_capacity(const plan::parameters& p) { return largest_chunk(p) + 2 * epsilon_keys(p); }

/// What suits every rank's device.
device::partition_advice advice_of_all(const std::vector<rank>& ranks, const device::record_shape& shape) {
  device::partition_advice all = ranks.front().device->advise(shape);
  for (const rank& r : ranks) {
    const device::partition_advice its = r.device->advise(shape);
    all.segment_keys = std::min(all.segment_keys, its.segment_keys);
    all.radix_bits = std::min(all.radix_bits, its.radix_bits);
  }
  return all;
}

/// Every rank may hold a slice of every bucket of a pass, and as many buckets as ranks may be refined in it: the planner's
/// counts are to stay within megabytes.
unsigned widest_planned_bits(unsigned num_ranks) {
  constexpr std::uint64_t most_counts = std::uint64_t{1} << 22;
  const std::uint64_t num_buckets = most_counts / num_ranks / num_ranks;
  return std::max(4U, static_cast<unsigned>(std::bit_width(num_buckets)) - (num_buckets == 0 ? 0U : 1U));
}

/// Enough buckets for uniform keys to leave segments of the advised size; small neighbours are fused up to it.
void follow_advice(plan::parameters& p, const device::partition_advice& advice) {
  const std::uint64_t num_segments = p.num_keys / std::max<std::uint64_t>(advice.segment_keys, 1);
  const unsigned widest = std::min(advice.radix_bits, widest_planned_bits(p.num_ranks));
  p.radix_bits =
      std::clamp(static_cast<unsigned>(std::bit_width(num_segments)), std::min(p.radix_bits, widest), widest);
  if (p.num_keys == 0) return;
  const double half_segment = static_cast<double>(advice.segment_keys) / 2;
  p.fuse_threshold = std::min(1.0, half_segment / static_cast<double>(largest_chunk(p)));
}

std::uint64_t rank_of_key(const problem& sort, std::uint64_t index) {
  return encode_at(sort.shape.codec, sort.data.keys, index);
}

}  // namespace

plan::parameters plan_parameters(const problem& sort, const std::vector<rank>& ranks, const tuning_options& tuning) {
  plan::parameters p;
  p.num_keys = sort.num_keys;
  p.num_ranks = static_cast<unsigned>(ranks.size());
  p.key_bits = sort.shape.codec.key_bits();
  follow_advice(p, advice_of_all(ranks, sort.shape));
  if (tuning.radix_bits != 0) p.radix_bits = tuning.radix_bits;
  if (tuning.epsilon >= 0) p.epsilon = tuning.epsilon;
  if (tuning.fuse_threshold >= 0) p.fuse_threshold = tuning.fuse_threshold;
  return p;
}

std::vector<slot_request> rmg_workspace(const std::vector<rank>& ranks, const sort_options& options,
                                        const problem& sort) {
  const std::uint64_t capacity = rank_capacity(plan_parameters(sort, ranks, options.tuning));
  const unsigned num_slots = devices_share_memory(ranks) ? 1 : 2;
  std::vector<slot_request> wishes;
  for (unsigned r = 0; r < ranks.size(); ++r) {
    for (unsigned slot = 0; slot < num_slots; ++slot) wishes.push_back({r, slot, capacity});
  }
  return wishes;
}

rmg_state::rmg_state(run_context& run, const problem& sort)
    : run_(run),
      sort_(sort),
      shared_memory_(devices_share_memory(run.ranks())),
      planner_(plan_parameters(sort, run.ranks(), run.options().tuning)),
      buffers_(run.num_ranks()),
      chunk_shapes_(run.num_ranks(), device::input_shape::constant) {
  const plan::parameters& p = planner_.params();
  const std::uint64_t capacity = rank_capacity(p);
  for (const rank& puller : run.ranks()) {
    for (const rank& source : run.ranks()) SPANSORT_ASSERT(puller.device->reaches(*source.device));
  }
  for (unsigned r = 0; r < run.num_ranks(); ++r) {
    const rank& self = run.ranks()[r];
    buffers_[r].spare = slot_records(self, 0, sort.shape, capacity);
    buffers_[r].chunk = shared_memory_ ? advance(sort.shape, sort.data, chunk_begin(p, r))
                                       : slot_records(self, 1, sort.shape, capacity);
  }
}

rmg_state::~rmg_state() { run_.drain(); }

void rmg_state::scatter_input() {
  if (shared_memory_) return;
  const device::record_shape& shape = sort_.shape;
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    const plan::parameters& p = planner_.params();
    const device::records from = advance(shape, sort_.data, chunk_begin(p, r));
    device::queue& queue = *run_.ranks()[r].queue;
    queue.copy(buffers_[r].chunk.keys, from.keys, chunk_count(p, r) * shape.codec.width_bytes(), "copy in");
    queue.copy(buffers_[r].chunk.values, from.values, chunk_count(p, r) * shape.value_bytes, "copy in");
  }
}

void rmg_state::count_pending() {
  histograms_.clear();
  std::uint64_t num_keys = 0;
  const bool look = looks_for_order();
  for (const plan::refinement& bucket : planner_.pending()) {
    auto& of_bucket = histograms_.emplace_back();
    for (const plan::slice& slice : bucket.slices) {
      std::vector<std::uint64_t>& counts = of_bucket.emplace_back(bucket.digit.num_buckets());
      const device::records at = advance(sort_.shape, buffers_[slice.rank].current(), slice.offset);
      run_.ranks()[slice.rank].queue->histogram({.shape = sort_.shape,
                                                 .keys = at.keys,
                                                 .num_keys = slice.count,
                                                 .digits = {bucket.digit},
                                                 .counts = counts.data(),
                                                 .found_shape = look ? &chunk_shapes_[slice.rank] : nullptr});
      num_keys += slice.count;
    }
  }
  run_.finish_phase("histogram", is_first_pass() ? 0.15 : fraction_after_partitioning * 0.9, num_keys);
}

bool rmg_state::looks_for_order() const { return is_first_pass() && run_.options().algorithm == "auto"; }

device::input_shape rmg_state::whole_shape() const {
  using enum device::input_shape;
  // Reversing would turn values of equal keys around: with values no two keys of a reversed input are equal.
  const bool has_values = sort_.shape.value_bytes != 0;
  bool is_constant = true;
  bool is_sorted = true;
  bool is_reversed = true;
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    const std::uint64_t count = chunk_count(planner_.params(), r);
    if (count == 0) continue;
    const device::input_shape shape = chunk_shapes_[r];
    is_constant = is_constant && shape == constant;
    is_sorted = is_sorted && (shape == constant || shape == sorted);
    is_reversed = is_reversed && (shape == reversed || (shape == constant && (!has_values || count == 1)));
    const std::uint64_t border = chunk_begin(planner_.params(), r);
    if (border == 0) continue;
    const std::uint64_t left = rank_of_key(sort_, border - 1);
    const std::uint64_t right = rank_of_key(sort_, border);
    is_constant = is_constant && left == right;
    is_sorted = is_sorted && left <= right;
    is_reversed = is_reversed && (has_values ? left > right : left >= right);
  }
  if (is_constant) return constant;
  if (is_sorted) return sorted;
  return is_reversed ? reversed : general;
}

bool rmg_state::finish_if_ordered() {
  if (!looks_for_order()) return false;
  const device::input_shape shape = whole_shape();
  if (shape == device::input_shape::general) return false;
  if (shape == device::input_shape::reversed) {
    if (!shared_memory_) return false;  // every key must change devices: the exchange does no less
    reverse_in_place();
  }
  run_.report().algorithm = "rmg";
  run_.report().input_shape = name(shape);
  return true;
}

void rmg_state::reverse_in_place() {
  run_.no_way_back();
  // Each rank swaps its part of the front half with the mirrored part of the back half.
  plan::parameters halves = planner_.params();
  halves.num_keys /= 2;
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    const std::uint64_t begin = chunk_begin(halves, r);
    const std::uint64_t end = chunk_begin(halves, r + 1);
    run_.ranks()[r].queue->swap_mirrored({.shape = sort_.shape,
                                          .left = advance(sort_.shape, sort_.data, begin),
                                          .right = advance(sort_.shape, sort_.data, sort_.num_keys - end),
                                          .num_records = end - begin});
  }
  run_.finish_phase("reverse", 1.0, sort_.num_keys);
}

void rmg_state::partition_pending() {
  std::uint64_t num_keys = 0;
  for (std::size_t i = 0; i < planner_.pending().size(); ++i) {
    const plan::refinement& bucket = planner_.pending()[i];
    for (std::size_t j = 0; j < bucket.slices.size(); ++j) {
      const plan::slice slice = bucket.slices[j];
      const std::vector<std::uint64_t>& counts = histograms_[i][j];
      if (std::ranges::find(counts, slice.count) != counts.end()) continue;  // one bucket holds it all
      partition_slice(slice.rank, slice, bucket.digit, counts);
      num_keys += slice.count;
    }
  }
  run_.finish_phase("partition", fraction_after_partitioning * (is_first_pass() ? 0.8 : 0.95), num_keys);
  planner_.add_pass(histograms_);
  ++num_passes_;
}

void rmg_state::partition_slice(unsigned rank, plan::slice slice, keys::digit_position digit,
                                const std::vector<std::uint64_t>& counts) {
  rank_buffers& b = buffers_[rank];
  const device::record_shape& shape = sort_.shape;
  device::queue& queue = *run_.ranks()[rank].queue;
  const bool is_again = b.is_partitioned;  // then out of `spare`, into the chunk, and back
  if (is_again && shared_memory_) run_.no_way_back();
  const device::records from = advance(shape, b.current(), slice.offset);
  const device::records to = advance(shape, is_again ? b.chunk : b.spare, slice.offset);

  std::vector<device::records> destinations(counts.size());
  std::uint64_t offset = 0;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    destinations[d] = advance(shape, to, offset);
    offset += counts[d];
  }
  queue.partition(
      {.shape = shape, .source = from, .num_keys = slice.count, .digit = digit, .destinations = destinations.data()});
  b.is_partitioned = true;
  if (!is_again) return;
  queue.copy(from.keys, to.keys, slice.count * shape.codec.width_bytes(), "partition");
  queue.copy(from.values, to.values, slice.count * shape.value_bytes, "partition");
}

void rmg_state::make_plan() {
  plan_ = std::move(planner_).finish();
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    rank_buffers& b = buffers_[r];
    b.owned = shared_memory_ ? advance(sort_.shape, sort_.data, plan_.rank_begins[r]) : b.chunk;
  }
  find_closed_ranks();
  sort_report& report = run_.report();
  report.algorithm = "rmg";
  report.input_shape = "general";
  report.num_passes = static_cast<unsigned>(plan_.passes.size());
  report.num_spanning_buckets = plan_.num_spanning_buckets;
  report.imbalance = plan_.imbalance();
  for (unsigned r = 0; r < run_.num_ranks(); ++r) report.ranks[r].num_keys_out = plan_.rank_count(r);
  if (run_.options().report != nullptr) report.plan_json = to_json(plan_);
}

void rmg_state::find_closed_ranks() {
  for (rank_buffers& b : buffers_) b.is_closed = true;
  for (const plan::transfer& t : plan_.transfers) {
    if (!t.is_identity()) buffers_[t.source_rank].is_closed = buffers_[t.destination_rank].is_closed = false;
  }
  // An unpartitioned chunk is closed only where it is also in place.
  for (rank_buffers& b : buffers_) {
    if (!b.is_partitioned && b.chunk.keys != b.owned.keys) b.is_closed = false;
  }
}

void rmg_state::exchange_buckets() {
  run_.no_way_back();
  const device::record_shape& shape = sort_.shape;
  std::vector<exchange::endpoint> endpoints(run_.num_ranks());
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    rank_buffers& b = buffers_[r];
    device::queue& queue = *run_.ranks()[r].queue;
    if (!b.is_partitioned && !b.is_closed) {
      // Never partitioned, for one bucket holds it: out of the way of what arrives.
      const std::uint64_t count = chunk_count(plan_.params, r);
      queue.copy(b.spare.keys, b.chunk.keys, count * shape.codec.width_bytes(), "exchange");
      queue.copy(b.spare.values, b.chunk.values, count * shape.value_bytes, "exchange");
      b.is_partitioned = true;
    }
    endpoints[r] = {&queue, b.spare, b.owned};
  }
  run_.join_queues();
  std::vector<plan::transfer> transfers;
  std::uint64_t num_keys = 0;
  for (const plan::transfer& t : plan_.transfers) {
    if (buffers_[t.source_rank].is_closed) continue;
    transfers.push_back(t);
    num_keys += t.count;
  }
  run_.report().exchanged_bytes = exchange::pull_in_memory(shape, transfers, endpoints);
  run_.finish_phase("exchange", fraction_after_exchange, num_keys);
}

void rmg_state::sort_buckets() {
  std::vector<std::vector<device::sort_segment>> segments(run_.num_ranks());
  for (const plan::local_sort& bucket : plan_.local_sorts) {
    segments[bucket.rank].push_back({bucket.offset, bucket.count, bucket.bits});
  }
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    const rank_buffers& b = buffers_[r];
    const bool lie_in_spare = b.is_closed && b.is_partitioned;
    run_.ranks()[r].queue->local_sort({.shape = sort_.shape,
                                       .source = lie_in_spare ? b.spare : b.owned,
                                       .alternate = lie_in_spare ? b.owned : b.spare,
                                       .result_in_alternate = lie_in_spare,
                                       .segments = std::move(segments[r])});
  }
  if (shared_memory_) run_.finish_phase("local sort", 1.0, sort_.num_keys);
}

void rmg_state::gather_output() {
  if (shared_memory_) return;
  const device::record_shape& shape = sort_.shape;
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    const device::records to = advance(shape, sort_.data, plan_.rank_begins[r]);
    device::queue& queue = *run_.ranks()[r].queue;
    queue.copy(to.keys, buffers_[r].owned.keys, plan_.rank_count(r) * shape.codec.width_bytes(), "copy out");
    queue.copy(to.values, buffers_[r].owned.values, plan_.rank_count(r) * shape.value_bytes, "copy out");
  }
  run_.finish_phase("local sort", 1.0, sort_.num_keys);
}

}  // namespace spansort::algorithms
