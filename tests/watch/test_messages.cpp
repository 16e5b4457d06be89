// SPDX-License-Identifier: Apache-2.0
// Messages of the failure watch that are none, and watches whose memory ends while they tell of a failure.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "memory/failing_memory.hpp"
#include "mpi/transport/failure_watch.hpp"
#include "mpi/transport/rendezvous.hpp"
#include "mpi/transport/watch_link.hpp"

namespace {

using namespace spansort::transport;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using spansort::test::failing_memory_scope;

constexpr auto patience = 20s;

template <typename Condition>
bool eventually(Condition&& condition) {
  const auto deadline = clock::now() + patience;
  while (!condition()) {
    if (clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

std::pair<watch_link, watch_link> connected() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {watch_link(socket_handle(ends[0])), watch_link(socket_handle(ends[1]))};
}

std::vector<node_link> links_of(unsigned node_rank, watch_link link) {
  std::vector<node_link> links;
  links.push_back({node_rank, std::move(link)});
  return links;
}

TEST(messages, TextsThatAreNoFailureAreNone) {
  auto [ours, theirs] = connected();
  watch_options options;
  options.heartbeat = 5ms;
  failure_watch watch(0, options);
  watch.start(links_of(1, std::move(ours)));
  for (const char* const text : {"", "1", "1\nsorting", "one\nsorting\nit fell", "1x\nsorting\nit fell", "\n\n"}) {
    theirs.send(frame_kind::failure, text);
  }
  theirs.send(frame_kind::heartbeat, "sorting\tand more");
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(watch.failure());
  theirs.send(frame_kind::failure, "1\nsorting\nit fell\ndown");
  ASSERT_TRUE(eventually([&] { return watch.failure().has_value(); }));
  EXPECT_EQ(watch.failure()->node_rank, 1U);
  EXPECT_EQ(watch.failure()->message(), "node rank 1 failed in phase 'sorting': it fell\ndown");
  // Once there is one, others are not heard, nor said.
  watch.announce_failure("another");
  watch.set_phase("afterwards");
  EXPECT_EQ(watch.failure()->node_rank, 1U);
}

TEST(messages, AConnectionThatIsNotReadKeepsABoundedRest) {
  auto [ours, theirs] = connected();
  const std::string phase(1000, 'p');
  for (int i = 0; i < 2000; ++i) ours.send(frame_kind::heartbeat, phase);
  EXPECT_TRUE(ours.has_unsent());
  std::size_t num_frames = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<frame> frames;
    EXPECT_TRUE(theirs.receive(frames));
    num_frames += frames.size();
    ours.flush();
  }
  EXPECT_FALSE(ours.has_unsent());
  EXPECT_GT(num_frames, 60U);
  EXPECT_LT(num_frames, 2000U);
}

/// Rank 1 says that it has failed while memory ends. Rank 0 hears of it, or sees the connection close.
void announce_without_memory(std::uint64_t nth, bool is_lasting) {
  SCOPED_TRACE("allocation " + std::to_string(nth) + (is_lasting ? " and all behind it" : ""));
  auto [ours, theirs] = connected();
  watch_options options;
  options.heartbeat = 1ms;
  auto host = std::make_unique<failure_watch>(0, options);
  auto other = std::make_unique<failure_watch>(1, options);
  host->start(links_of(1, std::move(ours)));
  other->start(links_of(0, std::move(theirs)));
  other->set_phase("a phase whose name is no short string");
  const auto begin = clock::now();
  {
    const failing_memory_scope scope(nth, is_lasting);
    other->announce_failure("a reason that is no short string either");
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
  EXPECT_TRUE(eventually([&] { return host->failure().has_value(); }));
  other.reset();
  host.reset();
  // Far from the time in which silence is noticed.
  EXPECT_LT(clock::now() - begin, 10s);
}

TEST(messages, AFailureIsMissedOrHeardOfWhateverMemoryEnds) {
  for (std::uint64_t nth = 1; nth <= 12; ++nth) announce_without_memory(nth, false);
  for (std::uint64_t nth = 1; nth <= 6; ++nth) announce_without_memory(nth, true);
}

TEST(messages, AWatchEndsThoughThereIsNoMemoryForItsGoodbye) {
  for (std::uint64_t nth = 1; nth <= 4; ++nth) {
    auto [ours, theirs] = connected();
    auto host = std::make_unique<failure_watch>(0, watch_options{});
    auto other = std::make_unique<failure_watch>(1, watch_options{});
    host->start(links_of(1, std::move(ours)));
    other->start(links_of(0, std::move(theirs)));
    const auto begin = clock::now();
    {
      const failing_memory_scope scope(nth, true);
      other.reset();
    }
    host.reset();
    EXPECT_LT(clock::now() - begin, 10s);
  }
}

}  // namespace
