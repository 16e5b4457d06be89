// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/watch_link.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

namespace spansort::transport {
namespace {

/// Kind and size of the payload, as the sender's machine lays out integers.
constexpr std::size_t header_bytes = 1 + sizeof(std::uint32_t);

std::uint32_t payload_bytes_of(std::string_view text) {
  std::uint32_t size = 0;
  std::memcpy(&size, text.data() + 1, sizeof size);
  return size;
}

/// Returns whether the bytes so far can be the start of a message.
bool is_sane(std::string_view text) {
  if (!text.empty() && static_cast<std::uint8_t>(text[0]) > static_cast<std::uint8_t>(frame_kind::goodbye))
    return false;
  return text.size() < header_bytes || payload_bytes_of(text) <= max_payload_bytes;
}

/// Takes the first whole message off `text`.
std::optional<frame> take_frame(std::string& text) {
  if (text.size() < header_bytes || text.size() < header_bytes + payload_bytes_of(text)) return std::nullopt;
  const std::size_t size = payload_bytes_of(text);
  frame first{static_cast<frame_kind>(text[0]), text.substr(header_bytes, size)};
  text.erase(0, header_bytes + size);
  return first;
}

bool is_temporary(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

}  // namespace

socket_handle& socket_handle::operator=(socket_handle&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void socket_handle::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void watch_link::send(frame_kind kind, std::string_view payload) {
  if (!is_open()) return;
  // The other end does not read: it has heard of this phase and will be found silent.
  constexpr std::size_t most_unsent_bytes = 16 * max_payload_bytes;
  if (kind == frame_kind::heartbeat && unsent_.size() > most_unsent_bytes) return;
  payload = payload.substr(0, max_payload_bytes);
  const auto size = static_cast<std::uint32_t>(payload.size());
  // A message is there whole or, where memory ends, not at all.
  unsent_.reserve(unsent_.size() + header_bytes + payload.size());
  unsent_.push_back(static_cast<char>(kind));
  unsent_.append(reinterpret_cast<const char*>(&size), sizeof size);
  unsent_.append(payload);
  flush();
}

void watch_link::flush() {
  while (is_open() && !unsent_.empty()) {
    const ssize_t sent = ::send(fd(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      // Of a connection that is lost, receive() tells, after what is still to be read.
      if (!is_temporary(errno)) unsent_.clear();
      return;
    }
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
}

bool watch_link::receive(std::vector<frame>& frames) {
  std::array<char, 4096> chunk;
  bool is_connected = true;
  // The deadlines of other connections are looked at between two calls, however much one of them sends.
  constexpr unsigned max_chunks = 16;
  for (unsigned i = 0; i < max_chunks && is_connected; ++i) {
    const ssize_t got = ::recv(fd(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && is_temporary(errno)) break;
    is_connected = got > 0;
    if (is_connected) received_.append(chunk.data(), static_cast<std::size_t>(got));
    while (std::optional<frame> whole = take_frame(received_)) frames.push_back(std::move(*whole));
    if (!is_sane(received_)) return false;
  }
  return is_connected;
}

void watch_link::end_sending() noexcept {
  if (is_open()) ::shutdown(fd(), SHUT_WR);
}

void watch_link::wait_for_end(std::chrono::steady_clock::time_point deadline) noexcept {
  using std::chrono::milliseconds;
  std::array<char, 4096> chunk;
  while (is_open()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd wanted{fd(), POLLIN, 0};
    if (left <= 0 || ::poll(&wanted, 1, static_cast<int>(left)) == 0) return;
    const ssize_t got = ::recv(fd(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && !is_temporary(errno))) return;
  }
}

}  // namespace spansort::transport
