// SPDX-License-Identifier: Apache-2.0
// A rank that announces its failure ends every operation that the others are in. What no rank survives is in
// test_failure.py.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "mpi/transport/exchange_bytes.hpp"
#include "mpi/transport/mpi_handle.hpp"
#include "spansort/errors.hpp"

namespace {

using namespace spansort::transport;

struct operation {
  std::string name;
  std::function<void(node_group&, unsigned victim)> run;  ///< cannot end while the victim does not take part
};

void PrintTo(const operation& o, std::ostream* out) { *out << o.name; }

void exchange_with(node_group& group, unsigned victim) {
  std::vector<std::byte> memory(4000);
  const std::vector<incoming_part> in{{victim, memory.data(), memory.size()}};
  exchange_bytes(group, {}, in, {1000, 2, {}});
}

const std::vector<std::uint64_t> two{1, 2};

const operation operations[] = {
    {"all_gather", [](node_group& group, unsigned) { static_cast<void>(group.all_gather(two)); }},
    {"all_gather_varying", [](node_group& group, unsigned) { static_cast<void>(group.all_gather_varying(two)); }},
    {"all_gather_strings", [](node_group& group, unsigned) { static_cast<void>(group.all_gather_strings("text")); }},
    {"all_reduce_sum", [](node_group& group, unsigned) { static_cast<void>(group.all_reduce_sum(two)); }},
    {"all_to_all",
     [](node_group& group, unsigned) {
       static_cast<void>(group.all_to_all(std::vector<std::uint64_t>(group.num_nodes())));
     }},
    {"barrier", [](node_group& group, unsigned) { group.barrier(); }},
    {"exchange", exchange_with},
    {"computing",
     [](node_group& group, unsigned) {
       while (true) group.check();
     }},
};

class announced_failure : public testing::TestWithParam<operation> {};

INSTANTIATE_TEST_SUITE_P(in, announced_failure, testing::ValuesIn(operations), testing::PrintToStringParamName());

TEST_P(announced_failure, EndsItOnAllRanks) {
  int num_nodes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &num_nodes);
  for (unsigned victim = 0; victim < static_cast<unsigned>(num_nodes); ++victim) {
    std::atomic<unsigned> num_calls = 0;
    group_options options;
    options.watch.on_failure = [&](const node_failure& failure) {
      EXPECT_EQ(failure.node_rank, victim);
      ++num_calls;
    };
    std::optional<node_failure> known;
    {
      const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD, options);
      group->set_phase("phase\nof rank " + std::to_string(group->node_rank()));
      if (group->node_rank() == victim) {
        group->announce_failure("the disk\nis full");
        EXPECT_THROW(group->check(), spansort::cluster_failure);
      } else {
        EXPECT_THROW(GetParam().run(*group, victim), spansort::cluster_failure);
      }
      known = group->watch().failure();
      group->leave();
      EXPECT_EQ(num_calls, group->node_rank() == victim ? 0 : 1);
    }
    ASSERT_TRUE(known.has_value());
    EXPECT_EQ(known->node_rank, victim);
    EXPECT_EQ(known->phase, "phase of rank " + std::to_string(victim));
    EXPECT_EQ(known->reason, "the disk\nis full");
  }
}

TEST(failures, AnExceptionThatPassesTheGroupIsAnnounced) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD);
    if (rank == 0) throw std::runtime_error("mine");
    group->barrier();
    FAIL() << "a barrier without rank 0";
  } catch (const spansort::cluster_failure& failure) {
    EXPECT_NE(rank, 0);
    EXPECT_EQ(failure.node_rank(), 0);
    EXPECT_EQ(failure.exit_status(), 7);
  } catch (const std::runtime_error&) {
    EXPECT_EQ(rank, 0);
  }
}

TEST(failures, AfterLeavingNothingIsAFailure) {
  const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD);
  group->leave();
  group->leave();
  group->announce_failure("too late to matter");
  group->set_phase("too late as well");
  EXPECT_FALSE(group->watch().failure().has_value());
  EXPECT_NO_THROW(group->check());
}

TEST(failures, OfSeveralOneIsHeardOfByAll) {
  const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD);
  // Longer than any message may be.
  group->announce_failure(std::string(100'000, 'x'));
  const std::optional<node_failure> known = group->watch().failure();
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->reason, std::string(3000, 'x'));
}

}  // namespace
