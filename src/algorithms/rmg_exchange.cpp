// SPDX-License-Identifier: Apache-2.0
// The exchange of RMG sort (section 3.2): what leaves its place for what arrives, transfers between this process's own
// ranks and to those of other processes.
//
// In rounds a rank's result may have to end in `owned` although an odd number of passes leads from there to `spare`.
// Keys of later rounds therefore arrive in `spare`, in places that earlier rounds have left, and those of the first
// rounds, for which there are none, are sorted at once and copied back.
#include <algorithm>

#include "algorithms/rmg_state.hpp"

namespace spansort::algorithms {

void rmg_state::connect_ranks() {
  std::vector<std::uint64_t> capacities;
  for (unsigned r = 0; r < run_.num_ranks(); ++r) capacities.push_back(rank_capacity(params_, planned(r)));
  exchange_.emplace(run_, sort_.shape, capacities, first_rank_, others_->between_processes());
}

void rmg_state::find_closed_ranks() {
  for (rank_buffers& b : buffers_) b.is_closed = true;
  const auto open_both = [&](const plan::transfer& t) {
    for (const unsigned rank : {t.source_rank, t.destination_rank}) {
      if (is_mine(rank)) buffers_[rank - first_rank_].is_closed = false;
    }
  };
  for (const std::vector<plan::transfer>& transfers : rounds_.transfers) {
    for (const plan::transfer& t : transfers) {
      if (!t.is_identity()) open_both(t);
    }
  }
  for (const plan::transfer& t : rounds_.copied_transfers) open_both(t);
  // A chunk that one bucket holds is not partitioned, and closed only where it is also in place.
  for (rank_buffers& b : buffers_) {
    if (!b.is_partitioned && b.chunk.keys != b.owned.keys) b.is_closed = false;
  }
}

/// Moves chunks that were never partitioned, for one bucket holds them, out of the way of what arrives.
void rmg_state::clear_the_way() {
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    rank_buffers& b = buffers_[r];
    if (b.is_partitioned || b.is_closed) continue;
    device::queue& queue = *run_.ranks()[r].queue;
    const std::uint64_t count = source_count(params_, planned(r));
    copy_records(queue, b.chunk, b.spare, count, "exchange");
    b.is_partitioned = true;
  }
}

std::uint64_t rmg_state::keys_between_own() const {
  std::uint64_t num_keys = 0;
  for (const plan::transfer& t : plan_.transfers) {
    if (is_mine(t.source_rank) && is_mine(t.destination_rank) && !buffers_[t.source_rank - first_rank_].is_closed) {
      num_keys += t.count;
    }
  }
  return num_keys;
}

bool rmg_state::arrives_in_spare(unsigned rank, unsigned round, keys::bit_range bits) const {
  const rank_buffers& b = buffers_[rank];
  return b.freed && round >= b.freed->first_round && run_.ranks()[rank].device->prefers_alternate(sort_.shape, bits);
}

bool rmg_state::arrives_in_spare(const plan::transfer& t, unsigned round) const {
  if (!is_mine(t.destination_rank)) return false;
  const unsigned rank = t.destination_rank - first_rank_;
  if (!buffers_[rank].freed) return false;
  const plan::round_group& group = rounds_.groups[t.destination_rank][round];
  const std::span sorts = std::span(plan_.local_sorts).subspan(group.first_sort, group.num_sorts);
  const auto behind = std::ranges::upper_bound(sorts, t.destination_offset, {}, &plan::local_sort::offset);
  return arrives_in_spare(rank, round, std::prev(behind)->bits);
}

std::uint64_t rmg_state::lower_in_spare(unsigned rank, unsigned round) const {
  const rank_buffers& b = buffers_[rank];
  return b.freed && !b.is_closed ? b.freed->lower(round, rounds_.groups[planned(rank)][round]) : 0;
}

unsigned rmg_state::rounds_until_free(unsigned rank, unsigned round) const {
  const plan::round_group& group = rounds_.groups[planned(rank)][round];
  const std::uint64_t place = group.offset - lower_in_spare(rank, round);
  return rounds_.rounds_until_free(planned(rank), place, group.count);
}

void rmg_state::await_freed_places(unsigned round) {
  unsigned free_after = 0;
  std::vector<device::event*> awaited;
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    const rank_buffers& b = buffers_[r];
    const std::vector<plan::round_group>& own = rounds_.groups[planned(r)];
    if (b.is_closed || !b.freed || round < b.freed->first_round || round >= own.size()) continue;
    free_after = std::max(free_after, rounds_until_free(r, round));
    // The rounds before were sorted with the lowest of these places.
    const std::uint64_t place = own[round].offset - lower_in_spare(r, round);
    for (unsigned home = 0; home < b.freed->first_round; ++home) {
      const std::uint64_t end = own[home].offset - lower_in_spare(r, home) + own[home].count;
      if (place < end) awaited.push_back(b.home_sorted[home]);
    }
  }
  if (free_after != 0) awaited.insert(awaited.end(), sent_[free_after - 1].begin(), sent_[free_after - 1].end());
  for (const rank& r : run_.ranks()) {
    for (device::event* const e : awaited) r.exchanges->wait(*e);
  }
}

