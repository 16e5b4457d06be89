// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/lobby.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>

namespace spansort::transport {
namespace {

using std::chrono::milliseconds;

/// A caller is heard at least max_callers / max_accepted times before it can be the one that has waited longest.
constexpr std::size_t most_callers = 256;
constexpr unsigned max_accepted = 32;

/// The program may need descriptors for more than callers.
std::size_t allowed_callers() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return most_callers;
  return std::clamp<std::size_t>(limit.rlim_cur / 4, 1, most_callers);
}

/// The little that is sent fits into a new connection's buffer, or the other end is none of ours.
bool send_whole(int fd, std::span<const unsigned char> message) {
  return ::send(fd, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(message.size());
}

}  // namespace

lobby::lobby(const socket_handle& listener, const job_secret& secret, unsigned num_nodes, milliseconds hello_limit)
    : listener_(listener),
      secret_(secret),
      num_nodes_(num_nodes),
      hello_limit_(hello_limit),
      max_callers_(allowed_callers()) {}

void lobby::drop_the_slow() {
  const clock::time_point now = clock::now();
  std::erase_if(callers_, [now](const caller& each) { return each.drop_time <= now; });
}

int lobby::wait_ms(clock::time_point deadline) const {
  // Descriptors that others hold come back without a word.
  constexpr milliseconds retry{10};
  if (!callers_.empty()) deadline = std::min(deadline, callers_.front().drop_time);
  if (is_out_of_descriptors_) deadline = std::min(deadline, clock::now() + retry);
  const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000));
}

void lobby::serve(clock::time_point deadline) {
  drop_the_slow();
  // poll() passes over descriptors of -1. A caller that cannot be accepted would have it return at once for ever.
  std::vector<pollfd> wanted{{is_out_of_descriptors_ ? -1 : listener_.get(), POLLIN, 0}};
  for (const caller& each : callers_) wanted.push_back({each.socket.get(), POLLIN, 0});
  if (::poll(wanted.data(), wanted.size(), wait_ms(deadline)) < 0) return;
  std::size_t next = 0;
  std::erase_if(callers_, [&](caller& each) { return wanted[++next].revents != 0 && !listen_to(each); });
  accept_some();
}

/// Returns whether to keep waiting for what the caller says. Nothing behind the hello is read.
bool lobby::listen_to(caller& from) {
  const std::span<unsigned char> rest = std::span(from.hello).subspan(from.num_bytes);
  const ssize_t got = ::recv(from.socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (got == 0) return false;
  from.num_bytes += static_cast<std::size_t>(got);
  return from.num_bytes < from.hello.size() || welcome(from);
}

/// Returns false: the caller is a stranger, or has become known.
bool lobby::welcome(caller& from) {
  const std::optional<meeting_place> place = own_place(from.socket.get());
  if (!place) return false;
  const std::optional<greeting_facts> facts = check_hello(from.hello, secret_, from.hosts_nonce, *place);
  if (!facts || facts->node_rank == 0 || facts->node_rank >= num_nodes_) return false;
  if (!send_whole(from.socket.get(), make_welcome(secret_, *facts))) return false;
  // A node rank that comes again has given up its first connection.
  std::erase_if(known_, [&](const node_link& link) { return link.node_rank == facts->node_rank; });
  known_.push_back({facts->node_rank, watch_link(std::move(from.socket))});
  return false;
}

void lobby::accept_some() {
  is_out_of_descriptors_ = false;
  for (unsigned i = 0; i < max_accepted; ++i) {
    socket_handle next(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (next.is_open()) {
      challenge(std::move(next));
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    // No descriptor or no memory is left.
    is_out_of_descriptors_ = callers_.empty();
    if (!callers_.empty()) callers_.erase(callers_.begin());
    return;
  }
}

void lobby::challenge(socket_handle socket) {
  const int on = 1;
  // A failure costs milliseconds at most.
  static_cast<void>(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  const greeting_nonce nonce = random_nonce();
  if (!send_whole(socket.get(), make_challenge(nonce))) return;
  if (callers_.size() >= max_callers_) callers_.erase(callers_.begin());
  callers_.push_back({std::move(socket), nonce, clock::now() + hello_limit_});
}

}  // namespace spansort::transport
