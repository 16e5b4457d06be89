// SPDX-License-Identifier: Apache-2.0
#include "algorithms/rmg_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "algorithms/registry.hpp"
#include "base/assert.hpp"
#include "base/math.hpp"
#include "exchange/in_memory.hpp"
#include "spansort/errors.hpp"

namespace spansort::algorithms {
namespace {

/// Copying out begins when the first bucket is sorted and ends when the last one is: `auto` refines buckets larger than
/// this part of a chunk. Beyond the paper.
constexpr std::uint64_t large_parts_of_a_chunk = 16;

/// Host memory of a rank that staged transfers pass through.
constexpr unsigned num_staging_slots = 4;
constexpr std::uint64_t most_staging_slot_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t least_staging_slot_bytes = 4096;

// The caller's progress bar: how far a sort is when a phase ends.
constexpr double fraction_after_partitioning = 0.45;
constexpr double fraction_after_exchange = 0.6;

bool devices_share_memory(const std::vector<rank>& ranks) {
  return std::ranges::all_of(ranks, [](const rank& r) { return r.device->shares_host_memory(); });
}

/// Most records that a rank can hold before or after the exchange.
std::uint64_t rank_capacity(const plan::parameters& p, unsigned rank) {
  return std::max(source_count(p, rank), target_count(p, rank) + (p.num_ranks == 1 ? 0 : 2 * epsilon_keys(p)));
}

/// Every rank may hold a slice of every bucket of a pass, and as many buckets as ranks may be refined in it: the planner's
/// counts are to stay within megabytes.
unsigned widest_planned_bits(unsigned num_ranks) {
  constexpr std::uint64_t most_counts = std::uint64_t{1} << 22;
  const std::uint64_t num_buckets = most_counts / num_ranks / num_ranks;
  return std::max(4U, static_cast<unsigned>(std::bit_width(num_buckets)) - (num_buckets == 0 ? 0U : 1U));
}

/// Enough buckets for uniform keys to leave segments of the advised size; small neighbours are fused up to it. The sizes of
/// the parts are known.
void follow_advice(plan::parameters& p, const device::partition_advice& advice) {
  const unsigned widest = std::min(advice.radix_bits, widest_planned_bits(p.num_ranks));
  p.radix_bits = std::min(p.radix_bits, widest);
  if (advice.segment_keys == 0 || p.num_keys == 0) return;
  const std::uint64_t num_segments = p.num_keys / advice.segment_keys;
  p.radix_bits = std::clamp(static_cast<unsigned>(std::bit_width(num_segments)), p.radix_bits, widest);
  const double half_segment = static_cast<double>(advice.segment_keys) / 2;
  p.fuse_threshold = std::min(1.0, half_segment / static_cast<double>(largest_target(p)));
}

std::uint64_t rank_of_key(const problem& sort, std::uint64_t index) {
  return encode_at(sort.shape.codec, sort.data.keys, index);
}

unsigned first_rank_of(const problem& sort) { return sort.others == nullptr ? 0 : sort.others->first_rank(); }

/// How many records there are, and who is to begin and end with how many.
void set_sizes(plan::parameters& p, const problem& sort, unsigned num_own_ranks) {
  if (sort.others != nullptr) {
    p.source_counts = sort.others->source_counts;
    p.target_counts = sort.others->target_counts;
    p.num_ranks = static_cast<unsigned>(p.source_counts.size());
    p.num_keys = std::accumulate(p.source_counts.begin(), p.source_counts.end(), std::uint64_t{0});
    return;
  }
  p.num_keys = sort.num_keys;
  p.num_ranks = num_own_ranks;
  for (const resident_part& part : sort.parts) p.source_counts.push_back(part.num_keys);
  if (sort.keeps_part_sizes) p.target_counts = p.source_counts;
}

}  // namespace

device::partition_advice advice_of_all(const std::vector<rank>& ranks, const device::record_shape& shape) {
  device::partition_advice all = ranks.front().device->advise(shape);
  for (const rank& r : ranks) {
    const device::partition_advice its = r.device->advise(shape);
    all.segment_keys = std::min(all.segment_keys, its.segment_keys);
    all.radix_bits = std::min(all.radix_bits, its.radix_bits);
    all.most_radix_bits = std::min(all.most_radix_bits, its.most_radix_bits);
  }
  return all;
}

input_place place_of(const std::vector<rank>& ranks, const problem& sort) {
  if (sort.is_resident()) return input_place::resident;
  return devices_share_memory(ranks) ? input_place::shared : input_place::separate;
}

plan::parameters plan_parameters(const problem& sort, const std::vector<rank>& ranks, const sort_options& options) {
  plan::parameters p;
  p.key_bits = sort.shape.codec.key_bits();
  const tuning_options& tuning = options.tuning;
  set_sizes(p, sort, static_cast<unsigned>(ranks.size()));
  const device::partition_advice advice =
      sort.others == nullptr ? advice_of_all(ranks, sort.shape) : sort.others->advice;
  follow_advice(p, advice);
  if (tuning.radix_bits != 0) p.radix_bits = std::min(tuning.radix_bits, advice.most_radix_bits);
  if (tuning.epsilon >= 0) p.epsilon = tuning.epsilon;
  if (tuning.fuse_threshold >= 0) p.fuse_threshold = tuning.fuse_threshold;
  if (options.algorithm == "auto" && sort.others == nullptr && place_of(ranks, sort) == input_place::separate) {
    p.refine_keys = std::max(largest_source(p) / large_parts_of_a_chunk, keys_of_a_piece(sort, tuning));
  }
  if (!p.target_counts.empty()) p.epsilon = 0;
  return p;
}

void check_part_capacities(const problem& sort, const std::vector<rank>& ranks, const sort_options& options) {
  if (ranks.size() == 1) return;
  const plan::parameters p = plan_parameters(sort, ranks, options);
  for (unsigned r = 0; r < p.num_ranks; ++r) {
    const std::uint64_t needed = rank_capacity(p, r);
    if (sort.parts[r].capacity >= needed) continue;
    throw invalid_argument(
        fmt::format("shard {}: room for {} keys, but it may end with {}; keep the sizes as given, or "
                    "give it more room",
                    r, sort.parts[r].capacity, needed));
  }
}

std::vector<slot_request> rmg_workspace(const std::vector<rank>& ranks, const sort_options& options,
                                        const problem& sort) {
  const plan::parameters p = plan_parameters(sort, ranks, options);
  const unsigned num_slots = sort.is_resident() || devices_share_memory(ranks) ? 1 : 2;
  std::vector<slot_request> wishes;
  for (unsigned r = 0; r < ranks.size(); ++r) {
    const std::uint64_t capacity = rank_capacity(p, first_rank_of(sort) + r);
    for (unsigned slot = 0; slot < num_slots; ++slot) wishes.push_back({r, slot, capacity});
  }
  return wishes;
}

rmg_state::rmg_state(run_context& run, const problem& sort)
    : run_(run),
      sort_(sort),
      first_rank_(first_rank_of(sort)),
      place_(place_of(run.ranks(), sort)),
      planner_(plan_parameters(sort, run.ranks(), run.options())),
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

std::uint64_t rmg_state::input_begin(unsigned rank) const noexcept {
  const plan::parameters& p = planner_.params();
  return source_begin(p, planned(rank)) - source_begin(p, first_rank_);
}

std::uint64_t rmg_state::output_begin(unsigned rank) const noexcept {
  return plan_.rank_begins[planned(rank)] - plan_.rank_begins[first_rank_];
}

const device::records& rmg_state::output() const noexcept {
  return sort_.others == nullptr ? sort_.data : sort_.others->result;
}

void rmg_state::enter(std::string_view phase) {
  if (sort_.others != nullptr) sort_.others->group->enter_phase(phase);
}

bool rmg_state::reaches(unsigned source, unsigned receiver) const {
  if (receiver == source) return true;
  if (run_.options().tuning.exchange_through_host) return false;
  return run_.ranks()[source].device->reaches(*run_.ranks()[receiver].device);
}

std::string rmg_state::why_staged(unsigned source, unsigned receiver) const {
  const device::device& from = *run_.ranks()[source].device;
  const device::device& to = *run_.ranks()[receiver].device;
  if (run_.options().tuning.exchange_through_host) return "asked for (tuning.exchange_through_host)";
  return fmt::format("{} does not reach the memory of {}: {}", from.name(), to.name(), from.why_unreachable(to));
}

std::uint64_t rmg_state::staging_slot_bytes(unsigned r) const {
  const std::uint64_t widest = std::max<std::uint64_t>(sort_.shape.codec.width_bytes(), sort_.shape.value_bytes);
  const std::uint64_t part_bytes = rank_capacity(planner_.params(), planned(r)) * widest;
  // All of a small part pins little memory: pinning takes longer than sorting it.
  return std::clamp(base::round_up(part_bytes, least_staging_slot_bytes), least_staging_slot_bytes,
                    most_staging_slot_bytes);
}

void rmg_state::reserve_staging() {
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    for (unsigned source = 0; source < run_.num_ranks(); ++source) {
      if (reaches(source, r)) continue;
      if (run_.report().staged_because.empty()) run_.report().staged_because = why_staged(source, r);
      while (staging_.size() <= r) {
        const auto next = static_cast<unsigned>(staging_.size());
        staging_.push_back(run_.ranks()[next].device->allocate_staging(num_staging_slots * staging_slot_bytes(next)));
      }
    }
  }
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

/// Every process knows all pending slices, so counts travel without saying whose they are: process by process, and of
/// each in the order of its slices.
void rmg_state::fill_in_counts_of_others() {
  const cluster_sort& others = *sort_.others;
  const auto process_of = [&](unsigned rank) {
    return static_cast<std::size_t>(std::ranges::upper_bound(others.first_ranks, rank) - others.first_ranks.begin() -
                                    1);
  };
  std::vector<std::uint64_t> mine;
  std::vector<std::uint64_t> next(others.first_ranks.size());  // next[process + 1]: how many counts that process gives
  for_each_slice([&](const plan::refinement&, const plan::slice& slice, std::vector<std::uint64_t>& counts) {
    next[process_of(slice.rank) + 1] += counts.size();
    if (is_mine(slice.rank)) mine.insert(mine.end(), counts.begin(), counts.end());
  });
  std::partial_sum(next.begin(), next.end(), next.begin());  // now where each process's counts begin
  std::vector<std::uint64_t> all;
  run_.time_on_host("index", 0, [&] { all = others.group->gather(mine); });
  SPANSORT_ASSERT(all.size() == next.back());
  for_each_slice([&](const plan::refinement&, const plan::slice& slice, std::vector<std::uint64_t>& counts) {
    std::uint64_t& begin = next[process_of(slice.rank)];
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(begin), counts.size(), counts.begin());
    begin += counts.size();
  });
}

