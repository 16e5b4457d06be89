// SPDX-License-Identifier: Apache-2.0
// These tests are of exchanges in rounds: what must hold for every one of them, and an exchange of small arrays in
// which keys arrive in places that earlier rounds have left.
#include "plan/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "random_input.hpp"
#include "simulation.hpp"

namespace spansort::plan::test {
namespace {

round_sizes random_sizes(generator& random, const parameters& p) {
  const std::uint64_t part = p.num_keys / p.num_ranks + 1;
  return {.least_keys = pick(random, 0, part / pick(random, 1, 40) + 1),
          .least_sorts = static_cast<unsigned>(pick(random, 1, 4))};
}

/// The groups of a rank follow one another and hold all of its local sorts.
void expect_groups_cover(const sort_plan& plan, const round_plan& rounds) {
  std::size_t next_sort = 0;
  for (unsigned rank = 0; rank < plan.params.num_ranks; ++rank) {
    std::uint64_t offset = 0;
    const auto skip_copied = [&] {
      for (const copied_sort& s : plan.copied_sorts) offset += s.rank == rank && s.offset == offset ? s.num_kept : 0;
    };
    skip_copied();
    for (const round_group& group : rounds.groups[rank]) {
      ASSERT_EQ(group.offset, offset);
      ASSERT_EQ(group.first_sort, next_sort);
      ASSERT_GT(group.num_sorts, 0U);
      for (std::size_t i = 0; i < group.num_sorts; ++i) {
        ASSERT_EQ(plan.local_sorts[next_sort].rank, rank);
        offset += plan.local_sorts[next_sort++].count;
      }
      ASSERT_EQ(group.offset + group.count, offset);
    }
    skip_copied();
    ASSERT_EQ(offset, plan.rank_count(rank));
  }
  ASSERT_EQ(next_sort, plan.local_sorts.size());
}

void expect_groups_are_large(const round_plan& rounds, const round_sizes& sizes) {
  for (const std::vector<round_group>& own : rounds.groups) {
    ASSERT_LE(own.size(), rounds.num_rounds());
    if (sizes.least_keys == 0) {
      ASSERT_LE(own.size(), 1U);
    }
    for (std::size_t i = 0; i + 1 < own.size(); ++i) {
      ASSERT_GE(own[i].count, sizes.least_keys);
      ASSERT_GE(own[i].num_sorts, sizes.least_sorts);
    }
  }
}

chunk_layout layout_of(const sort_plan& plan, const round_sizes& sizes) {
  return plan.passes.empty() ? chunk_layout() : lay_out(plan.params, plan.passes.front().buckets, sizes);
}

/// Every place of a chunk is some offset's.
void expect_places_are_all_of_the_chunk(const sort_plan& plan, const chunk_layout& layout) {
  for (unsigned rank = 0; rank < plan.params.num_ranks; ++rank) {
    const std::uint64_t count = source_count(plan.params, rank);
    std::vector<bool> is_taken(count);
    for (std::uint64_t offset = 0; offset < count; ++offset) {
      const std::uint64_t place = layout.place_of(rank, offset);
      ASSERT_LT(place, count);
      ASSERT_FALSE(is_taken[place]);
      is_taken[place] = true;
    }
  }
}

/// Ranks with two arrays each, in which all rounds take place. A place is cleared when what lies there is sent, and
/// nothing may arrive where something unsent lies.
class exchange_in_rounds {
 public:
  exchange_in_rounds(const sort_plan& plan, const round_plan& rounds, const chunk_layout& layout,
                     const simulation& partitioned)
      : plan_(plan), rounds_(rounds), owned_(plan.params.num_ranks) {
    for (unsigned rank = 0; rank < plan.params.num_ranks; ++rank) {
      const std::vector<record>& chunk = partitioned.chunks()[rank];
      owned_[rank].resize(plan.rank_count(rank), unwritten);
      spare_.emplace_back(std::max(chunk.size(), plan.rank_count(rank)), unwritten);
      for (std::uint64_t i = 0; i < chunk.size(); ++i) spare_[rank][layout.place_of(rank, i)] = chunk[i];
      freed_.push_back(find_freed_places(rounds, rank));
    }
  }

  /// Returns the whole after all rounds and sorts.
  std::vector<record> run() {
    for (unsigned round = 0; round < rounds_.num_rounds(); ++round) {
      expect_room(round);
      if (round == 0) send_copies();
      for (const transfer& t : rounds_.transfers[round]) send(t, round);
    }
    std::vector<record> whole;
    for (const copied_sort& sort : plan_.copied_sorts) keep(sort);
    for (unsigned rank = 0; rank < plan_.params.num_ranks; ++rank) {
      for (unsigned round = 0; round < rounds_.groups[rank].size(); ++round) sort_group(rank, round);
      whole.insert(whole.end(), owned_[rank].begin(), owned_[rank].end());
    }
    return whole;
  }

