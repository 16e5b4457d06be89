// SPDX-License-Identifier: Apache-2.0
#include "plan/rounds.hpp"

#include <algorithm>

namespace spansort::plan {
namespace {

/// Keys of this many rounds arrive where they end. So the places into which a later round's arrive have been free for a
/// round, and no round waits for the one before it.
constexpr unsigned rounds_at_home = 2;

/// The groups of each rank. In one round there is one group, which may be of no keys.
std::vector<std::vector<round_group>> make_groups(const sort_plan& plan, const round_sizes& sizes) {
  std::vector<std::vector<round_group>> groups(plan.params.num_ranks);
  for (std::size_t i = 0; i < plan.local_sorts.size(); ++i) {
    const local_sort& sort = plan.local_sorts[i];
    std::vector<round_group>& own = groups[sort.rank];
    const bool is_full = own.empty() || (sizes.least_keys != 0 && own.back().count >= sizes.least_keys &&
                                         own.back().num_sorts >= sizes.least_sorts);
    if (is_full) own.push_back({sort.offset, 0, i, 0});
    own.back().count += sort.count;
    ++own.back().num_sorts;
  }
  return groups;
}

unsigned most_rounds(const std::vector<std::vector<round_group>>& groups) {
  std::size_t most = 1;
  for (const std::vector<round_group>& own : groups) most = std::max(most, own.size());
  return static_cast<unsigned>(most);
}

/// A transfer, or the part of one that is of one local sort.
struct round_transfer {
  unsigned round = 0;
  transfer moved;
};

/// Cuts transfers where local sorts end, if there are several rounds.
std::vector<round_transfer> cut_transfers(const sort_plan& plan, const std::vector<std::vector<round_group>>& groups,
                                          unsigned num_rounds) {
  std::vector<round_transfer> cut;
  for (transfer t : plan.transfers) {
    if (num_rounds == 1) {
      cut.push_back({0, t});
      continue;
    }
    const std::vector<round_group>& own = groups[t.destination_rank];
    while (t.count != 0) {
      const auto group = std::ranges::upper_bound(own, t.destination_offset, {}, &round_group::offset) - 1;
      const auto first = plan.local_sorts.begin() + static_cast<std::ptrdiff_t>(group->first_sort);
      const auto last = first + static_cast<std::ptrdiff_t>(group->num_sorts);
      const auto sort = std::ranges::upper_bound(first, last, t.destination_offset, {}, &local_sort::offset) - 1;
      transfer part = t;
      part.count = std::min(t.count, sort->offset + sort->count - t.destination_offset);
      cut.push_back({static_cast<unsigned>(group - own.begin()), part});
      t.source_offset += part.count;
      t.destination_offset += part.count;
      t.count -= part.count;
    }
  }
  return cut;
}

/// The extents of every chunk as they lie in bucket order. Transfers come by source and by source offset.
std::vector<std::vector<chunk_extent>> list_extents(const sort_plan& plan, const std::vector<round_transfer>& cut) {
  std::vector<std::vector<chunk_extent>> extents(plan.params.num_ranks);
  const round_transfer* last = nullptr;
  for (const round_transfer& t : cut) {
    std::vector<chunk_extent>& own = extents[t.moved.source_rank];
    const bool goes_on = last != nullptr && last->moved.source_rank == t.moved.source_rank &&
                         last->moved.destination_rank == t.moved.destination_rank && last->round == t.round;
    if (!goes_on) own.push_back({t.round, t.moved.source_offset, t.moved.source_offset, 0});
    own.back().count += t.moved.count;
    last = &t;
  }
  return extents;
}

const chunk_extent& extent_of(const std::vector<chunk_extent>& own, std::uint64_t offset) {
  return *(std::ranges::upper_bound(own, offset, {}, &chunk_extent::offset) - 1);
}

/// Returns whether every bucket of every chunk lies in one extent, so that extents may change places when chunks are
/// partitioned.
bool keep_buckets_whole(const sort_plan& plan, const std::vector<std::vector<chunk_extent>>& extents) {
  if (plan.passes.size() != 1) return false;
  for (unsigned rank = 0; rank < plan.params.num_ranks; ++rank) {
    std::uint64_t offset = 0;
    for (const bucket& b : plan.passes.front().buckets) {
      const std::uint64_t count = b.slice_counts[rank];
      if (count == 0) continue;
      const chunk_extent& extent = extent_of(extents[rank], offset);
      if (offset + count > extent.offset + extent.count) return false;
      offset += count;
    }
  }
  return true;
}

/// Lays a chunk's extents out by rounds, those of a round by receiver, which is bucket order.
void lay_out_by_rounds(std::vector<chunk_extent>& own) {
  std::vector<chunk_extent*> by_round;
  for (chunk_extent& e : own) by_round.push_back(&e);
  std::ranges::stable_sort(by_round, {}, &chunk_extent::round);
  std::uint64_t place = 0;
  for (chunk_extent* const e : by_round) {
    e->place = place;
    place += e->count;
  }
}

}  // namespace

std::uint64_t round_plan::place_of(unsigned rank, std::uint64_t offset) const {
  if (extents[rank].empty()) return offset;
  const chunk_extent& extent = extent_of(extents[rank], offset);
  return extent.place + (offset - extent.offset);
}

unsigned round_plan::rounds_until_free(unsigned rank, std::uint64_t place, std::uint64_t count) const {
  unsigned rounds = 0;
  for (const chunk_extent& e : extents[rank]) {
    if (e.place < place + count && place < e.place + e.count) rounds = std::max(rounds, e.round + 1);
  }
  return rounds;
}

round_plan plan_rounds(const sort_plan& plan, const round_sizes& sizes) {
  round_plan rounds;
  rounds.groups = make_groups(plan, sizes);
  const unsigned num_rounds = most_rounds(rounds.groups);
  const std::vector<round_transfer> cut = cut_transfers(plan, rounds.groups, num_rounds);
  rounds.extents = list_extents(plan, cut);
  if (num_rounds > 1 && keep_buckets_whole(plan, rounds.extents)) {
    for (std::vector<chunk_extent>& own : rounds.extents) lay_out_by_rounds(own);
  }
  rounds.transfers.resize(num_rounds);
  for (const round_transfer& t : cut) {
    transfer& moved = rounds.transfers[t.round].emplace_back(t.moved);
    moved.source_offset = rounds.place_of(moved.source_rank, moved.source_offset);
  }
  return rounds;
}

std::optional<freed_places> find_freed_places(const round_plan& rounds, unsigned rank) {
  const std::vector<round_group>& own = rounds.groups[rank];
  if (own.size() <= rounds_at_home) return std::nullopt;
  const freed_places freed{rounds_at_home, own[rounds_at_home].offset};
  for (unsigned round = freed.first_round; round < own.size(); ++round) {
    const std::uint64_t place = own[round].offset - freed.lower_by;
    if (rounds.rounds_until_free(rank, place, own[round].count) > round) return std::nullopt;
  }
  return freed;
}

}  // namespace spansort::plan