void rmg_state::execute(std::span<const plan::transfer> transfers, arrival_place place) {
  if (transfers.empty()) return;
  std::vector<transport::endpoint> endpoints;
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    rank& self = run_.ranks()[r];
    device::queue& queue = goes_in_rounds() ? *self.exchanges : *self.queue;
    const device::records& to = place == arrival_place::owned   ? buffers_[r].owned
                                : place == arrival_place::spare ? buffers_[r].spare
                                                                : aside(r);
    endpoints.push_back(
        {planned(r), &queue, buffers_[r].spare, to, [&self]() -> device::event& { return self.take_event(); }});
  }
  const transport::exchanged moved = exchange_->execute(sort_.shape, transfers, endpoints);
  run_.report().exchanged_bytes += moved.bytes;
  run_.report().staged_bytes += moved.staged_bytes;
  // Transfers through host memory begin with slots that nobody uses.
  if (goes_in_rounds() && moved.staged_bytes != 0) run_.join_exchanges();
}

void rmg_state::begin_exchange() {
  others_->enter("exchange");
  run_.report().exchanged_bytes = 0;
  run_.report().staged_bytes = 0;
  find_closed_ranks();
  clear_the_way();
  if (goes_in_rounds()) {
    run_.open_exchanges();
  } else {
    run_.join_queues();
  }
}

/// Copied buckets travel before the first round, so that they are sorted while it is on its way.
void rmg_state::send_copies() {
  if (rounds_.copied_transfers.empty()) return;
  execute(rounds_.copied_transfers, arrival_place::aside);
  if (goes_in_rounds()) {
    copies_sent_ = mark_sent();
  } else {
    run_.join_queues();  // the next transfers may take the same slots of host memory
  }
}

void rmg_state::exchange_round(unsigned round) {
  std::vector<plan::transfer> into_owned;
  std::vector<plan::transfer> into_spare;
  for (plan::transfer t : rounds_.transfers[round]) {
    if (is_mine(t.source_rank) && buffers_[t.source_rank - first_rank_].is_closed) continue;
    if (!arrives_in_spare(t, round)) {
      into_owned.push_back(t);
      continue;
    }
    t.destination_offset -= lower_in_spare(t.destination_rank - first_rank_, round);
    into_spare.push_back(t);
  }
  if (goes_in_rounds()) await_freed_places(round);
  others_->time_exchange([&] {
    if (round == 0) send_copies();
    execute(into_owned, arrival_place::owned);
    execute(into_spare, arrival_place::spare);
  });
  if (!goes_in_rounds()) return;
  sent_.push_back(mark_sent());
}

std::vector<device::event*> rmg_state::mark_sent() {
  std::vector<device::event*> sent;
  for (rank& r : run_.ranks()) r.exchanges->record(*sent.emplace_back(&r.take_event()));
  return sent;
}

void rmg_state::await_round(unsigned rank, unsigned round) {
  if (!goes_in_rounds() || buffers_[rank].is_closed) return;
  device::queue& queue = *run_.ranks()[rank].queue;
  for (device::event* const e : sent_[round]) queue.wait(*e);
  const unsigned free_after = rounds_until_free(rank, round);
  if (free_after > round + 1) queue.wait(*sent_[free_after - 1][rank]);
}

void rmg_state::exchange_and_sort() {
  begin_exchange();
  const auto part_in = [&](unsigned r, const device::records& where) {
    return whole_part{where, output_share(r).count, buffers_[r].spare};
  };
  if (goes_as_one()) {
    run_.queue_as_one(
        [&] {
          place_->begin_overwriting();
          for (unsigned round = 0; round < rounds_.num_rounds(); ++round) {
            exchange_round(round);
            if (!goes_in_rounds()) run_.join_queues();
            if (round == 0) sort_copies();
            sort_arrived(round);
          }
        },
        place_->overwritten_by());
    return note_parts([&](unsigned r) { return part_in(r, buffers_[r].owned); });
  }
  if (sort_.others == nullptr) {
    run_.queue_as_one(
        [&] {
          place_->begin_overwriting();
          exchange_round(0);
        },
        place_->overwritten_by());
  } else {  // the host takes part in the exchange, which must not be held back
    place_->begin_overwriting();
    others_->complete_sources();
    exchange_round(0);
  }
  note_parts(
      [&](unsigned r) { return part_in(r, buffers_[r].lies_in_spare() ? buffers_[r].spare : buffers_[r].owned); });
  place_->finish_exchange(keys_between_own());
  run_.queue_as_one([&] { sort_arrived(0); }, place_->overwritten_by());
  note_parts([&](unsigned r) { return part_in(r, buffers_[r].owned); });
}

}  // namespace spansort::algorithms
