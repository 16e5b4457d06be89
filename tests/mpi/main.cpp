// SPDX-License-Identifier: Apache-2.0
// Runs the tests on every rank of MPI_COMM_WORLD. Rank 0 prints as GoogleTest does, the others only what fails on them;
// a failure on any rank is the exit status of all.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

namespace {

class failures_of_rank : public testing::EmptyTestEventListener {
 public:
  explicit failures_of_rank(int rank) : rank_(rank) {}
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
    std::fprintf(stderr, "rank %d: %s.%s: %s:%d: %s\n", rank_, test != nullptr ? test->test_suite_name() : "",
                 test != nullptr ? test->name() : "", result.file_name() != nullptr ? result.file_name() : "",
                 result.line_number(), result.message());
  }

 private:
  int rank_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new failures_of_rank(rank));
  }
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