bool rmg_state::looks_for_order() const {
  return is_first_pass() && place_ != input_place::resident && sort_.others == nullptr &&
         run_.options().algorithm == "auto";
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
    const std::uint64_t border = source_begin(planner_.params(), p.rank) + p.offset;
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

void rmg_state::find_closed_ranks() {
  for (rank_buffers& b : buffers_) b.is_closed = true;
  for (const plan::transfer& t : plan_.transfers) {
    if (t.is_identity()) continue;
    for (const unsigned rank : {t.source_rank, t.destination_rank}) {
      if (is_mine(rank)) buffers_[rank - first_rank_].is_closed = false;
    }
  }
  // An unpartitioned chunk is closed only where it is also in place.
  for (rank_buffers& b : buffers_) {
    if (!b.is_partitioned && b.chunk.keys != b.owned.keys) b.is_closed = false;
  }
}

/// What the ranks of this process send from and receive into.
std::vector<exchange::endpoint> rmg_state::clear_the_way() {
  const device::record_shape& shape = sort_.shape;
  std::vector<exchange::endpoint> endpoints(run_.num_ranks());
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    rank_buffers& b = buffers_[r];
    device::queue& queue = *run_.ranks()[r].queue;
    if (!b.is_partitioned && !b.is_closed) {
      // Never partitioned, for one bucket holds it: out of the way of what arrives.
      const std::uint64_t count = source_count(plan_.params, planned(r));
      queue.copy(b.spare.keys, b.chunk.keys, count * shape.codec.width_bytes(), "exchange");
      queue.copy(b.spare.values, b.chunk.values, count * shape.value_bytes, "exchange");
      b.is_partitioned = true;
    }
    endpoints[r] = {&queue, b.spare, b.owned,
                    [&self = run_.ranks()[r]]() -> device::event& { return self.take_event(); }};
  }
  return endpoints;
}