  [[nodiscard]] bool uses_freed_places() const {
    return std::ranges::any_of(freed_, [](const auto& f) { return f.has_value(); });
  }

 private:
  static constexpr record unwritten{~std::uint64_t{0}, ~std::uint64_t{0}};

  [[nodiscard]] bool arrives_in_spare(unsigned rank, unsigned round) const {
    return freed_[rank] && round >= freed_[rank]->first_round;
  }

  /// Checks that what lay where the keys of a round arrive has been sent in rounds before, as the plan says.
  void expect_room(unsigned round) const {
    for (unsigned rank = 0; rank < plan_.params.num_ranks; ++rank) {
      if (!arrives_in_spare(rank, round) || round >= rounds_.groups[rank].size()) continue;
      const round_group& group = rounds_.groups[rank][round];
      const std::uint64_t place = group.offset - freed_[rank]->lower(round, group);
      ASSERT_LE(rounds_.rounds_until_free(rank, place, group.count), round);
      for (std::uint64_t i = 0; i < group.count; ++i) ASSERT_EQ(spare_[rank].at(place + i), unwritten);
    }
  }

  void send(const transfer& t, unsigned round) {
    const bool in_spare = arrives_in_spare(t.destination_rank, round);
    const std::uint64_t lower_by = in_spare ? freed_[t.destination_rank]->lower_by : 0;
    for (std::uint64_t i = 0; i < t.count; ++i) {
      record& from = spare_[t.source_rank].at(t.source_offset + i);
      std::vector<record>& into = in_spare ? spare_[t.destination_rank] : owned_[t.destination_rank];
      record& to = into.at(t.destination_offset - lower_by + i);
      EXPECT_EQ(to, unwritten);
      to = from;
      from = unwritten;
    }
  }

  void send_copies() {
    aside_.resize(plan_.params.num_ranks);
    for (std::vector<record>& own : aside_) own.resize(most_copied_keys(plan_.params), unwritten);
    for (const transfer& t : rounds_.copied_transfers) {
      for (std::uint64_t i = 0; i < t.count; ++i) {
        const record& from = spare_[t.source_rank].at(t.source_offset + i);
        EXPECT_NE(from, unwritten);
        record& to = aside_[t.destination_rank].at(t.destination_offset + i);
        EXPECT_EQ(to, unwritten);
        to = from;
      }
    }
    for (const transfer& t : rounds_.copied_transfers) {
      for (std::uint64_t i = 0; i < t.count; ++i) spare_[t.source_rank].at(t.source_offset + i) = unwritten;
    }
  }

  void keep(const copied_sort& sort) {
    const auto begin = aside_[sort.rank].begin() + static_cast<std::ptrdiff_t>(sort.aside);
    std::stable_sort(begin, begin + static_cast<std::ptrdiff_t>(sort.count),
                     [](const record& a, const record& b) { return a.key < b.key; });
    for (std::uint64_t i = 0; i < sort.num_kept; ++i) {
      record& to = owned_[sort.rank].at(sort.offset + i);
      EXPECT_EQ(to, unwritten);
      to = aside_[sort.rank].at(sort.aside + sort.first_kept + i);
    }
  }

  void sort_group(unsigned rank, unsigned round) {
    const round_group& group = rounds_.groups[rank][round];
    for (std::size_t i = group.first_sort; i < group.first_sort + group.num_sorts; ++i) {
      const local_sort& sort = plan_.local_sorts[i];
      const auto offset = static_cast<std::ptrdiff_t>(sort.offset);
      const auto count = static_cast<std::ptrdiff_t>(sort.count);
      const auto home = owned_[rank].begin() + offset;
      if (arrives_in_spare(rank, round)) {
        const auto arrived = spare_[rank].begin() + (offset - static_cast<std::ptrdiff_t>(freed_[rank]->lower_by));
        std::copy(arrived, arrived + count, home);
      }
      const std::uint64_t mask = sort.bits.end == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << sort.bits.end) - 1;
      if (sort.bits.empty()) continue;
      std::stable_sort(home, home + count,
                       [&](const record& a, const record& b) { return (a.key & mask) < (b.key & mask); });
    }
  }

