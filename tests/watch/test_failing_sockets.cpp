// SPDX-License-Identifier: Apache-2.0
// Each socket call of a meeting and of a watch fails, at its first, second, ... time, once and from then on: ranks meet
// all the same or say why not, in time, and no descriptor stays open.
#include <dirent.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mpi/transport/failure_watch.hpp"
#include "mpi/transport/rendezvous.hpp"
#include "mpi/transport/watch_link.hpp"
#include "spansort/errors.hpp"
#include "watch/failing_sockets.hpp"

namespace {

using namespace spansort::transport;
using namespace std::chrono_literals;
using spansort::test::failing_socket_scope;
using spansort::test::socket_call;
using clock = std::chrono::steady_clock;

/// How long ranks try to meet. Some failures are only seen by that.
constexpr auto limit = 300ms;
/// An address may take a second to answer where there is less time.
constexpr auto soon = 15s;

int count_descriptors() {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

/// Two ranks meet. Returns what the one that could not says first, "" where both have a connection.
std::string meet(bool is_one_host) {
  std::optional<rendezvous_host> host;
  try {
    host.emplace(is_one_host);
  } catch (const spansort::io_error& failure) {
    return failure.what();
  }
  const rendezvous_point point = host->point();
  auto caller = std::async(std::launch::async, [&] { return connect_to_host(point, 1, limit); });
  std::string problem;
  std::vector<node_link> links;
  try {
    links = host->accept_nodes(2, limit);
    EXPECT_EQ(links.size(), 1);
  } catch (const spansort::io_error& failure) {
    problem = failure.what();
  }
  // A client that still calls hears that nobody answers.
  host.reset();
  try {
    const node_link link = caller.get();
    EXPECT_TRUE(link.connection.is_open());
  } catch (const spansort::io_error& failure) {
    if (problem.empty()) problem = failure.what();
  }
  return problem;
}

class failing_socket_test : public testing::TestWithParam<unsigned> {};

TEST_P(failing_socket_test, RanksMeetOrSayWhyNot) {
  const auto which = static_cast<socket_call>(GetParam());
  static_cast<void>(meet(true));  // what libraries keep from their first use on
  const int before = count_descriptors();
  unsigned num_struck = 0;
  for (const int error : {ECONNRESET, EINTR, EMFILE}) {
    for (const bool is_lasting : {false, true}) {
      // EINTR for ever is no error that there is.
      if (error == EINTR && is_lasting) continue;
      bool is_struck = true;
      for (unsigned nth = 1; nth <= 4 && is_struck; ++nth) {
        SCOPED_TRACE("call " + std::to_string(nth) + ", error " + std::to_string(error));
        const auto begin = clock::now();
        std::string problem;
        {
          const failing_socket_scope scope(which, nth, error, is_lasting);
          // Interfaces are asked for where there are several hosts.
          problem = meet(nth % 2 == 1 && which != socket_call::getifaddrs);
          is_struck = failing_socket_scope::has_failed();
        }
        num_struck += is_struck ? 1 : 0;
        EXPECT_LT(clock::now() - begin, soon);
        EXPECT_TRUE(problem.empty() || problem.starts_with("failure watch: ")) << problem;
        EXPECT_EQ(count_descriptors(), before);
      }
    }
  }
  const bool is_of_meetings = which != socket_call::eventfd;
  EXPECT_EQ(num_struck != 0, is_of_meetings);
  // Unharmed they meet: a failure before has left nothing behind.
  EXPECT_EQ(meet(true), "");
}

TEST_P(failing_socket_test, AWatchEndsOrGoesOn) {
  const auto which = static_cast<socket_call>(GetParam());
  for (const int error : {ECONNRESET, EINTR}) {
    for (unsigned nth = 1; nth <= 3; ++nth) {
      SCOPED_TRACE("call " + std::to_string(nth) + ", error " + std::to_string(error));
      rendezvous_host host(true);
      auto caller = std::async(std::launch::async, [&] { return connect_to_host(host.point(), 1, soon); });
      std::vector<node_link> of_host = host.accept_nodes(2, soon);
      std::vector<node_link> of_caller;
      of_caller.push_back(caller.get());
      watch_options options;
      options.heartbeat_timeout = 2s;
      options.heartbeat = 5ms;
      auto first = std::make_unique<failure_watch>(0, options);
      auto second = std::make_unique<failure_watch>(1, options);
      const auto begin = clock::now();
      const failing_socket_scope scope(which, nth, error, false);
      try {
        first->start(std::move(of_host));
        second->start(std::move(of_caller));
        second->set_phase("working");
        std::this_thread::sleep_for(30ms);
      } catch (const spansort::io_error& failure) {
        EXPECT_EQ(which, socket_call::eventfd) << failure.what();
      }
      // Node rank 0 finds the other's failure, and tells it to the other, too.
      const auto of_first = first->failure();
      const auto of_second = second->failure();
      EXPECT_TRUE(!of_first || of_first->node_rank == 1) << of_first->message();
      EXPECT_TRUE(!of_second || of_second->node_rank <= 1) << of_second->message();
      EXPECT_FALSE(error == EINTR && which != socket_call::eventfd && (of_first || of_second));
      second.reset();
      first.reset();
      EXPECT_LT(clock::now() - begin, soon);
    }
  }
}

std::string name_of(const testing::TestParamInfo<unsigned>& info) {
  static constexpr std::array<const char*, spansort::test::num_socket_calls> names{
      "socket",  "bind",       "listen", "getsockname", "getpeername", "getifaddrs", "accept",
      "connect", "getsockopt", "send",   "recv",        "poll",        "eventfd"};
  return names[info.param];
}

INSTANTIATE_TEST_SUITE_P(calls, failing_socket_test, testing::Range(0U, spansort::test::num_socket_calls), name_of);

TEST(sockets, RanksMeetByIPv6) {
  rendezvous_point point;
  std::optional<rendezvous_host> host;
  try {
    host.emplace(false);
  } catch (const spansort::io_error&) {
    GTEST_SKIP() << "this machine has no network but the loopback";
  }
  point = host->point();
  point.addresses = {"not an address", "::1"};
  auto caller = std::async(std::launch::async, [&] { return connect_to_host(point, 1, 5s); });
  std::vector<node_link> links;
  try {
    links = host->accept_nodes(2, 5s);
  } catch (const spansort::io_error&) {
    EXPECT_THROW(static_cast<void>(caller.get()), spansort::io_error);
    GTEST_SKIP() << "this machine has no IPv6";
  }
  EXPECT_EQ(links.size(), 1);
  EXPECT_TRUE(caller.get().connection.is_open());
}

}  // namespace
