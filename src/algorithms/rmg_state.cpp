// SPDX-License-Identifier: Apache-2.0
#include "algorithms/rmg_state.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

#include "base/said_of_done.hpp"
#include "device/exchange_work.hpp"

namespace spansort::algorithms {
namespace {

std::uint64_t rank_of_key(const problem& sort, std::uint64_t index) {
  return encode_at(sort.shape.codec, sort.data().keys, index);
}

}  // namespace

rmg_state::rmg_state(run_context& run, const problem& sort, const rmg_extras& extras)
    : run_(run),
      sort_(sort),
      extras_(extras),
      first_rank_(first_rank_of(sort)),
      place_(make_input_place(run, sort)),
      others_(make_rmg_others(run, sort)),
      params_(plan_parameters(sort, run.ranks(), run.options(), extras)),
      planner_(others_->make_planner(params_)),
      pending_(planner_.pending()),
      round_sizes_(exchange_rounds(sort, run.ranks(), run.options(), params_)),
      buffers_(run.num_ranks()) {
  for (unsigned r = 0; r < run.num_ranks(); ++r) {
    const std::uint64_t capacity = rank_capacity(params_, planned(r));
    buffers_[r].spare = slot_records(run.ranks()[r], 0, sort.shape, spare_capacity(params_, planned(r)));
    buffers_[r].chunk = place_->chunk(input_share(r), capacity);
  }
  connect_ranks();
  if (pending_.empty()) make_plan();
}

rmg_state::~rmg_state() { run_.drain(); }

share rmg_state::input_share(unsigned rank) const noexcept {
  const unsigned number = planned(rank);
  return {rank, source_begin(params_, number) - source_begin(params_, first_rank_), source_count(params_, number)};
}

share rmg_state::output_share(unsigned rank) const noexcept {
  const unsigned number = planned(rank);
  return {rank, plan_.rank_begins[number] - plan_.rank_begins[first_rank_], plan_.rank_count(number)};
}

void rmg_state::scatter_input() {
  others_->enter("scatter");
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    for (const arrival& part : place_->scatter(input_share(r), buffers_[r].chunk)) {
      pieces_.push_back({.rank = r, .part = part});
    }
  }
}

void rmg_state::count_pending() {
  others_->enter("histogram");
  histograms_.clear();
  for (const plan::refinement& bucket : pending_) {
    histograms_.emplace_back(bucket.slices.size(), std::vector<std::uint64_t>(bucket.digit.num_buckets()));
  }
  if (is_first_pass()) {
    count_pieces();
  } else if (are_slices_counted()) {
    take_counts_of_slices();
  } else {
    count_slices();
  }
}

void rmg_state::count_pieces() {
  const keys::digit_position first = pending_.front().digit;
  const keys::digit_position counted{first.shift - params_.second_bits, first.bits + params_.second_bits};
  const bool looks = looks_for_order();
  for (piece& p : pieces_) {
    device::queue& queue = *run_.ranks()[p.rank].queue;
    if (p.part.arrived != nullptr) queue.wait(*p.part.arrived);
    p.counts.resize(counted.num_buckets());
    queue.histogram({.shape = sort_.shape,
                     .keys = advance(sort_.shape, buffers_[p.rank].chunk, p.part.offset).keys,
                     .num_keys = p.part.count,
                     .digits = {counted},
                     .counts = p.counts.data(),
                     .found_shape = looks ? &p.shape : nullptr});
  }
  run_.finish_phase("histogram", 0.15, sort_.num_keys);

  for_each_slice([&](const plan::refinement&, const plan::slice& slice, std::vector<std::uint64_t>& counts) {
    for (const piece& p : pieces_) {
      if (planned(p.rank) != slice.rank) continue;
      for (std::size_t i = 0; i < p.counts.size(); ++i) counts[i >> params_.second_bits] += p.counts[i];
    }
  });
}

void rmg_state::take_counts_of_slices() {
  for_each_slice([&](const plan::refinement& bucket, const plan::slice& slice, std::vector<std::uint64_t>& counts) {
    for (const piece& p : pieces_) {
      if (planned(p.rank) != slice.rank) continue;
      const auto its = p.counts.begin() + static_cast<std::ptrdiff_t>(bucket.prefix.bits << params_.second_bits);
      std::transform(counts.begin(), counts.end(), its, counts.begin(), std::plus<>());
    }
  });
}

