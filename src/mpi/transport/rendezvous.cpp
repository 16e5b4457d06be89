// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/rendezvous.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <sstream>
#include <system_error>
#include <thread>

#include "mpi/transport/lobby.hpp"
#include "spansort/errors.hpp"

namespace spansort::transport {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The time in which a connection is to be made and answered, by one address; the shortest where there is less.
constexpr milliseconds answer_limit{5000};
constexpr milliseconds shortest_answer_limit{1000};

std::string error_text(int code) { return std::generic_category().message(code); }

[[noreturn]] void throw_errno(const char* what) {
  const int code = errno;
  throw io_error(fmt::format("failure watch: cannot {}: {}", what, error_text(code)), code);
}

int milliseconds_until(clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000));
}

void send_at_once(int fd) {
  const int on = 1;
  // Only a matter of milliseconds when it fails.
  static_cast<void>(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
}

// ---- addresses

struct socket_address {
  sockaddr_storage storage{};
  socklen_t size_bytes = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

template <typename T>
socket_address to_socket_address(const T& concrete) {
  socket_address address;
  std::memcpy(&address.storage, &concrete, sizeof concrete);
  address.size_bytes = sizeof concrete;
  return address;
}

/// Numeric text, IPv4 or IPv6; nothing when it is neither.
std::optional<socket_address> parse_address(const std::string& text, std::uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) return to_socket_address(v4);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) return to_socket_address(v6);
  return std::nullopt;
}

/// Nothing for families other than IP, and for link-local ones, which mean nothing on another host.
std::optional<std::string> address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto size = static_cast<socklen_t>(text.size());
  if (address->sa_family == AF_INET) {
    const in_addr& v4 = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    return std::string(::inet_ntop(AF_INET, &v4, text.data(), size));
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (IN6_IS_ADDR_LINKLOCAL(&v6)) return std::nullopt;
  return std::string(::inet_ntop(AF_INET6, &v6, text.data(), size));
}

std::vector<std::string> outside_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) throw_errno("list the network interfaces");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, &::freeifaddrs);
  std::vector<std::string> texts;
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    const bool is_usable = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_usable || entry->ifa_addr == nullptr) continue;
    if (std::optional<std::string> text = address_text(entry->ifa_addr)) texts.push_back(std::move(*text));
  }
  return texts;
}

// ---- listening

socket_handle open_socket(int family) {
  socket_handle made(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (made.is_open()) send_at_once(made.get());
  return made;
}

socket_handle listen_at(const socket_address& address) {
  socket_handle made = open_socket(address.storage.ss_family);
  if (!made.is_open()) return made;
  const int off = 0;
  // IPv4 callers are welcome at the IPv6 address of all.
  if (address.storage.ss_family == AF_INET6) ::setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const bool listens =
      ::bind(made.get(), address.get(), address.size_bytes) == 0 && ::listen(made.get(), SOMAXCONN) == 0;
  return listens ? std::move(made) : socket_handle();
}

std::uint16_t port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) throw_errno("ask for the port");
  const in_port_t port = storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                                                       : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port;
  return ntohs(port);
}

std::string missing_nodes(const std::vector<node_link>& known, unsigned num_nodes) {
  std::string missing;
  for (unsigned r = 1; r < num_nodes; ++r) {
    const auto is_r = [r](const node_link& link) { return link.node_rank == r; };
    if (std::ranges::none_of(known, is_r)) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", r);
  }
  return missing;
}

// ---- connecting

