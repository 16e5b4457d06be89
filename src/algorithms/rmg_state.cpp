// SPDX-License-Identifier: Apache-2.0
#include "algorithms/rmg_state.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace spansort::algorithms {
namespace {

std::uint64_t rank_of_key(const problem& sort, std::uint64_t index) {
  return encode_at(sort.shape.codec, sort.data.keys, index);
}

}  // namespace

rmg_state::rmg_state(run_context& run, const problem& sort, const rmg_extras& extras)
    : run_(run),
      sort_(sort),
      extras_(extras),
      first_rank_(first_rank_of(sort)),
      place_(place_of(run.ranks(), sort)),
      planner_(plan_parameters(sort, run.ranks(), run.options(), extras)),
      buffers_(run.num_ranks()) {
  const plan::parameters& p = planner_.params();
  for (unsigned r = 0; r < run.num_ranks(); ++r) {
    const rank& self = run.ranks()[r];
    const std::uint64_t capacity = rank_capacity(p, planned(r));
    buffers_[r].spare = slot_records(self, 0, sort.shape, capacity);
    if (place_ == input_place::shared) {
      buffers_[r].chunk = advance(sort.shape, sort.data, input_begin(r));
    } else if (place_ == input_place::separate) {
      buffers_[r].chunk = slot_records(self, 1, sort.shape, capacity);
    } else {
      SPANSORT_ASSERT(sort.parts[r].capacity >= capacity);
      buffers_[r].chunk = sort.parts[r].data;
    }
  }
  reserve_staging();
}

rmg_state::~rmg_state() { run_.drain(); }

void rmg_state::count_pending() {
  enter("histogram");
  histograms_.clear();
  for (const plan::refinement& bucket : planner_.pending()) {
    histograms_.emplace_back(bucket.slices.size(), std::vector<std::uint64_t>(bucket.digit.num_buckets()));
  }
  if (is_first_pass()) {
    count_pieces();
  } else {
    count_slices();
  }
  if (sort_.others != nullptr) fill_in_counts_of_others();
}

void rmg_state::count_slices() {
  std::uint64_t num_keys = 0;
  for_each_slice([&](const plan::refinement& bucket, const plan::slice& slice, std::vector<std::uint64_t>& counts) {
    if (!is_mine(slice.rank)) return;
    const unsigned rank = slice.rank - first_rank_;
    const device::records at = advance(sort_.shape, buffers_[rank].current(), slice.offset);
    run_.ranks()[rank].queue->histogram({.shape = sort_.shape,
                                         .keys = at.keys,
                                         .num_keys = slice.count,
                                         .digits = {bucket.digit},
                                         .counts = counts.data()});
    num_keys += slice.count;
  });
  run_.finish_phase("histogram", fraction_after_partitioning * 0.9, num_keys);
}

bool rmg_state::looks_for_order() const {
  return extras_.looks_for_order && is_first_pass() && place_ != input_place::resident && sort_.others == nullptr;
}

device::input_shape rmg_state::whole_shape() const {
  using enum device::input_shape;
  // Reversing would turn values of equal keys around: with values no two keys of a reversed input are equal.
  const bool has_values = sort_.shape.value_bytes != 0;
  bool is_constant = true;
  bool is_sorted = true;
  bool is_reversed = true;
  for (const piece& p : pieces_) {
    is_constant = is_constant && p.shape == constant;
    is_sorted = is_sorted && (p.shape == constant || p.shape == sorted);
    is_reversed = is_reversed && (p.shape == reversed || (p.shape == constant && (!has_values || p.count == 1)));
    const std::uint64_t bound = source_begin(planner_.params(), p.rank) + p.offset;
    if (bound == 0) continue;
    const std::uint64_t left = rank_of_key(sort_, bound - 1);
    const std::uint64_t right = rank_of_key(sort_, bound);
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
    if (place_ != input_place::shared) return false;  // every key must change devices: the exchange does no less
    reverse_in_place();
  }
  run_.report().algorithm = "rmg";
  run_.report().input_shape = name(shape);
  return true;
}

