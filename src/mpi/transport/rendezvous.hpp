// SPDX-License-Identifier: Apache-2.0
// This header says how the node ranks' failure watches find each other: node rank 0 listens, tells its addresses and a
// random secret (by MPI), and the others connect. Both ends prove that they know the secret (greeting.hpp), strangers
// are turned away (lobby.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/transport/greeting.hpp"
#include "mpi/transport/watch_link.hpp"

namespace spansort::transport {

/// What node rank 0 tells the others about itself.
struct rendezvous_point {
  std::vector<std::string> addresses;  ///< numeric, to be tried in turn
  std::uint16_t port = 0;
  job_secret secret{};  ///< who does not know it is not one of the node ranks

  [[nodiscard]] std::string to_text() const;
  /// Reads what to_text() wrote.
  [[nodiscard]] static rendezvous_point from_text(std::string_view text);
};

/// A node rank's end of its connection.
struct node_link {
  unsigned node_rank = 0;  ///< of the other end
  watch_link connection;
};

/// Node rank 0's side. Throws io_error where the system refuses.
class rendezvous_host {
 public:
  /// Listens on the loopback only where all node ranks are on one host, else on all addresses.
  explicit rendezvous_host(bool is_one_host);
  [[nodiscard]] const rendezvous_point& point() const noexcept { return point_; }
  /// Blocks until node ranks 1 to `num_nodes` - 1 have connected, or throws io_error naming those that have not in
  /// `limit`.
  [[nodiscard]] std::vector<node_link> accept_nodes(unsigned num_nodes, std::chrono::milliseconds limit);

 private:
  socket_handle listener_;
  rendezvous_point point_;
};

/// The others' side: blocks until node rank 0 has answered, or throws io_error with what became of every address in
/// `limit`.
[[nodiscard]] node_link connect_to_host(const rendezvous_point& point, unsigned node_rank,
                                        std::chrono::milliseconds limit);

}  // namespace spansort::transport