/// Polls for `events`; false at the deadline.
bool wait_for(int fd, short events, clock::time_point deadline) {
  pollfd wanted{fd, events, 0};
  while (true) {
    const int ready = ::poll(&wanted, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool send_fully(int fd, std::span<const unsigned char> message) {
  return ::send(fd, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(message.size());
}

/// Fills `message`, and reads nothing behind it. Empty, or what is in the way.
std::string receive_whole(int fd, std::span<unsigned char> message, clock::time_point deadline) {
  while (!message.empty()) {
    if (clock::now() >= deadline || !wait_for(fd, POLLIN, deadline)) return "connected, but node rank 0 did not answer";
    const ssize_t got = ::recv(fd, message.data(), message.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) continue;
    if (got <= 0) return "connected, but turned away";
    message = message.subspan(static_cast<std::size_t>(got));
  }
  return "";
}

/// Both ends prove that they know the job's secret. Empty, or what is in the way.
std::string greet(int fd, const job_secret& secret, unsigned node_rank, clock::time_point deadline) {
  const std::string something_else = "connected, but to something else";
  challenge_message challenge;
  if (std::string problem = receive_whole(fd, challenge, deadline); !problem.empty()) return problem;
  const std::optional<greeting_nonce> hosts = nonce_of(challenge);
  const std::optional<meeting_place> place = called_place(fd);
  if (!hosts || !place) return something_else;
  const greeting_facts facts{*hosts, random_nonce(), node_rank, *place};
  if (!send_fully(fd, make_hello(secret, facts))) return "connected, but turned away";
  welcome_message welcome;
  if (std::string problem = receive_whole(fd, welcome, deadline); !problem.empty()) return problem;
  return is_welcome(welcome, secret, facts) ? "" : something_else;
}

/// Empty when `link` is connected and welcome, else what is in the way.
std::string try_address(watch_link& link, const socket_address& address, const rendezvous_point& point,
                        unsigned node_rank, clock::time_point deadline) {
  socket_handle made = open_socket(address.storage.ss_family);
  if (!made.is_open()) return error_text(errno);
  const int fd = made.get();
  if (::connect(fd, address.get(), address.size_bytes) != 0) {
    if (errno != EINPROGRESS) return error_text(errno);
    if (!wait_for(fd, POLLOUT, deadline)) return "no answer";
    int code = 0;
    socklen_t size = sizeof code;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) return error_text(code);
  }
  std::string problem = greet(fd, point.secret, node_rank, deadline);
  if (problem.empty()) link = watch_link(std::move(made));
  return problem;
}

/// A first try has some time even where no more is allowed.
clock::time_point answer_deadline(clock::time_point deadline) {
  const clock::time_point now = clock::now();
  return std::min(now + answer_limit, std::max(deadline, now + shortest_answer_limit));
}

std::string to_hex(const job_secret& secret) {
  std::string text;
  for (const unsigned char byte : secret) text += fmt::format("{:02x}", byte);
  return text;
}

/// All zero when the text is not that of a secret: nobody's proofs agree then.
job_secret secret_of(std::string_view text) {
  job_secret secret{};
  if (text.size() != 2 * secret.size()) return secret;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    const std::string_view digits = text.substr(2 * i, 2);
    if (std::from_chars(digits.begin(), digits.end(), secret[i], 16).ptr != digits.end()) return {};
  }
  return secret;
}

}  // namespace

std::string rendezvous_point::to_text() const {
  std::string text = fmt::format("{} {}", to_hex(secret), port);
  for (const std::string& address : addresses) text += " " + address;
  return text;
}

rendezvous_point rendezvous_point::from_text(std::string_view text) {
  std::istringstream words{std::string(text)};
  rendezvous_point point;
  std::string secret;
  words >> secret >> point.port;
  point.secret = secret_of(secret);
  for (std::string address; words >> address;) point.addresses.push_back(address);
  return point;
}

rendezvous_host::rendezvous_host(bool is_one_host) {
  point_.secret = random_secret();
  point_.addresses = is_one_host ? std::vector<std::string>{"127.0.0.1"} : outside_addresses();
  if (point_.addresses.empty()) {
    throw io_error(
        "failure watch: node rank 0 has no network address but the loopback, and other node ranks are on other hosts",
        0);
  }
  for (const char* const any : {"::", "0.0.0.0"}) {
    if (!listener_.is_open()) listener_ = listen_at(*parse_address(is_one_host ? "127.0.0.1" : any, 0));
  }
  if (!listener_.is_open()) throw_errno("listen");
  point_.port = port_of(listener_.get());
}

std::vector<node_link> rendezvous_host::accept_nodes(unsigned num_nodes, milliseconds limit) {
  const clock::time_point deadline = clock::now() + limit;
  lobby callers(listener_, point_.secret, num_nodes);
  while (callers.known().size() + 1 < num_nodes) {
    if (clock::now() >= deadline) {
      throw io_error(fmt::format("failure watch: no connection from node rank {} in {} ms",
                                 missing_nodes(callers.known(), num_nodes), limit.count()),
                     0);
    }
    callers.serve(deadline);
  }
  return std::move(callers.known());
}

node_link connect_to_host(const rendezvous_point& point, unsigned node_rank, milliseconds limit) {
  const clock::time_point deadline = clock::now() + limit;
  std::string problems;
  while (true) {
    problems.clear();
    for (const std::string& text : point.addresses) {
      const std::optional<socket_address> address = parse_address(text, point.port);
      watch_link link;
      const std::string problem =
          address ? try_address(link, *address, point, node_rank, answer_deadline(deadline)) : "not an address";
      if (problem.empty()) return {0, std::move(link)};
      problems += fmt::format("{}{} port {}: {}", problems.empty() ? "" : "; ", text, point.port, problem);
    }
    if (clock::now() >= deadline) break;
    std::this_thread::sleep_for(milliseconds(100));
  }
  throw io_error(fmt::format("failure watch: node rank {} cannot reach node rank 0 ({})", node_rank, problems), 0);
}

}  // namespace spansort::transport
