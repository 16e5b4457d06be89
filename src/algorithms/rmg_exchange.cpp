// SPDX-License-Identifier: Apache-2.0
// The exchange of RMG sort (section 3.2): what leaves its place for what arrives, transfers between this process's own
// ranks, and host memory for those that do not reach each other's.
#include <fmt/format.h>

#include <algorithm>

#include "algorithms/rmg_state.hpp"
#include "base/math.hpp"

namespace spansort::algorithms {
namespace {

/// Host memory of a rank that staged transfers pass through.
constexpr unsigned num_staging_slots = 4;
constexpr std::uint64_t most_staging_slot_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t least_staging_slot_bytes = 4096;

}  // namespace

bool rmg_state::reaches(unsigned source, unsigned receiver) const {
  if (receiver == source) return true;
  if (run_.options().hooks.exchange_through_host) return false;
  return run_.ranks()[source].device->reaches(*run_.ranks()[receiver].device);
}

std::string rmg_state::why_staged(unsigned source, unsigned receiver) const {
  const device::device& from = *run_.ranks()[source].device;
  const device::device& to = *run_.ranks()[receiver].device;
  if (run_.options().hooks.exchange_through_host) return "asked for (test_hooks::exchange_through_host)";
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

/// Returns what the ranks of this process send from and receive into.
std::vector<endpoint> rmg_state::clear_the_way() {
  const device::record_shape& shape = sort_.shape;
  std::vector<endpoint> endpoints(run_.num_ranks());
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

void rmg_state::exchange_buckets() {
  others_->enter("exchange");
  place_->begin_overwriting();
  const std::vector<endpoint> endpoints = clear_the_way();
  run_.join_queues();
  others_->complete_sources();
  const std::vector<plan::transfer> transfers = transfers_between_own();
  push_between_own(endpoints, transfers);
  note_moved(others_->exchange(plan_, endpoints));
  std::uint64_t num_keys = 0;
  for (const plan::transfer& t : transfers) num_keys += t.count;
  place_->finish_exchange(num_keys);
}

void rmg_state::push_between_own(std::span<const endpoint> endpoints, std::span<const plan::transfer> transfers) {
  const auto reaches = [&](unsigned source, unsigned receiver) { return this->reaches(source, receiver); };
  std::vector<staging_area> areas;
  for (unsigned r = 0; r < staging_.size(); ++r) {
    areas.push_back({static_cast<std::byte*>(staging_[r].data()), staging_slot_bytes(r), num_staging_slots});
  }
  const exchanged moved = push_in_memory(sort_.shape, transfers, endpoints, reaches, areas);
  note_moved(moved);
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

void rmg_state::note_moved(const exchanged& moved) {
  run_.report().exchanged_bytes += moved.bytes;
  run_.report().staged_bytes += moved.staged_bytes;
}

}  // namespace spansort::algorithms
