// SPDX-License-Identifier: Apache-2.0
// The order in which a rank sends: nothing is lost, receivers take turns, and sources do not meet at one of them.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "transport/transfer_order.hpp"

namespace spansort::test {
namespace {

constexpr unsigned first_rank = 7;  // of this process, among the ranks of all
constexpr unsigned many_turns = 6;

std::vector<transport::endpoint> make_endpoints(unsigned num_ranks) {
  std::vector<transport::endpoint> endpoints(num_ranks);
  for (unsigned r = 0; r < num_ranks; ++r) endpoints[r].rank = first_rank + r;
  return endpoints;
}

/// Every rank has so many transfers for every rank. Their source offsets say their order.
std::vector<plan::transfer> all_to_all(unsigned num_ranks, unsigned turns) {
  std::vector<plan::transfer> transfers;
  for (unsigned from = 0; from < num_ranks; ++from) {
    for (unsigned to = 0; to < num_ranks; ++to) {
      for (unsigned i = 0; i < turns; ++i) transfers.push_back({first_rank + from, i, first_rank + to, i, 1});
    }
  }
  return transfers;
}

class transfer_order : public testing::TestWithParam<unsigned> {};

TEST_P(transfer_order, SourcesHaveDifferentReceiversAtEachPlace) {
  const std::vector<transport::endpoint> endpoints = make_endpoints(GetParam());
  const std::vector<plan::transfer> transfers = all_to_all(GetParam(), many_turns);
  std::vector<std::set<unsigned>> receivers(std::size_t{many_turns} * GetParam());
  for (const transport::endpoint& source : endpoints) {
    const std::vector<plan::transfer> ordered = in_turns(transfers, source, endpoints);
    ASSERT_EQ(ordered.size(), receivers.size());
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      EXPECT_EQ(ordered[i].source_rank, source.rank);
      EXPECT_TRUE(receivers[i].insert(ordered[i].destination_rank).second) << "place " << i << " of " << source.rank;
    }
  }
}

TEST_P(transfer_order, EachReceiverGetsItsTransfersInOrder) {
  const std::vector<transport::endpoint> endpoints = make_endpoints(GetParam());
  const std::vector<plan::transfer> ordered = in_turns(all_to_all(GetParam(), many_turns), endpoints.back(), endpoints);
  std::vector<std::uint64_t> next(GetParam());
  for (const plan::transfer& t : ordered) EXPECT_EQ(t.source_offset, next[t.destination_rank - first_rank]++);
  EXPECT_EQ(next, std::vector<std::uint64_t>(GetParam(), many_turns));
}

TEST_P(transfer_order, StreamsThatTakeTransfersAlternatelySendToAllInTwoTurns) {
  const std::vector<transport::endpoint> endpoints = make_endpoints(GetParam());
  const std::vector<plan::transfer> ordered = in_turns(all_to_all(GetParam(), 2), endpoints.front(), endpoints);
  for (const std::size_t stream : {0, 1}) {
    std::set<unsigned> receivers;
    for (std::size_t i = stream; i < ordered.size(); i += 2) receivers.insert(ordered[i].destination_rank);
    EXPECT_EQ(receivers.size(), GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(ranks, transfer_order, testing::Values(1, 2, 3, 4, 5));

TEST(transfer_order_of_some, TransfersOfNothingAndOfOthersAreLeftOut) {
  const std::vector<transport::endpoint> endpoints = make_endpoints(3);
  const std::vector<plan::transfer> transfers{{first_rank, 0, first_rank + 2, 0, 5},
                                              {first_rank, 5, first_rank + 2, 5, 0},
                                              {first_rank + 1, 0, first_rank, 0, 5},
                                              {first_rank, 5, first_rank + 1, 9, 1},
                                              {first_rank, 6, first_rank + 2, 5, 2}};
  const std::vector<plan::transfer> ordered = in_turns(transfers, endpoints.front(), endpoints);
  EXPECT_EQ(ordered, (std::vector<plan::transfer>{transfers[3], transfers[0], transfers[4]}));
}

}  // namespace
}  // namespace spansort::test
