// SPDX-License-Identifier: Apache-2.0
// These tests are of what node_group promises beside the operations of every communicator, which
// tests/mpi/test_conformance.cpp looks at.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "mpi/transport/mpi_handle.hpp"
#include "spansort/errors.hpp"

namespace {

using spansort::transport::make_node_group;
using spansort::transport::node_group;
using words = std::vector<std::uint64_t>;

TEST(node_group, KnowsItsRanks) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD);
  EXPECT_EQ(group->node_rank(), static_cast<unsigned>(rank));
  EXPECT_EQ(group->num_nodes(), static_cast<unsigned>(size));
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
