// SPDX-License-Identifier: Apache-2.0
// Strangers call at the meeting of the ranks, over the loopback: whatever they send, hold open or repeat, the ranks
// meet soon, the secret has been told to nobody, and little was read of what strangers say.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mpi/transport/lobby.hpp"
#include "mpi/transport/rendezvous.hpp"
#include "mpi/transport/watch_link.hpp"
#include "spansort/errors.hpp"

namespace {

using namespace spansort::transport;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto patience = 30s;
/// No stranger may hold up the others for longer; they need milliseconds, on a busy machine some more.
constexpr auto soon = 10s;

sockaddr_in loopback(std::uint16_t port, const char* address = "127.0.0.1") {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  ::inet_pton(AF_INET, address, &where.sin_addr);
  return where;
}

/// A blocking socket that is connected, or closed where the other end does not listen any more. Sending ends after a
/// while: nobody may ever read what is sent to a listener that accepts no more.
socket_handle call(std::uint16_t port) {
  socket_handle made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = 0, .tv_usec = 200000};
  ::setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const sockaddr_in where = loopback(port);
  if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) made.close();
  return made;
}

/// A port of its own for whoever pretends to be rank 0, or stands between.
struct listening {
  socket_handle socket;
  std::uint16_t port = 0;

  explicit listening(const char* address = "127.0.0.1", int flags = 0)
      : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)) {
    sockaddr_in where = loopback(0, address);
    socklen_t size = sizeof where;
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
    EXPECT_EQ(::listen(socket.get(), 100), 0);
    EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&where), &size), 0);
    port = ntohs(where.sin_port);
  }
  [[nodiscard]] socket_handle accept() const { return socket_handle(::accept(socket.get(), nullptr, nullptr)); }
};

