// SPDX-License-Identifier: Apache-2.0
// The collectives of node_group against what each must give, computed from every rank's numbers by a formula; whole and
// in pieces of a few elements.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "mpi/transport/mpi_handle.hpp"
#include "spansort/errors.hpp"

namespace {

using spansort::transport::group_options;
using spansort::transport::make_node_group;
using spansort::transport::node_group;
using words = std::vector<std::uint64_t>;

std::uint64_t value_of(std::size_t rank, std::size_t i) { return rank * 0x9e3779b97f4a7c15U + i * i + 1; }

words values_of(std::size_t rank, std::size_t count) {
  words values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value_of(rank, i);
  return values;
}

/// The most elements of one MPI operation.
class collectives : public testing::TestWithParam<std::uint64_t> {
 protected:
  std::unique_ptr<node_group> group_ = make_node_group(MPI_COMM_WORLD, {.watch = {}, .max_elements = GetParam()});
  std::size_t rank_ = group_->node_rank();
  std::size_t num_nodes_ = group_->num_nodes();
};

INSTANTIATE_TEST_SUITE_P(in_pieces, collectives, testing::Values(1, 5, 8, 1000, std::uint64_t{1} << 28),
                         testing::PrintToStringParamName());

constexpr std::size_t sizes[] = {0, 1, 2, 5, 16, 103};

TEST_P(collectives, KnowsItsRanks) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(rank_, static_cast<std::size_t>(rank));
  EXPECT_EQ(num_nodes_, static_cast<std::size_t>(size));
}

TEST_P(collectives, AllGatherPutsRanksInOrder) {
  for (const std::size_t size : sizes) {
    words expected;
    for (std::size_t r = 0; r < num_nodes_; ++r) {
      const words part = values_of(r, size);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    EXPECT_EQ(group_->all_gather(values_of(rank_, size)), expected) << size;
  }
}

TEST_P(collectives, AllGatherVaryingKeepsEverySize) {
  for (const std::size_t size : sizes) {
    const auto size_of = [&](std::size_t r) { return r % 2 == 0 ? size * r : size; };
    const std::vector<words> all = group_->all_gather_varying(values_of(rank_, size_of(rank_)));
    ASSERT_EQ(all.size(), num_nodes_);
    for (std::size_t r = 0; r < num_nodes_; ++r) EXPECT_EQ(all[r], values_of(r, size_of(r))) << size;
  }
}

TEST_P(collectives, StringsReachAllNodeRanks) {
  const auto text_of = [](std::size_t r) { return std::string(r * 7, 'a') + std::to_string(r) + std::string(1, '\0'); };
  const std::vector<std::string> everywhere = group_->all_gather_strings(text_of(rank_));
  ASSERT_EQ(everywhere.size(), num_nodes_);
  for (std::size_t r = 0; r < num_nodes_; ++r) EXPECT_EQ(everywhere[r], text_of(r));
}

TEST_P(collectives, SumsWrapAroundAt64Bits) {
  for (const std::size_t size : sizes) {
    words all(size);
    words before(size);
    for (std::size_t r = 0; r < num_nodes_; ++r) {
      for (std::size_t i = 0; i < size; ++i) {
        all[i] += value_of(r, i);
        if (r < rank_) before[i] += value_of(r, i);
      }
    }
    EXPECT_EQ(group_->all_reduce_sum(values_of(rank_, size)), all) << size;
    EXPECT_EQ(group_->exclusive_scan_sum(values_of(rank_, size)), before) << size;
  }
}

TEST_P(collectives, BroadcastFromEveryRank) {
  for (unsigned from = 0; from < num_nodes_; ++from) {
    for (const std::size_t size : sizes) {
      words values = values_of(rank_, size);
      group_->broadcast(values, from);
      EXPECT_EQ(values, values_of(from, size)) << size;
    }
  }
}

TEST_P(collectives, AllToAllIsATransposition) {
  for (const std::size_t per_rank : sizes) {
    const auto word = [&](std::size_t from, std::size_t to, std::size_t i) { return (from * 100 + to) * 1000 + i; };
    words mine;
    words expected;
    for (std::size_t r = 0; r < num_nodes_; ++r) {
      for (std::size_t i = 0; i < per_rank; ++i) {
        mine.push_back(word(rank_, r, i));
        expected.push_back(word(r, rank_, i));
      }
    }
    EXPECT_EQ(group_->all_to_all(mine), expected) << per_rank;
  }
}

TEST_P(collectives, NoRankPassesABarrierBeforeAllHaveReachedIt) {
  // Ranks of one machine share this clock.
  const auto now_ns = [] {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };
  for (std::size_t late = 0; late < num_nodes_; ++late) {
    if (rank_ == late) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    const std::uint64_t reached_ns = now_ns();
    group_->barrier();
    const std::uint64_t passed_ns = now_ns();
    for (const std::uint64_t of_rank_ns : group_->all_gather({&reached_ns, 1})) EXPECT_LE(of_rank_ns, passed_ns);
  }
}

TEST(node_group, LeavesTheCallersCommunicatorAlone) {
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  {
    const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD);
    // A message of the caller's under any tag is not taken by the group's, nor the other way round.
    const int next = static_cast<int>((group->node_rank() + 1) % group->num_nodes());
    int token = 7;
    int received = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    group->barrier();
    MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(received, 7);
  }
  MPI_Errhandler after = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &after);
  EXPECT_EQ(before, after);
}

TEST(node_group, GroupsOfPartsWorkSideBySide) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  {
    const std::unique_ptr<node_group> whole = make_node_group(MPI_COMM_WORLD);
    const std::unique_ptr<node_group> group = make_node_group(half);
    const std::uint64_t mine = static_cast<std::uint64_t>(rank);
    const words ranks = group->all_gather({&mine, 1});
    ASSERT_EQ(ranks.size(), group->num_nodes());
    EXPECT_EQ(ranks[group->node_rank()], mine);
    for (std::size_t i = 1; i < ranks.size(); ++i) EXPECT_EQ(ranks[i - 1], ranks[i] + 2);
    EXPECT_EQ(whole->all_gather({&mine, 1}).size(), whole->num_nodes());
  }
  MPI_Comm_free(&half);
}

TEST(node_group, WrongCommunicatorsAreArgumentErrors) {
  EXPECT_THROW(make_node_group(MPI_COMM_NULL), spansort::invalid_argument);
}

}  // namespace
