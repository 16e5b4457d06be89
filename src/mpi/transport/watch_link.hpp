// SPDX-License-Identifier: Apache-2.0
// A TCP connection of the failure watch, and the short messages on it. Nothing here blocks: what the kernel does not
// take waits in memory for the next flush.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spansort::transport {

/// An open socket, or none (-1). Closed with its owner.
class socket_handle {
 public:
  explicit socket_handle(int fd = -1) noexcept : fd_(fd) {}
  socket_handle(socket_handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  socket_handle& operator=(socket_handle&& other) noexcept;
  ~socket_handle() { close(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  void close() noexcept;

 private:
  int fd_;
};

enum class frame_kind : std::uint8_t {
  heartbeat,  ///< the sender's phase
  failure,    ///< a node rank's failure
  goodbye     ///< the sender leaves as all have agreed
};

struct frame {
  frame_kind kind = frame_kind::heartbeat;
  std::string payload;
};

/// A longer payload is no message of ours; what is sent is cut to it.
inline constexpr std::size_t max_payload_bytes = 4096;

class watch_link {
 public:
  /// `socket` is connected and non-blocking.
  explicit watch_link(socket_handle socket = socket_handle()) noexcept : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] bool is_open() const noexcept { return socket_.is_open(); }
  [[nodiscard]] bool has_unsent() const noexcept { return !unsent_.empty(); }

  void send(frame_kind kind, std::string_view payload);
  void flush();
  /// Adds what has arrived to `frames`, of very much a part. False when the other end is closed, or sends what is no
  /// message.
  [[nodiscard]] bool receive(std::vector<frame>& frames);
  /// No more is sent: the other end sees the connection end once it has read everything.
  void end_sending() noexcept;
  /// Blocks, throwing away what comes, until the other end has closed too. A connection that is closed with something
  /// still to be read may lose what was sent last.
  void wait_for_end(std::chrono::steady_clock::time_point deadline) noexcept;
  void close() noexcept { socket_.close(); }

 private:
  socket_handle socket_;
  std::string unsent_;
  std::string received_;
};

}  // namespace spansort::transport