void rmg_state::reverse_in_place() {
  run_.no_way_back();
  // Each rank swaps its part of the front half with the mirrored part of the back half.
  plan::parameters halves;
  halves.num_keys = sort_.num_keys / 2;
  halves.num_ranks = run_.num_ranks();
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    const std::uint64_t begin = source_begin(halves, r);
    const std::uint64_t end = source_begin(halves, r + 1);
    run_.ranks()[r].queue->swap_mirrored({.shape = sort_.shape,
                                          .left = advance(sort_.shape, sort_.data, begin),
                                          .right = advance(sort_.shape, sort_.data, sort_.num_keys - end),
                                          .num_records = end - begin});
  }
  run_.finish_phase("reverse", 1.0, sort_.num_keys);
}

void rmg_state::partition_pending() {
  enter("partition");
  std::uint64_t num_keys = 0;
  for_each_slice([&](const plan::refinement& bucket, const plan::slice& slice, std::vector<std::uint64_t>& counts) {
    if (!is_mine(slice.rank)) return;
    if (std::ranges::find(counts, slice.count) != counts.end()) return;  // one bucket holds it all
    partition_slice(slice.rank - first_rank_, slice, bucket.digit, counts);
    num_keys += slice.count;
  });
  // The plan needs the counts alone: it is made while the devices partition.
  run_.pass_phase("partition", fraction_after_partitioning * (is_first_pass() ? 0.8 : 0.95), num_keys);
  planner_.add_pass(histograms_);
  ++num_passes_;
}

void rmg_state::partition_slice(unsigned rank, plan::slice slice, keys::digit_position digit,
                                const std::vector<std::uint64_t>& counts) {
  rank_buffers& b = buffers_[rank];
  const device::record_shape& shape = sort_.shape;
  device::queue& queue = *run_.ranks()[rank].queue;
  const bool is_again = b.is_partitioned;  // then out of `spare`, into the chunk, and back
  if (is_again && place_ != input_place::separate) run_.no_way_back();
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
    b.owned = place_ == input_place::shared ? advance(sort_.shape, output(), output_begin(r)) : b.chunk;
  }
  find_closed_ranks();
  sort_report& report = run_.report();
  report.algorithm = "rmg";
  report.input_shape = "general";
  report.num_passes = static_cast<unsigned>(plan_.passes.size());
  report.num_spanning_buckets = plan_.num_spanning_buckets;
  report.imbalance = plan_.imbalance();
  for (unsigned r = 0; r < run_.num_ranks(); ++r) report.ranks[r].num_keys_out = plan_.rank_count(planned(r));
}

void rmg_state::sort_buckets() {
  enter("local sort");
  run_.no_way_back();
  std::vector<std::vector<device::sort_segment>> segments(run_.num_ranks());
  for (const plan::local_sort& bucket : plan_.local_sorts) {
    if (is_mine(bucket.rank)) segments[bucket.rank - first_rank_].push_back({bucket.offset, bucket.count, bucket.bits});
  }
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    if (place_ == input_place::separate) {
      sort_and_copy_out(r, segments[r]);
    } else {
      sort_segments(r, std::move(segments[r]), buffers_[r].owned);
    }
  }
  run_.finish_phase("local sort", 1.0, sort_.num_keys);
  if (run_.report().wants_plan) run_.report().plan_json = to_json(plan_);
}

void rmg_state::sort_segments(unsigned rank, std::vector<device::sort_segment> segments,
                              const device::records& result) {
  const rank_buffers& b = buffers_[rank];
  const device::records& source = b.is_closed && b.is_partitioned ? b.spare : b.owned;
  const device::records& alternate = source.keys == b.spare.keys ? b.owned : b.spare;
  run_.ranks()[rank].queue->local_sort({.shape = sort_.shape,
                                        .source = source,
                                        .alternate = alternate,
                                        .result_in_alternate = result.keys == alternate.keys,
                                        .segments = std::move(segments),
                                        .looks_for_order = false});
}

}  // namespace spansort::algorithms