bool send_all(int fd, std::string_view bytes) {
  return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

/// Reads what comes until nothing has for `silence`, or the end.
std::string read_for(int fd, std::chrono::milliseconds silence) {
  std::string all;
  std::array<char, 4096> chunk;
  pollfd wanted{fd, POLLIN, 0};
  while (::poll(&wanted, 1, static_cast<int>(silence.count())) > 0) {
    const ssize_t got = ::recv(fd, chunk.data(), chunk.size(), 0);
    if (got <= 0) break;
    all.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return all;
}

/// Ranks 1 and 2 meet rank 0 while `strangers` threads run `attack(port, is_over)` again and again.
void expect_meeting(unsigned strangers, const std::function<void(std::uint16_t, const std::atomic<bool>&)>& attack) {
  rendezvous_host host(true);
  std::atomic<bool> is_over = false;
  std::vector<std::future<void>> attacks;
  for (unsigned i = 0; i < strangers; ++i) {
    attacks.push_back(std::async(std::launch::async, [&] {
      while (!is_over) attack(host.point().port, is_over);
    }));
  }
  const auto begin = clock::now();
  const auto connect = [&](unsigned r) {
    std::this_thread::sleep_for(300ms);
    return connect_to_host(host.point(), r, patience);
  };
  auto rank_1 = std::async(std::launch::async, connect, 1);
  auto rank_2 = std::async(std::launch::async, connect, 2);
  std::vector<node_link> links;
  EXPECT_NO_THROW(links = host.accept_nodes(3, patience));
  EXPECT_LT(clock::now() - begin, soon);
  EXPECT_EQ(links.size(), 2);
  EXPECT_NO_THROW(rank_1.get());
  EXPECT_NO_THROW(rank_2.get());
  is_over = true;
}

TEST(strangers, EndlessMessagesAreNotRead) {
  std::atomic<std::size_t> most_bytes = 0;
  expect_meeting(2, [&](std::uint16_t port, const std::atomic<bool>& is_over) {
    const socket_handle caller = call(port);
    // Heartbeats without text, many at once.
    std::string frames;
    for (int i = 0; i < 10000; ++i) frames += std::string("\2\0\0\0\0", 5);
    std::size_t num_bytes = 0;
    while (!is_over && caller.is_open() && send_all(caller.get(), frames)) num_bytes += frames.size();
    if (num_bytes > most_bytes) most_bytes = num_bytes;
  });
  // The kernel takes some bytes before the connection is reset.
  EXPECT_LT(most_bytes, std::size_t{16} << 20);
}

TEST(strangers, GarbageIsNoHello) {
  expect_meeting(2, [](std::uint16_t port, const std::atomic<bool>&) {
    const socket_handle caller = call(port);
    send_all(caller.get(), std::string(1000, '\xff'));
    send_all(caller.get(), "GET / HTTP/1.1\r\n\r\n");
    // Faster calls fill the kernel's queue, and whom it turns away tries again after a second.
    std::this_thread::sleep_for(1ms);
  });
}

TEST(strangers, HeldConnectionsAndHalfHellosAreDropped) {
  std::atomic<int> num_dropped = 0;
  expect_meeting(1, [&](std::uint16_t port, const std::atomic<bool>& is_over) {
    std::vector<socket_handle> held;
    for (int i = 0; i < 300 && !is_over; ++i) {
      held.push_back(call(port));
      if (i % 2 == 0) send_all(held.back().get(), "\1\0\0\0half");
    }
    std::this_thread::sleep_for(100ms);
    for (const socket_handle& each : held) {
      std::array<char, 100> bytes;
      pollfd wanted{each.get(), POLLIN, 0};
      while (::poll(&wanted, 1, 0) > 0 && ::recv(each.get(), bytes.data(), bytes.size(), 0) > 0) continue;
      num_dropped += (wanted.revents & (POLLHUP | POLLERR | POLLIN)) != 0 ? 1 : 0;
    }
  });
  EXPECT_GT(num_dropped, 0);
}

TEST(strangers, ASlowHelloIsDropped) {
  const listening at("127.0.0.1", SOCK_NONBLOCK);
  lobby callers(at.socket, random_secret(), 2, 200ms);
  const socket_handle slow = call(at.port);
  const auto begin = clock::now();
  auto serving = std::async(std::launch::async, [&] {
    // The time of a call counts from when it is accepted, however often a byte comes.
    while (clock::now() - begin < 600ms) callers.serve(clock::now() + 20ms);
  });
  while (send_all(slow.get(), std::string(1, '\0')) && clock::now() - begin < patience)
    std::this_thread::sleep_for(10ms);
  const auto heard = clock::now() - begin;
  serving.get();
  EXPECT_GE(heard, 200ms);
  EXPECT_LT(heard, soon);
  EXPECT_TRUE(callers.known().empty());
}

TEST(strangers, RanksMeetThoughDescriptorsRunOut) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<socket_handle> held;
  {
    rendezvous_host host(true);
    for (int i = 0; i < 100; ++i) held.push_back(call(host.point().port));
    // Ranks connect by descriptors that are free below, callers are accepted by those that are left then.
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(held.back().get()) + 10;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    auto rank_1 = std::async(std::launch::async, [&] { return connect_to_host(host.point(), 1, patience); });
    const auto begin = clock::now();
    EXPECT_NO_THROW(EXPECT_EQ(host.accept_nodes(2, patience).size(), 1));
    EXPECT_LT(clock::now() - begin, soon);
    EXPECT_NO_THROW(rank_1.get());
  }
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(strangers, AHostWithoutAnyDescriptorWaitsWithoutSpinning) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rendezvous_host host(true);
  const socket_handle caller = call(host.point().port);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(caller.get()) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  timespec begin{};
  timespec end{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  EXPECT_THROW(static_cast<void>(host.accept_nodes(2, 300ms)), spansort::io_error);
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  const double cpu_s =
      static_cast<double>(end.tv_sec - begin.tv_sec) + 1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
  EXPECT_LT(cpu_s, 0.15);
}

/// Passes bytes on in both directions until both ends are closed, and keeps them.
struct overheard {
  std::string from_caller;
  std::string from_host;
};

overheard relay_once(const listening& between, std::uint16_t to_port) {
  overheard all;
  const socket_handle caller = between.accept();
  const socket_handle host = call(to_port);
  std::array<pollfd, 2> wanted{{{caller.get(), POLLIN, 0}, {host.get(), POLLIN, 0}}};
  const auto pass = [&](int from, int to, std::string& kept) {
    std::array<char, 4096> chunk;
    const ssize_t got = ::recv(from, chunk.data(), chunk.size(), 0);
    if (got <= 0) return false;
    kept.append(chunk.data(), static_cast<std::size_t>(got));
    return send_all(to, {chunk.data(), static_cast<std::size_t>(got)});
  };
  while (::poll(wanted.data(), wanted.size(), 5000) > 0) {
    if (wanted[0].revents != 0 && !pass(caller.get(), host.get(), all.from_caller)) break;
    if (wanted[1].revents != 0 && !pass(host.get(), caller.get(), all.from_host)) break;
  }
  return all;
}

TEST(strangers, WhoeverAnswersElsewhereCannotPassTheGreetingOn) {
  rendezvous_host host(true);
  const listening between("127.0.0.2");
  rendezvous_point wrong = host.point();
  wrong.addresses = {"127.0.0.2"};
  wrong.port = between.port;
  auto relayed = std::async(std::launch::async, [&] { return relay_once(between, host.point().port); });
  auto deceived = std::async(std::launch::async, [&] {
    EXPECT_THROW(static_cast<void>(connect_to_host(wrong, 1, 0ms)), spansort::io_error);
    return connect_to_host(host.point(), 1, soon);
  });
  EXPECT_EQ(host.accept_nodes(2, patience).size(), 1);
  // The call that was passed on has not been taken for rank 1: that would have ended the wait before the true one.
  EXPECT_NO_THROW(deceived.get());
  EXPECT_FALSE(relayed.get().from_caller.empty());
}

TEST(strangers, AGreetingCannotBeSaidTwice) {
  rendezvous_host host(true);
  const listening between;
  rendezvous_point by_way = host.point();
  by_way.port = between.port;
  auto overhearing = std::async(std::launch::async, [&] { return relay_once(between, host.point().port); });
  auto calls = std::async(std::launch::async, [&] {
    EXPECT_THROW(static_cast<void>(connect_to_host(by_way, 1, 0ms)), spansort::io_error);
    const std::string hello = overhearing.get().from_caller;
    EXPECT_FALSE(hello.empty());
    for (int i = 0; i < 20; ++i) {
      const socket_handle caller = call(host.point().port);
      send_all(caller.get(), hello);
      // The challenge comes, and nothing behind it.
      EXPECT_LE(read_for(caller.get(), patience).size(), 24);
    }
    return connect_to_host(host.point(), 1, soon);
  });
  EXPECT_EQ(host.accept_nodes(2, patience).size(), 1);
  EXPECT_NO_THROW(calls.get());
}

/// Returns what a caller tells whoever answers at a listed address, who sends `answer` and then nothing, or more of it.
std::string told_to(const std::string& answer, bool is_endless, clock::duration& took) {
  rendezvous_host true_host(true);
  const listening pretender;
  rendezvous_point wrong = true_host.point();
  wrong.port = pretender.port;
  const auto begin = clock::now();
  auto caller = std::async(std::launch::async, [&] { return connect_to_host(wrong, 1, 0ms); });
  std::string told;
  {
    const socket_handle connection = pretender.accept();
    bool is_open = true;
    do is_open = send_all(connection.get(), answer);
    while (is_endless && is_open && clock::now() - begin < patience);
    told = read_for(connection.get(), 500ms);
  }
  EXPECT_THROW(caller.get(), spansort::io_error);
  took = clock::now() - begin;
  const std::string secret = true_host.point().to_text().substr(0, 32);
  EXPECT_EQ(told.find(secret), std::string::npos);
  return told;
}

TEST(strangers, PretendersLearnNothingAndHoldNobodyUp) {
  clock::duration took{};
  EXPECT_EQ(told_to("", false, took), "");
  EXPECT_LT(took, soon);
  EXPECT_EQ(told_to("SSH-2.0-OpenSSH_9.2p1 and so on and on\r\n", false, took), "");
  EXPECT_LT(took, soon);
  EXPECT_EQ(told_to(std::string(100000, '\2'), true, took), "");
  EXPECT_LT(took, soon);
  // The right word, and a welcome that is wrong.
  EXPECT_LE(told_to("spnsort1" + std::string(16 + 32, 'x'), false, took).size(), 52);
  EXPECT_LT(took, soon);
}

TEST(strangers, ARankThatSendsVeryMuchDoesNotHoldUpTheWatch) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  watch_link link{socket_handle(ends[0])};
  std::atomic<bool> is_over = false;
  auto flood = std::async(std::launch::async, [&] {
    const std::string frames(5 * 10000, '\0');
    while (!is_over) ::send(ends[1], frames.data(), frames.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  });
  for (int i = 0; i < 100; ++i) {
    std::vector<frame> frames;
    EXPECT_TRUE(link.receive(frames));
    EXPECT_LE(frames.size(), 20000);
  }
  is_over = true;
  flood.get();
  ::close(ends[1]);
}

}  // namespace
