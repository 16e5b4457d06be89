// SPDX-License-Identifier: Apache-2.0
// Strangers may send anything to node rank 0 and to callers: nothing that was not made with the secret is taken for a
// greeting, and messages that a connection of the failure watch reads stay below their bound.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/transport/greeting.hpp"
#include "mpi/transport/rendezvous.hpp"
#include "mpi/transport/watch_link.hpp"

namespace {

using namespace spansort::transport;

template <typename Message>
Message message_of(std::string_view bytes) {
  Message message{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), message.size()), message.begin());
  return message;
}

void greet(std::string_view bytes) {
  static const job_secret secret = random_secret();
  static_cast<void>(nonce_of(message_of<challenge_message>(bytes)));
  if (check_hello(message_of<hello_message>(bytes), secret, {}, {})) std::abort();
  if (is_welcome(message_of<welcome_message>(bytes), secret, {})) std::abort();
}

void read_point(std::string_view text) {
  const rendezvous_point point = rendezvous_point::from_text(text);
  if (rendezvous_point::from_text(point.to_text()).addresses != point.addresses) std::abort();
}

void listen(std::string_view bytes) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) return;
  watch_link link{socket_handle(ends[0])};
  {
    const socket_handle other(ends[1]);
    static_cast<void>(::send(other.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  std::vector<frame> frames;
  while (link.receive(frames)) continue;
  for (const frame& each : frames) {
    if (each.payload.size() > max_payload_bytes) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0: greet(bytes); break;
    case 1: read_point(bytes); break;
    default: listen(bytes); break;
  }
  return 0;
}
