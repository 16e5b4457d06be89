// SPDX-License-Identifier: Apache-2.0
// These tests are of what a session offers beside sorting: shares of a file, counts, phases, and whether all know of a
// failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cluster_case.hpp"
#include "cluster_files.hpp"
#include "spansort/errors.hpp"
#include "spansort/mpi.hpp"

namespace spansort {
namespace {

using test::shared_file;
using test::world_rank;
using test::world_size;

TEST(session_shares, CountsOfAllAreThoseOfTheWholeFile) {
  for (const std::uint64_t num_keys : {0, 1, 1000}) {
    const shared_file file(num_keys);
    mpi::session all(MPI_COMM_WORLD);
    const key_file share = all.read_share(file.path);
    EXPECT_EQ(share.num_keys_in_file(), num_keys);
    const std::vector<double> edges = equal_width_edges(-1, 1, 70);
    EXPECT_EQ(all.histogram(share.keys(), edges), histogram(key_file(file.path).keys(), edges));
  }
}

TEST(session_shares, AllKnowOfWhatAllSee) {
  mpi::session all(MPI_COMM_WORLD);
  EXPECT_THROW(static_cast<void>(all.read_share("/no/such/file.npy")), io_error);
  EXPECT_TRUE(all.all_know_of_failure());
  // One has an argument that cannot be; the session goes on being of use.
  const std::vector<float> keys(10);
  const std::array<double, 2> edges{0, 1};
  if (world_rank() == 0) {
    const const_key_span nowhere{key_type::f32, nullptr, 10};
    EXPECT_THROW(static_cast<void>(all.histogram(nowhere, edges)), invalid_argument);
  } else {
    EXPECT_THROW(static_cast<void>(all.histogram(as_const_key_span(std::span(keys)), edges)), cluster_failure);
  }
  EXPECT_TRUE(all.all_know_of_failure());
  EXPECT_EQ(all.histogram(as_const_key_span(std::span(keys)), edges), std::vector<std::uint64_t>{10 * world_size()});
}

TEST(session_shares, DifferentArgumentsAreNamed) {
  if (world_size() == 1) GTEST_SKIP() << "nobody to differ from";
  mpi::session all(MPI_COMM_WORLD);
  const std::vector<float> keys(10);
  const std::array<double, 2> edges{0, world_rank() == 0 ? 1.0 : 2.0};
  EXPECT_THROW(static_cast<void>(all.histogram(as_const_key_span(std::span(keys)), edges)), invalid_argument);
  EXPECT_THROW(static_cast<void>(all.read_share(world_rank() == 0 ? "a.npy" : "b.npy")), invalid_argument);
  EXPECT_TRUE(all.all_know_of_failure());
}

TEST(session_shares, PhasesAreTold) {
  std::vector<std::string> phases;
  mpi::session all(MPI_COMM_WORLD, {.on_phase = [&](std::string_view phase) { phases.emplace_back(phase); }});
  std::vector<std::uint32_t> keys(1000, world_rank());
  all.sort(keys);
  for (const char* const phase : {"opening devices", "checking arguments", "settings", "sizes", "taking memory"}) {
    EXPECT_NE(std::ranges::find(phases, phase), phases.end()) << phase;
  }
}

/// Its failure is told to the others, who may not wait for it in the same place.
TEST(session_shares, AnExceptionOfTheCallbackIsAFailure) {
  const unsigned victim = world_size() - 1;
  const auto fail = [&](std::string_view phase) {
    if (world_rank() == victim && phase == "sizes") throw std::runtime_error("mine");
  };
  std::vector<std::uint32_t> keys(1000, world_rank());
  mpi::session all(MPI_COMM_WORLD, {.on_phase = fail});
  try {
    all.sort(keys);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const cluster_failure& failure) {
    EXPECT_NE(world_rank(), victim);
    EXPECT_EQ(failure.node_rank(), static_cast<int>(victim));
    EXPECT_EQ(failure.phase(), "sizes");
    EXPECT_NE(std::string(failure.what()).find("mine"), std::string::npos) << failure.what();
  } catch (const std::runtime_error& failure) {
    EXPECT_EQ(world_rank(), victim);
    EXPECT_STREQ(failure.what(), "mine");
  }
  EXPECT_FALSE(all.all_know_of_failure());
}

TEST(session_shares, AGoodbyeIsNoFailure) {
  std::atomic<int> num_failures = 0;
  for (int i = 0; i < 20; ++i) {
    const mpi::session all(MPI_COMM_WORLD, {.on_failure = [&](const mpi::failure&) { ++num_failures; }});
    EXPECT_EQ(all.num_nodes(), world_size());
  }
  EXPECT_EQ(num_failures, 0);
}

}  // namespace
}  // namespace spansort