std::vector<plan::transfer> rmg_state::transfers_between_own() const {
  std::vector<plan::transfer> transfers;
  for (plan::transfer t : plan_.transfers) {
    if (!is_mine(t.source_rank) || !is_mine(t.destination_rank)) continue;
    t.source_rank -= first_rank_;
    t.destination_rank -= first_rank_;
    if (!buffers_[t.source_rank].is_closed) transfers.push_back(t);
  }
  return transfers;
}

void rmg_state::exchange_buckets() {
  enter("exchange");
  if (place_ != input_place::separate) run_.no_way_back();
  const std::vector<exchange::endpoint> endpoints = clear_the_way();
  run_.join_queues();
  if (sort_.others != nullptr) run_.finish_phase("partition", fraction_after_partitioning, 0);  // the host reads next
  const std::vector<plan::transfer> transfers = transfers_between_own();
  push_between_own(endpoints, transfers);
  if (sort_.others != nullptr) push_to_others(endpoints);
  std::uint64_t num_keys = 0;
  for (const plan::transfer& t : transfers) num_keys += t.count;
  if (place_ == input_place::separate) {
    run_.finish_phase("exchange", fraction_after_exchange, num_keys);  // what fails must not begin the output
  } else {
    run_.join_queues();
    run_.pass_phase("exchange", fraction_after_exchange, num_keys);
  }
}

void rmg_state::push_to_others(std::span<const exchange::endpoint> endpoints) {
  exchange::exchanged moved;
  run_.time_on_host("exchange", sort_.num_keys * sort_.shape.bytes(),
                    [&] { moved = sort_.others->group->push(sort_.shape, plan_.transfers, endpoints, first_rank_); });
  run_.report().exchanged_bytes += moved.bytes;
  run_.report().staged_bytes += moved.staged_bytes;
}

void rmg_state::push_between_own(std::span<const exchange::endpoint> endpoints,
                                 std::span<const plan::transfer> transfers) {
  const auto reaches = [&](unsigned source, unsigned receiver) { return this->reaches(source, receiver); };
  std::vector<exchange::staging_area> areas;
  for (unsigned r = 0; r < staging_.size(); ++r) {
    areas.push_back({static_cast<std::byte*>(staging_[r].data()), staging_slot_bytes(r), num_staging_slots});
  }
  const exchange::exchanged moved = exchange::push_in_memory(sort_.shape, transfers, endpoints, reaches, areas);
  run_.report().exchanged_bytes = moved.bytes;
  run_.report().staged_bytes = moved.staged_bytes;
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
