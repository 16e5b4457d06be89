// SPDX-License-Identifier: Apache-2.0
// These tests are of what node ranks finish together, or give up together, as the connection of their GPUs.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include "cluster_case.hpp"
#include "mpi/transport/finish_together.hpp"
#include "mpi/transport/mpi_handle.hpp"

namespace spansort::transport {
namespace {

using std::chrono::milliseconds;
using test::world_rank;
using test::world_size;

constexpr milliseconds patience{60'000};

class finish_together_test : public testing::Test {
 protected:
  /// The group goes on being of use.
  void TearDown() override {
    const std::uint64_t one = 1;
    EXPECT_EQ(group_->all_reduce_sum({&one, 1}).front(), world_size());
  }

  std::unique_ptr<node_group> group_ = make_node_group(MPI_COMM_WORLD);
};

TEST_F(finish_together_test, WaitsForTheSlowest) {
  unsigned num_looks = 0;
  const auto is_done = [&] { return ++num_looks > 100 * world_rank(); };
  EXPECT_EQ(finish_together(*group_, is_done, patience), "");
  EXPECT_EQ(num_looks, 100 * world_rank() + 1) << "it is not asked again once it is done";
}

TEST_F(finish_together_test, OneThatFailsAtOnceIsNotWaitedFor) {
  const unsigned victim = world_size() / 2;
  const auto is_done = [&]() -> bool {
    if (world_rank() == victim) throw std::runtime_error("no such GPU");
    return false;  // for ever: the others need the one that failed
  };
  EXPECT_EQ(finish_together(*group_, is_done, patience), "node rank " + std::to_string(victim) + ": no such GPU");
}

TEST_F(finish_together_test, OneThatFailsLaterUndoesWhatOthersHaveDone) {
  unsigned num_looks = 0;
  const auto is_done = [&] {
    if (world_rank() == 0 && ++num_looks == 500) throw std::runtime_error("");
    return world_rank() != 0;
  };
  EXPECT_EQ(finish_together(*group_, is_done, patience), "node rank 0: ");
}

TEST_F(finish_together_test, NobodyWaitsForEver) {
  const unsigned last = world_size() - 1;
  const auto is_done = [&] { return world_rank() != last; };
  EXPECT_EQ(finish_together(*group_, is_done, milliseconds(30)),
            "node rank " + std::to_string(last) + ": it takes too long");
}

}  // namespace
}  // namespace spansort::transport
