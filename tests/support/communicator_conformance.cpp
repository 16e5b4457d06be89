// SPDX-License-Identifier: Apache-2.0
#include "support/communicator_conformance.hpp"

#include <chrono>
#include <thread>
#include <vector>

namespace spansort::test {
namespace {

using transport::communicator;
using words = std::vector<std::uint64_t>;

std::uint64_t value_of(std::size_t rank, std::size_t i) { return rank * 0x9e3779b97f4a7c15U + i * i + 1; }

words values_of(std::size_t rank, std::size_t count) {
  words values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value_of(rank, i);
  return values;
}

constexpr std::size_t sizes[] = {0, 1, 2, 5, 16, 103};

}  // namespace

void PrintTo(const communicator_world& world, std::ostream* out) { *out << world.name; }

TEST_P(communicator_conformance, NodeRanksAreNumberedThrough) {
  GetParam().run([](communicator& group) {
    const std::uint64_t mine = group.node_rank();
    const words all = group.all_gather({&mine, 1});
    ASSERT_EQ(all.size(), group.num_nodes());
    for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], r);
  });
}

TEST_P(communicator_conformance, AllGatherPutsRanksInOrder) {
  GetParam().run([](communicator& group) {
    for (const std::size_t size : sizes) {
      words expected;
      for (std::size_t r = 0; r < group.num_nodes(); ++r) {
        const words part = values_of(r, size);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      EXPECT_EQ(group.all_gather(values_of(group.node_rank(), size)), expected) << size;
    }
  });
}

TEST_P(communicator_conformance, AllGatherVaryingKeepsEverySize) {
  GetParam().run([](communicator& group) {
    for (const std::size_t size : sizes) {
      const auto size_of = [&](std::size_t r) { return r % 2 == 0 ? size * r : size; };
      const words mine = values_of(group.node_rank(), size_of(group.node_rank()));
      const std::vector<words> all = group.all_gather_varying(mine);
      ASSERT_EQ(all.size(), group.num_nodes());
      words joined;
      for (std::size_t r = 0; r < group.num_nodes(); ++r) {
        EXPECT_EQ(all[r], values_of(r, size_of(r))) << size;
        joined.insert(joined.end(), all[r].begin(), all[r].end());
      }
      EXPECT_EQ(group.all_gather_joined(mine), joined) << size;
    }
  });
}

TEST_P(communicator_conformance, StringsReachAllNodeRanks) {
  const auto text_of = [](std::size_t r) { return std::string(r * 7, 'a') + std::to_string(r) + std::string(1, '\0'); };
  GetParam().run([&](communicator& group) {
    const std::vector<std::string> everywhere = group.all_gather_strings(text_of(group.node_rank()));
    ASSERT_EQ(everywhere.size(), group.num_nodes());
    for (std::size_t r = 0; r < group.num_nodes(); ++r) EXPECT_EQ(everywhere[r], text_of(r));
    EXPECT_EQ(group.all_gather_strings(""), std::vector<std::string>(group.num_nodes()));
  });
}

TEST_P(communicator_conformance, SumsWrapAroundAt64Bits) {
  GetParam().run([](communicator& group) {
    for (const std::size_t size : sizes) {
      words all(size);
      words before(size);
      for (std::size_t r = 0; r < group.num_nodes(); ++r) {
        for (std::size_t i = 0; i < size; ++i) {
          all[i] += value_of(r, i);
          if (r < group.node_rank()) before[i] += value_of(r, i);
        }
      }
      EXPECT_EQ(group.all_reduce_sum(values_of(group.node_rank(), size)), all) << size;
      EXPECT_EQ(group.exclusive_scan_sum(values_of(group.node_rank(), size)), before) << size;
    }
  });
}

TEST_P(communicator_conformance, BroadcastFromEveryRank) {
  GetParam().run([](communicator& group) {
    for (unsigned from = 0; from < group.num_nodes(); ++from) {
      for (const std::size_t size : sizes) {
        words values = values_of(group.node_rank(), size);
        group.broadcast(values, from);
        EXPECT_EQ(values, values_of(from, size)) << size;
      }
    }
  });
}

TEST_P(communicator_conformance, AllToAllIsATransposition) {
  const auto word = [](std::size_t from, std::size_t to, std::size_t i) { return (from * 100 + to) * 1000 + i; };
  GetParam().run([&](communicator& group) {
    const std::size_t self = group.node_rank();
    for (const std::size_t per_rank : sizes) {
      words mine;
      words expected;
      for (std::size_t r = 0; r < group.num_nodes(); ++r) {
        for (std::size_t i = 0; i < per_rank; ++i) {
          mine.push_back(word(self, r, i));
          expected.push_back(word(r, self, i));
        }
      }
      EXPECT_EQ(group.all_to_all(mine), expected) << per_rank;
    }
  });
}

TEST_P(communicator_conformance, NoRankPassesABarrierBeforeAllHaveReachedIt) {
  // Ranks of one machine share this clock.
  const auto now_ns = [] {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };
  GetParam().run([&](communicator& group) {
    for (unsigned late = 0; late < group.num_nodes(); ++late) {
      if (group.node_rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      const std::uint64_t reached_ns = now_ns();
      group.barrier();
      const std::uint64_t passed_ns = now_ns();
      for (const std::uint64_t of_rank_ns : group.all_gather({&reached_ns, 1})) EXPECT_LE(of_rank_ns, passed_ns);
    }
  });
}

TEST_P(communicator_conformance, PhasesAndChecksMayComeAtAnyTime) {
  GetParam().run([](communicator& group) {
    group.set_phase("one");
    EXPECT_NO_THROW(group.check());
    group.set_phase(std::string(2000, 'x'));
    group.barrier();
    EXPECT_NO_THROW(group.check());
  });
}

}  // namespace spansort::test