  const sort_plan& plan_;
  const round_plan& rounds_;
  std::vector<std::vector<record>> owned_;
  std::vector<std::vector<record>> spare_;
  std::vector<std::vector<record>> aside_;
  std::vector<std::optional<freed_places>> freed_;
};

TEST(PlanRounds, SortStablyWhereverKeysArrive) {
  unsigned num_with_freed_places = 0;
  unsigned num_laid_out = 0;
  for_each_seed(3000, [&](generator& random) {
    parameters p = random_parameters(random, 600);
    give_random_sizes(random, p);
    if (pick(random, 0, 3) == 0) p.refine_keys = pick(random, 1, p.num_keys / 2 + 1);
    if (pick(random, 0, 1) == 0) p.copied_keys = pick(random, 1, p.num_keys / 2 + 1);
    const auto keys = random_keys(random, p);
    simulation machine(p, keys);
    const sort_plan plan = machine.make_plan();
    const round_sizes sizes = random_sizes(random, p);
    const chunk_layout layout = layout_of(plan, sizes);
    const round_plan rounds = plan_rounds(plan, layout, sizes);
    ASSERT_NO_FATAL_FAILURE(expect_groups_cover(plan, rounds));
    ASSERT_NO_FATAL_FAILURE(expect_groups_are_large(rounds, sizes));
    ASSERT_NO_FATAL_FAILURE(expect_places_are_all_of_the_chunk(plan, layout));
    exchange_in_rounds exchange(plan, rounds, layout, machine);
    EXPECT_EQ(exchange.run(), sorted_oracle(keys));
    num_with_freed_places += exchange.uses_freed_places() ? 1U : 0U;
    for (const std::vector<chunk_layout::stretch>& own : layout.stretches) {
      if (std::ranges::any_of(own, [](const auto& s) { return s.place != s.offset; })) ++num_laid_out;
    }
  });
  EXPECT_GT(num_with_freed_places, 30U);
  EXPECT_GT(num_laid_out, 30U);
}

/// Every bucket in turn has as many keys of each rank.
sort_plan even_plan(unsigned num_ranks) {
  parameters p;
  p.num_ranks = num_ranks;
  p.num_keys = std::uint64_t{256} * 1000 * num_ranks;
  p.fuse_threshold = 0;
  planner making(p);
  making.add_pass(std::vector(1, std::vector(num_ranks, std::vector<std::uint64_t>(256, 1000))));
  return std::move(making).finish();
}

TEST(PlanRounds, OfEvenKeysFreeAsManyPlacesAsTheyTake) {
  for (const unsigned num_ranks : {2U, 4U, 8U}) {
    const sort_plan plan = even_plan(num_ranks);
    const round_sizes sizes{.least_keys = plan.rank_count(0) / 16};
    const round_plan rounds = plan_rounds(plan, layout_of(plan, sizes), sizes);
    ASSERT_EQ(rounds.num_rounds(), 16U);
    for (unsigned rank = 0; rank < num_ranks; ++rank) {
      for (unsigned round = 0; round < 16; ++round) {
        const round_group& group = rounds.groups[rank][round];
        EXPECT_EQ(rounds.rounds_until_free(rank, group.offset, group.count), round + 1);
      }
      const std::optional<freed_places> freed = find_freed_places(rounds, rank);
      ASSERT_TRUE(freed);
      EXPECT_EQ(freed->first_round, 2U);
      EXPECT_EQ(freed->lower_by, plan.rank_count(rank) / 8);
    }
  }
}

TEST(PlanRounds, OneRoundIsThePlanItself) {
  const sort_plan plan = even_plan(3);
  const round_plan rounds = plan_rounds(plan, layout_of(plan, {}), {});
  ASSERT_EQ(rounds.num_rounds(), 1U);
  EXPECT_EQ(rounds.transfers.front(), plan.transfers);
  EXPECT_FALSE(find_freed_places(rounds, 1));

  parameters none;
  none.num_ranks = 3;
  const round_plan of_nothing = plan_rounds(planner(none).finish(), {}, {.least_keys = 1});
  EXPECT_EQ(of_nothing.num_rounds(), 1U);
  EXPECT_TRUE(of_nothing.transfers.front().empty());
}

/// The bucket at the bound of two ranks is refined, for there is no slack; the others stay where they are.
TEST(PlanRounds, AreLaidOutByTheFirstPassWhereABoundIsRefined) {
  parameters p;
  p.num_ranks = 2;
  p.key_bits = 16;
  p.num_keys = std::uint64_t{255} * 2000;
  p.fuse_threshold = 0;
  p.epsilon = 0;
  planner making(p);
  std::vector<std::uint64_t> counts(256, 1000);
  counts.back() = 0;
  making.add_pass(std::vector(1, std::vector(2, counts)));
  const round_sizes sizes{.least_keys = p.num_keys / 2 / 16};
  const chunk_layout layout = lay_out(p, making.buckets(), sizes);
  ASSERT_EQ(making.pending().size(), 1U);
  std::vector<std::uint64_t> halves(256);
  halves.front() = halves.back() = 500;
  making.add_pass(std::vector(1, std::vector(2, halves)));
  const sort_plan plan = std::move(making).finish();
  const round_plan rounds = plan_rounds(plan, layout, sizes);
  EXPECT_EQ(rounds.num_rounds(), 16U);
  EXPECT_TRUE(find_freed_places(rounds, 0));
  EXPECT_TRUE(find_freed_places(rounds, 1));
}

}  // namespace
}  // namespace spansort::plan::test
