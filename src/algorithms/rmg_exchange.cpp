// SPDX-License-Identifier: Apache-2.0
// The exchange of RMG sort (section 3.2): what leaves its place for what arrives, transfers between this process's own
// ranks and to those of other processes.
#include <algorithm>

#include "algorithms/rmg_state.hpp"

namespace spansort::algorithms {

void rmg_state::connect_ranks() {
  std::vector<std::uint64_t> capacities;
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    capacities.push_back(rank_capacity(planner_.params(), planned(r)));
  }
  exchange_.emplace(run_, sort_.shape, capacities, first_rank_, others_->between_processes());
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
std::vector<transport::endpoint> rmg_state::clear_the_way() {
  const device::record_shape& shape = sort_.shape;
  std::vector<transport::endpoint> endpoints(run_.num_ranks());
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
    endpoints[r] = {planned(r), &queue, b.spare, b.owned,
                    [&self = run_.ranks()[r]]() -> device::event& { return self.take_event(); }};
  }
  return endpoints;
}

std::vector<plan::transfer> rmg_state::open_transfers() const {
  std::vector<plan::transfer> transfers;
  for (const plan::transfer& t : plan_.transfers) {
    const bool is_closed = is_mine(t.source_rank) && buffers_[t.source_rank - first_rank_].is_closed;
    if (!is_closed) transfers.push_back(t);
  }
  return transfers;
}

std::uint64_t rmg_state::keys_between_own(std::span<const plan::transfer> transfers) const {
  std::uint64_t num_keys = 0;
  for (const plan::transfer& t : transfers) {
    if (is_mine(t.source_rank) && is_mine(t.destination_rank)) num_keys += t.count;
  }
  return num_keys;
}

void rmg_state::exchange_buckets() {
  others_->enter("exchange");
  place_->begin_overwriting();
  const std::vector<transport::endpoint> endpoints = clear_the_way();
  run_.join_queues();
  others_->complete_sources();
  const std::vector<plan::transfer> transfers = open_transfers();
  others_->time_exchange([&] {
    const transport::exchanged moved = exchange_->execute(sort_.shape, transfers, endpoints);
    run_.report().exchanged_bytes = moved.bytes;
    run_.report().staged_bytes = moved.staged_bytes;
  });
  place_->finish_exchange(keys_between_own(transfers));
}

}  // namespace spansort::algorithms
