// SPDX-License-Identifier: Apache-2.0
// This header is node rank 0's side of the meeting: those who have called and not yet proved that they belong to the
// job. Anybody may call while the port is open, so nothing that a stranger does takes more than a bounded part of
// memory, descriptors or time: callers are few, each is read for one hello and for two seconds, and where there are too
// many, the one that has waited longest goes. Those who belong to the job answer at once, and call again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/transport/greeting.hpp"
#include "mpi/transport/rendezvous.hpp"
#include "mpi/transport/watch_link.hpp"

namespace spansort::transport {

class lobby {
 public:
  using clock = std::chrono::steady_clock;

  /// `listener` must outlive the lobby.
  lobby(const socket_handle& listener, const job_secret& secret, unsigned num_nodes,
        std::chrono::milliseconds hello_limit = std::chrono::milliseconds(2000));
  /// Waits for callers, until `deadline` at most, and hears what they say: once.
  void serve(clock::time_point deadline);
  /// Returns those who have proved who they are.
  [[nodiscard]] std::vector<node_link>& known() noexcept { return known_; }

 private:
  struct caller {
    socket_handle socket;
    greeting_nonce hosts_nonce;
    clock::time_point drop_time;
    hello_message hello{};
    std::size_t num_bytes = 0;  ///< of the hello, which have come
  };

  void drop_the_slow();
  [[nodiscard]] int wait_ms(clock::time_point deadline) const;
  [[nodiscard]] bool listen_to(caller& from);
  [[nodiscard]] bool welcome(caller& from);
  void accept_some();
  void challenge(socket_handle socket);

  const socket_handle& listener_;
  job_secret secret_;
  unsigned num_nodes_;
  std::chrono::milliseconds hello_limit_;
  std::size_t max_callers_;
  bool is_out_of_descriptors_ = false;
  std::vector<caller> callers_;  ///< in the order of coming
  std::vector<node_link> known_;
};

}  // namespace spansort::transport
