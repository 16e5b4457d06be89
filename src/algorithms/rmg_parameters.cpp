// SPDX-License-Identifier: Apache-2.0
// This file says what follows from sizes, devices and options before RMG sort begins: the plan's parameters, and the
// memory it takes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "algorithms/rmg_state.hpp"
#include "spansort/errors.hpp"

namespace spansort::algorithms {
namespace {

/// Copying out begins when the first bucket is sorted and ends when the last one is: buckets larger than this part of
/// a chunk are refined.
constexpr std::uint64_t large_parts_of_a_chunk = 16;

/// The first round of an exchange has nothing to travel beside, and the last sort either: parts of a rank's share that
/// are this small leave little uncovered. Every round has copies on each source, and a wait for each receiver: 64
/// rounds were slower than 32, and 16 no faster (two H200). Two more let four of 128 even buckets make a round.
constexpr std::uint64_t most_rounds = 34;
constexpr std::uint64_t least_round_bytes = std::uint64_t{16} << 20;
/// The local sorts of a round run side by side.
constexpr unsigned least_sorts_of_a_round = 4;

/// Ranks that keep their sizes have no slack, so that a bucket spans nearly every bound. On four H100 2e9 u32 took
/// 5 ms longer than balanced ones where such buckets were refined, and 0.2 where they are copied to both of their ranks
/// (docs/design/0005-gpu.md). A rank has room for four of these, which are two and what their sort needs: at most a
/// hundredth of its part.
constexpr std::uint64_t copied_parts_of_a_rank = 400;

std::uint64_t most_copied_keys_of_a_bucket(const plan::parameters& p, const problem& sort,
                                           const sort_settings& options) {
  const base::spanning_buckets how = options.hooks.spanning;
  if (!sort.is_resident() || !sort.resident().keeps_sizes || sort.others != nullptr) return 0;
  if (how == base::spanning_buckets::refined) return 0;
  if (how == base::spanning_buckets::copied) return p.num_keys;
  // Who sets a limit may have set it to what a sort takes without copies.
  if (options.memory_limit_bytes != 0 || options.device_memory_bytes != 0) return 0;
  std::uint64_t smallest = largest_target(p);
  for (unsigned r = 0; r < p.num_ranks; ++r) {
    if (target_count(p, r) != 0) smallest = std::min(smallest, target_count(p, r));
  }
  return smallest / copied_parts_of_a_rank;
}

/// The first count may have counters for the second digit, too, so that buckets which span are refined without another
/// count: one read of the keys has room for so many bits.
constexpr unsigned most_counted_bits = 12;

/// Returns how many bits of the second digit evenly spread keys need for their buckets to be copied; 0 where they need
/// none, or more than can be counted with the first digit.
unsigned second_bits_for_copies(const plan::parameters& p) {
  if (p.copied_keys == 0) return 0;
  const std::uint64_t num_buckets = p.num_keys / p.copied_keys + 1;
  const auto bits = static_cast<unsigned>(std::bit_width(num_buckets));
  const bool is_counted = bits <= std::min(most_counted_bits, p.key_bits) && bits <= 2 * p.radix_bits;
  return bits > p.radix_bits && is_counted ? bits - p.radix_bits : 0;
}

/// Every rank may hold a slice of every bucket of a pass, and as many buckets as ranks may be refined in it: the
/// planner's counts are to stay within megabytes.
unsigned widest_planned_bits(unsigned num_ranks) {
  constexpr std::uint64_t most_counts = std::uint64_t{1} << 22;
  const std::uint64_t num_buckets = most_counts / num_ranks / num_ranks;
  return std::max(4U, static_cast<unsigned>(std::bit_width(num_buckets)) - (num_buckets == 0 ? 0U : 1U));
}

/// Enough buckets for uniform keys to leave segments of the advised size; small neighbours are fused up to it. The
/// sizes of the parts are known.
void follow_advice(plan::parameters& p, const device::partition_advice& advice) {
  const unsigned widest = std::min(advice.radix_bits, widest_planned_bits(p.num_ranks));
  p.radix_bits = std::min(p.radix_bits, widest);
  if (advice.segment_keys == 0 || p.num_keys == 0) return;
  const std::uint64_t num_segments = p.num_keys / advice.segment_keys;
  p.radix_bits = std::clamp(static_cast<unsigned>(std::bit_width(num_segments)), p.radix_bits, widest);
  const double half_segment = static_cast<double>(advice.segment_keys) / 2;
  p.fuse_threshold = std::min(1.0, half_segment / static_cast<double>(largest_target(p)));
}

/// Tells the planner how many records there are, and who is to begin and end with how many.
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
  if (!sort.is_resident()) return;
  for (const resident_part& part : sort.resident().parts) p.source_counts.push_back(part.num_keys);
  if (sort.resident().keeps_sizes) p.target_counts = p.source_counts;
}

}  // namespace

