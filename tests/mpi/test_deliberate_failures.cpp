// SPDX-License-Identifier: Apache-2.0
// Tests that fail, for test_main.py to see what becomes of the job. Nobody else runs them.
#include <gtest/gtest.h>
#include <mpi.h>

#include "mpi/cluster_case.hpp"

namespace spansort::test {
namespace {

void leave_others_waiting(unsigned leaver) {
  if (world_rank() == leaver) FAIL() << "rank " << leaver << " leaves the test";
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(DeliberateFailure, DISABLED_Rank0Leaves) { leave_others_waiting(0); }

TEST(DeliberateFailure, DISABLED_Rank1Leaves) { leave_others_waiting(1); }

TEST(DeliberateFailure, DISABLED_Rank1FailsAndGoesOn) {
  EXPECT_EQ(world_rank() == 1 ? 1 : 0, 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(DeliberateFailure, DISABLED_NobodyFails) { MPI_Barrier(MPI_COMM_WORLD); }

}  // namespace
}  // namespace spansort::test