void rmg_state::count_slices() {
  std::uint64_t num_keys = 0;
  for_each_slice([&](const plan::refinement& bucket, const plan::slice& slice, std::vector<std::uint64_t>& counts) {
    if (!is_mine(slice.rank)) return;
    const unsigned rank = slice.rank - first_rank_;
    const device::records at =
        advance(sort_.shape, buffers_[rank].current(), layout_.place_of(slice.rank, slice.offset));
    run_.ranks()[rank].queue->histogram({.shape = sort_.shape,
                                         .keys = at.keys,
                                         .num_keys = slice.count,
                                         .digits = {bucket.digit},
                                         .counts = counts.data()});
    num_keys += slice.count;
  });
  run_.finish_phase("histogram", fraction_after_partitioning * 0.9, num_keys);
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
    is_reversed = is_reversed && (p.shape == reversed || (p.shape == constant && (!has_values || p.part.count == 1)));
    const std::uint64_t bound = input_share(p.rank).begin + p.part.offset;
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
  if (shape == device::input_shape::reversed && !place_->reverse()) return false;
  run_.report().algorithm = "rmg";
  run_.report().input_shape = name(shape);
  return true;
}

void rmg_state::plan_pass() {
  others_->add_pass(planner_, histograms_);
  if (is_first_pass()) layout_ = lay_out(params_, planner_.buckets(), round_sizes_);
}

void rmg_state::partition_pending() {
  others_->enter("partition");
  std::uint64_t num_keys = 0;
  for_each_slice([&](const plan::refinement& bucket, const plan::slice& slice, std::vector<std::uint64_t>& counts) {
    if (!is_mine(slice.rank)) return;
    if (std::ranges::find(counts, slice.count) != counts.end()) return;  // one bucket holds it all
    partition_slice(slice.rank - first_rank_, slice, bucket.digit, counts);
    num_keys += slice.count;
  });
  run_.mark_phase("partition", fraction_after_partitioning * (is_first_pass() ? 0.8 : 0.95), num_keys);
  pending_ = planner_.pending();
  ++num_passes_;
  // The rest of the plan needs the counts alone: it is made while the devices partition.
  if (pending_.empty()) make_plan();
}

void rmg_state::partition_slice(unsigned rank, plan::slice slice, keys::digit_position digit,
                                const std::vector<std::uint64_t>& counts) {
  rank_buffers& b = buffers_[rank];
  const device::record_shape& shape = sort_.shape;
  device::queue& queue = *run_.ranks()[rank].queue;
  const bool is_again = b.is_partitioned;  // then out of `spare`, into the chunk, and back
  const std::uint64_t place = is_first_pass() ? 0 : layout_.place_of(slice.rank, slice.offset);
  const device::records from = advance(shape, b.current(), place);
  const device::records to = advance(shape, is_again ? b.chunk : b.spare, place);

  // The first pass lays the chunk out by rounds; later ones reorder one of its buckets.
  std::vector<device::records> destinations(counts.size());
  std::uint64_t offset = 0;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    const std::uint64_t place_of_bucket = is_first_pass() ? layout_.place_of(slice.rank, offset) : offset;
    destinations[d] = advance(shape, to, place_of_bucket);
    offset += counts[d];
  }
  const device::partition_request request{
      .shape = shape, .source = from, .num_keys = slice.count, .digit = digit, .destinations = destinations.data()};
  auto* const loose = shape.value_bytes == 0 ? dynamic_cast<device::loose_partitioner*>(&queue) : nullptr;
  const auto partition = [&] {
    if (loose != nullptr) {
      loose->partition_in_any_order(request);
    } else {
      queue.partition(request);
    }
  };
  if (!is_again) {
    partition();
    b.is_partitioned = true;
    return;
  }
  run_.queue_as_one(
      [&] {
        place_->begin_overwriting();
        partition();
        copy_records(queue, to, from, slice.count, "partition");
      },
      place_->overwritten_by());
  note_parts([&](unsigned r) {
    const rank_buffers& of_rank = buffers_[r];
    return whole_part{of_rank.current(), source_count(params_, planned(r)), of_rank.spare};
  });
}

void rmg_state::make_plan() {
  plan_ = others_->finish(std::move(planner_));
  rounds_ = plan_rounds(plan_, layout_, round_sizes_);
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    buffers_[r].owned = place_->owned(output_share(r), buffers_[r].chunk);
    if (place_->ends_where_owned()) buffers_[r].freed = find_freed_places(rounds_, planned(r));
  }
  sort_report& report = run_.report();
  report.algorithm = "rmg";
  report.input_shape = "general";
  report.num_passes = static_cast<unsigned>(plan_.passes.size());
  report.num_spanning_buckets = plan_.num_spanning_buckets;
  report.imbalance = plan_.imbalance();
  for (unsigned r = 0; r < run_.num_ranks(); ++r) report.ranks[r].num_keys_out = plan_.rank_count(planned(r));
}

