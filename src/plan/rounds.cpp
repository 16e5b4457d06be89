// SPDX-License-Identifier: Apache-2.0
#include "plan/rounds.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

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

/// Returns the local sort that a record of a rank's group is in.
const local_sort& sort_at(const sort_plan& plan, const round_group& group, std::uint64_t offset) {
  const auto first = plan.local_sorts.begin() + static_cast<std::ptrdiff_t>(group.first_sort);
  const auto last = first + static_cast<std::ptrdiff_t>(group.num_sorts);
  return *std::prev(std::ranges::upper_bound(first, last, offset, {}, &local_sort::offset));
}

/// Notes that a part of a chunk is sent in a round.
void add_extent(std::vector<chunk_extent>& extents, unsigned round, const transfer& part) {
  if (extents.empty() || extents.back().round != round ||
      extents.back().place + extents.back().count != part.source_offset) {
    extents.push_back({round, part.source_offset, 0});
  }
  extents.back().count += part.count;
}

/// Adds a transfer to its rounds, cut where local sorts end and where the chunk is not in bucket order.
void add_cut(const sort_plan& plan, const chunk_layout& layout, transfer t, round_plan& rounds) {
  const std::vector<round_group>& own = rounds.groups[t.destination_rank];
  while (t.count != 0) {
    const auto group = std::prev(std::ranges::upper_bound(own, t.destination_offset, {}, &round_group::offset));
    const local_sort& sort = sort_at(plan, *group, t.destination_offset);
    transfer part = t;
    part.source_offset = layout.place_of(t.source_rank, t.source_offset);
    part.count = std::min(
        {t.count, sort.offset + sort.count - t.destination_offset, layout.run_of(t.source_rank, t.source_offset)});
    const auto round = static_cast<unsigned>(group - own.begin());
    rounds.transfers[round].push_back(part);
    add_extent(rounds.extents[t.source_rank], round, part);
    t.source_offset += part.count;
    t.destination_offset += part.count;
    t.count -= part.count;
  }
}

/// Adds a copy to the first round, cut where the chunk is not in bucket order.
void add_copied(const chunk_layout& layout, transfer t, round_plan& rounds) {
  while (t.count != 0) {
    transfer part = t;
    part.source_offset = layout.place_of(t.source_rank, t.source_offset);
    part.count = std::min(t.count, layout.run_of(t.source_rank, t.source_offset));
    rounds.copied_transfers.push_back(part);
    add_extent(rounds.extents[t.source_rank], 0, part);
    t.source_offset += part.count;
    t.destination_offset += part.count;
    t.count -= part.count;
  }
}

/// The rounds of first-pass buckets, as they come by: each goes to the rank that owns it.
class round_counter {
 public:
  explicit round_counter(const round_sizes& sizes) : sizes_(sizes) {}

  /// Returns the round of a rank's slice of the next bucket, which has `offset` in its chunk. A bucket that spans is
  /// sent to several ranks. It stays in front where the chunk begins with it, which may hold its rank's keys alone.
  [[nodiscard]] unsigned round_in_chunk(const bucket& b, unsigned rank, std::uint64_t offset) const {
    return b.spans() && rank == b.last_rank && offset == 0 ? 0 : round_;
  }
  void begin(const bucket& b) {
    if (b.first_rank != rank_) {
      rank_ = b.first_rank;
      round_ = 0;
      num_keys_ = num_buckets_ = 0;
    } else if (num_keys_ >= sizes_.least_keys && num_buckets_ >= sizes_.least_sorts) {
      ++round_;
      num_keys_ = num_buckets_ = 0;
    }
    num_keys_ += b.count;
    ++num_buckets_;
  }

 private:
  round_sizes sizes_;
  unsigned rank_ = 0;
  unsigned round_ = 0;
  std::uint64_t num_keys_ = 0;
  std::uint64_t num_buckets_ = 0;
};

/// A stretch whose place is still to be found.
struct planned_stretch {
  unsigned round = 0;
  chunk_layout::stretch at;
};

/// Lays a chunk's stretches out by rounds, those of a round in bucket order.
std::vector<chunk_layout::stretch> placed(std::vector<planned_stretch> own) {
  std::ranges::stable_sort(own, {}, &planned_stretch::round);
  std::uint64_t place = 0;
  std::vector<chunk_layout::stretch> stretches;
  for (planned_stretch& s : own) {
    s.at.place = place;
    place += s.at.count;
    stretches.push_back(s.at);
  }
  std::ranges::sort(stretches, {}, &chunk_layout::stretch::offset);
  return stretches;
}

