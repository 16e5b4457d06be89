// SPDX-License-Identifier: Apache-2.0
// These are the program's socket calls, the n-th of which, or all from it on, can be told to fail without being made.
#pragma once

#include <cstdint>

namespace spansort::test {

enum class socket_call : std::uint8_t {
  socket,
  bind,
  listen,
  getsockname,
  getpeername,
  getifaddrs,
  accept,
  connect,
  getsockopt,
  send,
  recv,
  poll,
  eventfd
};
inline constexpr unsigned num_socket_calls = 13;

/// While the scope lives the process's `nth` call fails with `error`, counted from 1, and all behind it where that is
/// lasting.
class failing_socket_scope {
 public:
  failing_socket_scope(socket_call which, unsigned nth, int error, bool is_lasting) noexcept;
  ~failing_socket_scope();
  failing_socket_scope(const failing_socket_scope&) = delete;
  failing_socket_scope& operator=(const failing_socket_scope&) = delete;

  /// Returns whether a call has failed since the last scope began.
  [[nodiscard]] static bool has_failed() noexcept;
};

}  // namespace spansort::test