std::vector<rmg_state::sort_range> rmg_state::sort_ranges(unsigned rank, unsigned round) const {
  const plan::round_group& group = rounds_.groups[planned(rank)][round];
  const bool is_closed = buffers_[rank].is_closed;
  std::vector<sort_range> ranges;
  for (const plan::local_sort& bucket : std::span(plan_.local_sorts).subspan(group.first_sort, group.num_sorts)) {
    const bool lies_in_spare = is_closed ? buffers_[rank].lies_in_spare() : arrives_in_spare(rank, round, bucket.bits);
    if (ranges.empty() || ranges.back().lies_in_spare != lies_in_spare) ranges.push_back({round, lies_in_spare});
    ranges.back().segments.push_back({bucket.offset, bucket.count, bucket.bits});
  }
  return ranges;
}

void rmg_state::sort_arrived(unsigned round) {
  others_->enter("local sort");
  run_.commit();
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    rank_buffers& b = buffers_[r];
    const std::size_t num_groups = rounds_.groups[planned(r)].size();
    while (b.next_sorted < num_groups &&
           (b.is_closed || (b.next_sorted <= round && rounds_until_free(r, b.next_sorted) <= round + 1))) {
      sort_round(r, b.next_sorted++);
      if (b.freed && b.next_sorted <= b.freed->first_round) {
        run_.ranks()[r].queue->record(*b.home_sorted.emplace_back(&run_.ranks()[r].take_event()));
      }
    }
  }
}

void rmg_state::sort_round(unsigned rank, unsigned round) {
  await_round(rank, round);
  for (sort_range& range : sort_ranges(rank, round)) {
    for (const bucket_batch& batch : place_->batches(rank, std::move(range.segments), range.lies_in_spare)) {
      sort_batch(rank, range, batch);
    }
  }
}

void rmg_state::copy_records(device::queue& queue, const device::records& from, const device::records& to,
                             std::uint64_t count, std::string_view phase) const {
  queue.copy(to.keys, from.keys, count * sort_.shape.codec.width_bytes(), phase);
  queue.copy(to.values, from.values, count * sort_.shape.value_bytes, phase);
}

device::records rmg_state::aside(unsigned rank) const {
  return advance(sort_.shape, buffers_[rank].spare, rank_capacity(params_, planned(rank)));
}

void rmg_state::sort_copies() {
  run_.commit();
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    std::vector<plan::copied_sort> own;
    std::ranges::copy_if(plan_.copied_sorts, std::back_inserter(own),
                         [r](const plan::copied_sort& s) { return s.rank == r; });
    if (own.empty()) continue;
    rank& self = run_.ranks()[r];
    for (device::event* const e : copies_sent_) self.queue->wait(*e);
    const device::records arrived = aside(r);
    const device::records alternate = advance(sort_.shape, arrived, most_copied_keys(params_));
    const bool in_alternate = self.device->prefers_alternate(sort_.shape, own.front().bits);
    std::vector<device::sort_segment> segments;
    for (const plan::copied_sort& s : own) segments.push_back({s.aside, s.count, s.bits});
    self.queue->local_sort({.shape = sort_.shape,
                            .source = arrived,
                            .alternate = alternate,
                            .result_in_alternate = in_alternate,
                            .segments = std::move(segments),
                            .looks_for_order = false});
    for (const plan::copied_sort& s : own) {
      const device::records from = advance(sort_.shape, in_alternate ? alternate : arrived, s.aside + s.first_kept);
      const device::records to = advance(sort_.shape, buffers_[r].owned, s.offset);
      copy_records(*self.queue, from, to, s.num_kept, "local sort");
    }
  }
}

void rmg_state::finish() {
  run_.finish_phase("local sort", 1.0, sort_.num_keys);
  if (run_.report().wants_plan) base::say_of_done([&] { run_.report().plan_json = to_json(plan_); });
}

void rmg_state::sort_batch(unsigned rank, const sort_range& range, const bucket_batch& batch) {
  const device::record_shape& shape = sort_.shape;
  const rank_buffers& b = buffers_[rank];
  const std::uint64_t lower_by = lower_in_spare(rank, range.round);
  const device::records in_owned = advance(shape, b.owned, batch.offset);
  const device::records in_spare = advance(shape, b.spare, batch.offset - lower_by);
  const device::records& source = range.lies_in_spare ? in_spare : in_owned;
  const device::records& alternate = range.lies_in_spare ? in_owned : in_spare;
  std::vector<device::sort_segment> segments = batch.segments;
  for (device::sort_segment& s : segments) s.begin -= batch.offset;
  run_.ranks()[rank].queue->local_sort({.shape = shape,
                                        .source = source,
                                        .alternate = alternate,
                                        .result_in_alternate = batch.in_alternate,
                                        .segments = std::move(segments),
                                        .looks_for_order = false});
  place_->gather(output_share(rank), batch, batch.in_alternate ? alternate : source);
}

}  // namespace spansort::algorithms
