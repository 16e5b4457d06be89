// SPDX-License-Identifier: Apache-2.0
#include "watch/failing_sockets.hpp"

#include <dlfcn.h>
#include <ifaddrs.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>

namespace spansort::test {
namespace {

std::atomic<int> failing{-1};
std::atomic<int> num_allowed{0};
std::atomic<int> error_number{0};
std::atomic<bool> lasts{false};
std::atomic<bool> is_any_failed{false};

bool fails(socket_call which) noexcept {
  if (failing.load() != static_cast<int>(which)) return false;
  if (num_allowed.fetch_sub(1) > 0) return false;
  if (!lasts.load()) failing.store(-1);
  is_any_failed.store(true);
  errno = error_number.load();
  return true;
}

/// The function behind this program's own of that name.
template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

failing_socket_scope::failing_socket_scope(socket_call which, unsigned nth, int error, bool is_lasting) noexcept {
  num_allowed.store(static_cast<int>(nth) - 1);
  error_number.store(error);
  lasts.store(is_lasting);
  is_any_failed.store(false);
  failing.store(static_cast<int>(which));
}

failing_socket_scope::~failing_socket_scope() { failing.store(-1); }

bool failing_socket_scope::has_failed() noexcept { return is_any_failed.load(); }

}  // namespace spansort::test

using spansort::test::fails;
using spansort::test::real;
using spansort::test::socket_call;

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  static const auto next = real<int(int, int, int)>("socket");
  return fails(socket_call::socket) ? -1 : next(domain, type, protocol);
}
int bind(int fd, const sockaddr* address, socklen_t size) noexcept {
  static const auto next = real<int(int, const sockaddr*, socklen_t)>("bind");
  return fails(socket_call::bind) ? -1 : next(fd, address, size);
}
int listen(int fd, int backlog) noexcept {
  static const auto next = real<int(int, int)>("listen");
  return fails(socket_call::listen) ? -1 : next(fd, backlog);
}
int getsockname(int fd, sockaddr* address, socklen_t* size) noexcept {
  static const auto next = real<int(int, sockaddr*, socklen_t*)>("getsockname");
  return fails(socket_call::getsockname) ? -1 : next(fd, address, size);
}
int getpeername(int fd, sockaddr* address, socklen_t* size) noexcept {
  static const auto next = real<int(int, sockaddr*, socklen_t*)>("getpeername");
  return fails(socket_call::getpeername) ? -1 : next(fd, address, size);
}
int getifaddrs(ifaddrs** list) noexcept {
  static const auto next = real<int(ifaddrs**)>("getifaddrs");
  return fails(socket_call::getifaddrs) ? -1 : next(list);
}
int accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  static const auto next = real<int(int, sockaddr*, socklen_t*, int)>("accept4");
  return fails(socket_call::accept) ? -1 : next(fd, address, size, flags);
}
int connect(int fd, const sockaddr* address, socklen_t size) {
  static const auto next = real<int(int, const sockaddr*, socklen_t)>("connect");
  return fails(socket_call::connect) ? -1 : next(fd, address, size);
}
int getsockopt(int fd, int level, int name, void* value, socklen_t* size) noexcept {
  static const auto next = real<int(int, int, int, void*, socklen_t*)>("getsockopt");
  return fails(socket_call::getsockopt) ? -1 : next(fd, level, name, value, size);
}
ssize_t send(int fd, const void* bytes, std::size_t size, int flags) {
  static const auto next = real<ssize_t(int, const void*, std::size_t, int)>("send");
  return fails(socket_call::send) ? -1 : next(fd, bytes, size, flags);
}
ssize_t recv(int fd, void* bytes, std::size_t size, int flags) {
  static const auto next = real<ssize_t(int, void*, std::size_t, int)>("recv");
  return fails(socket_call::recv) ? -1 : next(fd, bytes, size, flags);
}
int poll(pollfd* wanted, nfds_t count, int timeout_ms) {
  static const auto next = real<int(pollfd*, nfds_t, int)>("poll");
  return fails(socket_call::poll) ? -1 : next(wanted, count, timeout_ms);
}
int eventfd(unsigned count, int flags) noexcept {
  static const auto next = real<int(unsigned, int)>("eventfd");
  return fails(socket_call::eventfd) ? -1 : next(count, flags);
}

}  // extern "C"