/// Returns how many places of a chunk, from its first on, are free after so many rounds.
std::uint64_t places_free_after(const std::vector<chunk_extent>& own, unsigned num_rounds) {
  std::uint64_t num_free = ~std::uint64_t{0};
  for (const chunk_extent& e : own) {
    if (e.round >= num_rounds) num_free = std::min(num_free, e.place);
  }
  return num_free;
}

const chunk_layout::stretch& stretch_at(const std::vector<chunk_layout::stretch>& own, std::uint64_t offset) {
  return *std::prev(std::ranges::upper_bound(own, offset, {}, &chunk_layout::stretch::offset));
}

}  // namespace

std::uint64_t chunk_layout::place_of(unsigned rank, std::uint64_t offset) const {
  if (stretches.empty() || stretches[rank].empty()) return offset;
  const stretch& s = stretch_at(stretches[rank], offset);
  return s.place + (offset - s.offset);
}

std::uint64_t chunk_layout::run_of(unsigned rank, std::uint64_t offset) const {
  if (stretches.empty() || stretches[rank].empty()) return ~std::uint64_t{0};
  const stretch& s = stretch_at(stretches[rank], offset);
  return s.offset + s.count - offset;
}

chunk_layout lay_out(const parameters& params, std::span<const bucket> buckets, const round_sizes& sizes) {
  if (sizes.least_keys == 0) return {};
  std::vector<std::vector<planned_stretch>> planned(params.num_ranks);
  std::vector<std::uint64_t> offsets(params.num_ranks);
  round_counter rounds(sizes);
  for (const bucket& b : buckets) {
    rounds.begin(b);
    for (unsigned rank = 0; rank < params.num_ranks; ++rank) {
      const std::uint64_t count = b.slice_counts[rank];
      if (count == 0) continue;
      const unsigned round = rounds.round_in_chunk(b, rank, offsets[rank]);
      std::vector<planned_stretch>& own = planned[rank];
      if (own.empty() || own.back().round != round) own.push_back({round, {offsets[rank], 0, 0}});
      own.back().at.count += count;
      offsets[rank] += count;
    }
  }
  chunk_layout layout;
  for (std::vector<planned_stretch>& own : planned) layout.stretches.push_back(placed(std::move(own)));
  return layout;
}

unsigned round_plan::rounds_until_free(unsigned rank, std::uint64_t place, std::uint64_t count) const {
  unsigned rounds = 0;
  for (const chunk_extent& e : extents[rank]) {
    if (e.place < place + count && place < e.place + e.count) rounds = std::max(rounds, e.round + 1);
  }
  return rounds;
}

std::uint64_t freed_places::lower(unsigned round, const round_group& group) const noexcept {
  return round < first_round ? std::min(group.offset, lower_by_before) : lower_by;
}

round_plan plan_rounds(const sort_plan& plan, const chunk_layout& layout, const round_sizes& sizes) {
  round_plan rounds;
  rounds.groups = make_groups(plan, sizes);
  rounds.extents.resize(plan.params.num_ranks);
  rounds.transfers.resize(most_rounds(rounds.groups));
  if (layout.stretches.empty()) {
    rounds.transfers.front() = plan.transfers;
    rounds.copied_transfers = plan.copied_transfers;
    return rounds;
  }
  for (const transfer& t : plan.copied_transfers) add_copied(layout, t, rounds);
  for (const transfer& t : plan.transfers) add_cut(plan, layout, t, rounds);
  return rounds;
}

std::optional<freed_places> find_freed_places(const round_plan& rounds, unsigned rank) {
  const std::vector<round_group>& own = rounds.groups[rank];
  if (own.size() <= rounds_at_home) return std::nullopt;
  freed_places freed{rounds_at_home, own[rounds_at_home].offset, 0};
  const std::uint64_t num_free = places_free_after(rounds.extents[rank], rounds_at_home);
  freed.lower_by_before = freed.lower_by - std::min(freed.lower_by, num_free);
  for (unsigned round = 0; round < own.size(); ++round) {
    const std::uint64_t place = own[round].offset - freed.lower(round, own[round]);
    const unsigned begins_before = std::max(round, freed.first_round);
    if (rounds.rounds_until_free(rank, place, own[round].count) > begins_before) return std::nullopt;
  }
  return freed;
}

}  // namespace spansort::plan