std::uint64_t rank_capacity(const plan::parameters& p, unsigned rank) {
  return std::max(source_count(p, rank), target_count(p, rank) + (p.num_ranks == 1 ? 0 : 2 * epsilon_keys(p)));
}

std::uint64_t spare_capacity(const plan::parameters& p, unsigned rank) {
  return rank_capacity(p, rank) + (target_count(p, rank) == 0 ? 0 : 2 * most_copied_keys(p));
}

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

plan::parameters plan_parameters(const problem& sort, const std::vector<rank>& ranks, const sort_settings& options,
                                 const rmg_extras& extras) {
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
  if (extras.refines_large_buckets) {
    p.refine_keys = std::max(largest_source(p) / large_parts_of_a_chunk, keys_of_a_piece(sort, options.hooks));
  }
  if (!p.target_counts.empty()) p.epsilon = 0;
  if (p.num_ranks > 1) p.copied_keys = most_copied_keys_of_a_bucket(p, sort, options);
  p.second_bits = second_bits_for_copies(p);
  return p;
}

plan::round_sizes exchange_rounds(const problem& sort, const std::vector<rank>& ranks, const sort_settings& options,
                                  const plan::parameters& p) {
  if (sort.others != nullptr || ranks.size() == 1) return {};
  if (options.hooks.round_keys != 0) return {.least_keys = options.hooks.round_keys};
  if (std::ranges::any_of(ranks, [](const rank& r) { return r.device->shares_host_memory(); })) return {};
  return {.least_keys = std::max(largest_target(p) / most_rounds, least_round_bytes / sort.shape.bytes()),
          .least_sorts = least_sorts_of_a_round};
}

void check_part_capacities(const problem& sort, const std::vector<rank>& ranks, const sort_settings& options) {
  if (ranks.size() == 1) return;
  const plan::parameters p = plan_parameters(sort, ranks, options);
  for (unsigned r = 0; r < p.num_ranks; ++r) {
    const std::uint64_t needed = rank_capacity(p, r);
    const std::uint64_t capacity = sort.resident().parts[r].capacity;
    if (capacity >= needed) continue;
    throw invalid_argument(
        fmt::format("shard {}: room for {} keys, but it may end with {}; keep the sizes as given, or "
                    "give it more room",
                    r, capacity, needed));
  }
}

std::vector<slot_request> rmg_workspace(const std::vector<rank>& ranks, const sort_settings& options,
                                        const problem& sort) {
  const plan::parameters p = plan_parameters(sort, ranks, options);
  const unsigned num_slots = is_copied(ranks, sort) ? 2 : 1;
  std::vector<slot_request> wishes;
  for (unsigned r = 0; r < ranks.size(); ++r) {
    const unsigned planned = first_rank_of(sort) + r;
    wishes.push_back({r, 0, spare_capacity(p, planned)});
    if (num_slots == 2) wishes.push_back({r, 1, rank_capacity(p, planned)});
  }
  return wishes;
}

}  // namespace spansort::algorithms
