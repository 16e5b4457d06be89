// SPDX-License-Identifier: Apache-2.0
// Failure watches of several ranks in one process, over the loopback: how they meet, what they hear of each other, and
// what they make of strangers and of silence.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "mpi/transport/failure_watch.hpp"
#include "mpi/transport/rendezvous.hpp"
#include "mpi/transport/watch_link.hpp"
#include "spansort/errors.hpp"

namespace {

using namespace spansort::transport;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto patience = 20s;

/// Returns whether `condition` comes true in time.
template <typename Condition>
bool eventually(Condition&& condition) {
  const auto deadline = clock::now() + patience;
  while (!condition()) {
    if (clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// The connections of all ranks: of rank 0 first.
std::vector<std::vector<node_link>> connect_all(unsigned num_nodes) {
  rendezvous_host host(true);
  std::vector<std::future<node_link>> others;
  for (unsigned r = 1; r < num_nodes; ++r) {
    others.push_back(std::async(std::launch::async, [&, r] { return connect_to_host(host.point(), r, patience); }));
  }
  std::vector<std::vector<node_link>> all(num_nodes);
  all[0] = host.accept_nodes(num_nodes, patience);
  for (unsigned r = 1; r < num_nodes; ++r) all[r].push_back(others[r - 1].get());
  return all;
}

/// A watch of every rank.
struct cluster {
  explicit cluster(unsigned num_nodes, const watch_options& options = {}) {
    std::vector<std::vector<node_link>> links = connect_all(num_nodes);
    for (unsigned r = 0; r < num_nodes; ++r) {
      ranks.push_back(std::make_unique<failure_watch>(r, options));
      ranks.back()->start(std::move(links[r]));
    }
  }
  /// Rank 0 waits for the others, so they go first.
  ~cluster() {
    while (!ranks.empty()) ranks.pop_back();
  }
  std::vector<std::unique_ptr<failure_watch>> ranks;
};

watch_options quick() {
  watch_options options;
  options.heartbeat_timeout = 400ms;
  return options;
}

TEST(watch, HealthyRanksHearOfNoFailure) {
  // Not as quick as the others: on a busy machine a thread may wait for half a second.
  watch_options options;
  options.heartbeat_timeout = 1500ms;
  cluster all(4, options);
  for (auto& rank : all.ranks) rank->set_phase("sorting");
  std::this_thread::sleep_for(2s);
  for (auto& rank : all.ranks) {
    EXPECT_FALSE(rank->failure().has_value());
    EXPECT_NO_THROW(rank->check());
  }
}

TEST(watch, EveryRanksAnnouncementReachesAll) {
  for (unsigned victim = 0; victim < 4; ++victim) {
    std::atomic<unsigned> num_calls = 0;
    watch_options options;
    options.on_failure = [&](const node_failure&) { ++num_calls; };
    cluster all(4, options);
    all.ranks[victim]->set_phase("writing");
    all.ranks[victim]->announce_failure("disk full");
    for (auto& rank : all.ranks) {
      ASSERT_TRUE(eventually([&] { return rank->failure().has_value(); }));
      EXPECT_EQ(rank->failure()->message(),
                "node rank " + std::to_string(victim) + " failed in phase 'writing': disk full");
      EXPECT_THROW(rank->check(), spansort::cluster_failure);
    }
    EXPECT_TRUE(eventually([&] { return num_calls == 3; }));
  }
}

TEST(watch, AConnectionThatEndsIsAFailureAndAGoodbyeIsNone) {
  for (unsigned victim = 0; victim < 3; ++victim) {
    std::vector<std::vector<node_link>> links = connect_all(3);
    std::vector<std::unique_ptr<failure_watch>> ranks;
    for (unsigned r = 0; r < 3; ++r) {
      ranks.push_back(std::make_unique<failure_watch>(r, watch_options{}));
      if (r != victim) ranks[r]->start(std::move(links[r]));
    }
    for (node_link& link : links[victim]) link.connection.send(frame_kind::heartbeat, "dying");
    links[victim].clear();
    for (unsigned r = 0; r < 3; ++r) {
      if (r == victim) continue;
      ASSERT_TRUE(eventually([&] { return ranks[r]->failure().has_value(); })) << r;
      EXPECT_EQ(ranks[r]->failure()->node_rank, victim);
      EXPECT_EQ(ranks[r]->failure()->phase, "dying");
    }
  }
}

TEST(watch, SilenceIsAFailureAfterTheLimitAndNotBefore) {
  for (unsigned silent = 0; silent < 3; ++silent) {
    std::vector<std::vector<node_link>> links = connect_all(3);
    std::vector<std::unique_ptr<failure_watch>> ranks;
    const auto begin = clock::now();
    for (unsigned r = 0; r < 3; ++r) {
      ranks.push_back(std::make_unique<failure_watch>(r, quick()));
      if (r != silent) ranks[r]->start(std::move(links[r]));
    }
    for (unsigned r = 0; r < 3; ++r) {
      if (r == silent) continue;
      ASSERT_TRUE(eventually([&] { return ranks[r]->failure().has_value(); })) << r;
      EXPECT_EQ(ranks[r]->failure()->node_rank, silent);
      EXPECT_EQ(ranks[r]->failure()->reason, "nothing was heard of it for 0.4 s");
    }
    EXPECT_GE(clock::now() - begin, 400ms);
  }
}

TEST(watch, WhatIsNoMessageEndsTheConnection) {
  for (const std::string& garbage : {std::string(100, '\xff'), std::string("\2\xff\xff\xff\xff", 5)}) {
    std::vector<std::vector<node_link>> links = connect_all(2);
    failure_watch rank_0(0, {});
    rank_0.start(std::move(links[0]));
    ASSERT_EQ(::send(links[1][0].connection.fd(), garbage.data(), garbage.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(garbage.size()));
    EXPECT_TRUE(eventually([&] { return rank_0.failure().has_value(); }));
  }
}

TEST(watch, Rank0WaitsForTheOthersToLeave) {
  cluster all(3);
  std::atomic<bool> has_left = false;
  auto leaving = std::async(std::launch::async, [&] {
    all.ranks[0]->leave();
    has_left = true;
  });
  all.ranks[1]->leave();
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(has_left);
  all.ranks[2]->leave();
  EXPECT_EQ(leaving.wait_for(patience), std::future_status::ready);
  for (auto& rank : all.ranks) EXPECT_FALSE(rank->failure().has_value());
}

TEST(watch, AFailureWhileRank0IsLeavingIsStillHeardOf) {
  cluster all(3);
  auto leaving = std::async(std::launch::async, [&] { all.ranks[0]->leave(); });
  std::this_thread::sleep_for(20ms);
  all.ranks[1]->announce_failure("late");
  EXPECT_EQ(leaving.wait_for(patience), std::future_status::ready);
  EXPECT_TRUE(eventually([&] { return all.ranks[2]->failure().has_value(); }));
  EXPECT_TRUE(all.ranks[0]->failure().has_value());
}

TEST(watch, ARankAloneNeedsNothing) {
  failure_watch alone(0, {});
  alone.set_phase("sorting");
  alone.start({});
  EXPECT_FALSE(alone.failure().has_value());
  EXPECT_EQ(alone.phase(), "sorting");
}

TEST(rendezvous, StrangersAreTurnedAwayAndDoNotHoldUp) {
  rendezvous_host host(true);
  rendezvous_point wrong = host.point();
  wrong.secret[0] ^= 1;
  auto stranger = std::async(std::launch::async, [&] { return connect_to_host(wrong, 1, 0ms); });
  auto too_high = std::async(std::launch::async, [&] { return connect_to_host(host.point(), 2, 0ms); });
  auto rank_1 = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(200ms);
    return connect_to_host(host.point(), 1, patience);
  });
  const std::vector<node_link> links = host.accept_nodes(2, patience);
  ASSERT_EQ(links.size(), 1);
  EXPECT_EQ(links[0].node_rank, 1);
  EXPECT_NO_THROW(rank_1.get());
  EXPECT_THROW(stranger.get(), spansort::io_error);
  EXPECT_THROW(too_high.get(), spansort::io_error);
}

TEST(rendezvous, RanksThatDoNotComeAreNamed) {
  rendezvous_host host(true);
  try {
    static_cast<void>(host.accept_nodes(3, 100ms));
    FAIL() << "nobody had connected";
  } catch (const spansort::io_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("node rank 1, 2 in 100 ms"), std::string::npos) << failure.what();
  }
}

TEST(rendezvous, EveryAddressIsTriedAndNamed) {
  rendezvous_host host(true);
  rendezvous_point point = host.point();
  point.addresses = {"nonsense", "::ffff:127.0.0.2", "127.0.0.3"};
  try {
    static_cast<void>(connect_to_host(point, 1, 0ms));
    FAIL() << "nobody listens there";
  } catch (const spansort::io_error& failure) {
    for (const std::string& address : point.addresses) {
      EXPECT_NE(std::string(failure.what()).find(address + " port"), std::string::npos) << failure.what();
    }
  }
  point.addresses.push_back("127.0.0.1");
  auto rank_1 = std::async(std::launch::async, [&] { return connect_to_host(point, 1, patience); });
  EXPECT_EQ(host.accept_nodes(2, patience).size(), 1);
  EXPECT_NO_THROW(rank_1.get());
}

TEST(rendezvous, OverTheNetworkWhereThereIsOne) {
  std::unique_ptr<rendezvous_host> host;
  try {
    host = std::make_unique<rendezvous_host>(false);
  } catch (const spansort::io_error& failure) {
    GTEST_SKIP() << failure.what();
  }
  auto rank_1 = std::async(std::launch::async, [&] { return connect_to_host(host->point(), 1, patience); });
  EXPECT_EQ(host->accept_nodes(2, patience).size(), 1);
  EXPECT_NO_THROW(rank_1.get());
}

TEST(rendezvous, PointsSurviveTheirText) {
  const rendezvous_point point{{"10.0.0.1", "fd00::1"}, 65535, random_secret()};
  const rendezvous_point copy = rendezvous_point::from_text(point.to_text());
  EXPECT_EQ(copy.addresses, point.addresses);
  EXPECT_EQ(copy.port, point.port);
  EXPECT_EQ(copy.secret, point.secret);
}

}  // namespace
