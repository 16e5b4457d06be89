// SPDX-License-Identifier: Apache-2.0
// Runs the tests on every rank of MPI_COMM_WORLD. Rank 0 prints as GoogleTest does, the others only what fails on them;
// a failure on any rank is the exit status of all. All meet at the end of each test. A rank that has failed may have
// left its test while others wait for it there, or wait for those that have: it ends the job when they do not meet.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

/// Seconds after a failure for this rank to end the test, and then for the others: long enough for the sanitizers on a
/// loaded machine.
constexpr unsigned longest_test_s = 120;
constexpr unsigned longest_wait_s = 10;

extern "C" void end_job(int) {
  constexpr std::string_view message = "A test failed on this rank, and not all ranks have ended it: the job ends.\n";
  static_cast<void>(!write(STDERR_FILENO, message.data(), message.size()));
  // The launcher ends all ranks when one leaves without a word to MPI.
  _exit(EXIT_FAILURE);
}

/// The end of a test, which all ranks reach.
class meeting : public testing::EmptyTestEventListener {
 public:
  /// `group` is for this alone: others may wait in an operation of the tests' own.
  explicit meeting(MPI_Comm group) : group_(group) { std::signal(SIGALRM, end_job); }

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed() || is_limited_) return;
    is_limited_ = true;
    alarm(longest_test_s);
  }
  void OnTestEnd(const testing::TestInfo&) override {
    if (is_limited_) alarm(longest_wait_s);
    MPI_Barrier(group_);
    alarm(0);
    is_limited_ = false;
  }

 private:
  MPI_Comm group_;
  bool is_limited_ = false;
};

class failures_of_rank : public testing::EmptyTestEventListener {
 public:
  explicit failures_of_rank(int rank) : rank_(rank) {}
  void OnTestStart(const testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  /// GoogleTest holds a lock meanwhile and cannot be asked which test it is: the rank would wait for itself.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s: %s:%d: %s\n", rank_, test_.c_str(),
                 result.file_name() != nullptr ? result.file_name() : "", result.line_number(), result.message());
  }

 private:
  int rank_;
  std::string test_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm for_meetings = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &for_meetings);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new failures_of_rank(rank));
  }
  listeners.Append(new meeting(for_meetings));
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, for_meetings);
  MPI_Comm_free(&for_meetings);
  MPI_Finalize();
  return failed;
}
