// SPDX-License-Identifier: Apache-2.0
// Moves bytes between all node ranks at once, in messages that MPI can count, a few in flight at a time. Never looks at
// keys, and knows of devices only through a packer: who copies to and from memory that MPI cannot reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "mpi/transport/node_group.hpp"

namespace spansort::transport {

/// Bytes for the node rank `peer`, which may be this one.
struct outgoing_part {
  unsigned peer = 0;
  const std::byte* memory = nullptr;
  std::uint64_t size_bytes = 0;
};

/// Room for bytes from the node rank `peer`.
struct incoming_part {
  unsigned peer = 0;
  std::byte* memory = nullptr;
  std::uint64_t size_bytes = 0;
};

struct copied_piece {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t size_bytes = 0;
};

/// Copies between host memory and memory that MPI cannot reach (a GPU's). Called by the thread that calls
/// exchange_bytes. If the exchange throws, the packer must end its copies before their memory goes.
class packer {
 public:
  virtual ~packer() = default;
  /// Starts the copies, all of one message, and may return before they are done: another message is then on its way
  /// meanwhile. `lane` is a number below 2 * in_flight + 1; a lane has no second start() before is_done(). The last
  /// lane is that of the parts that stay on this node rank, whose both ends are the memory of the parts.
  virtual void start(unsigned lane, std::span<const copied_piece> pieces) = 0;
  [[nodiscard]] virtual bool is_done(unsigned lane) = 0;
};

struct exchange_limits {
  /// The most bytes of a message, from 1 to 2^31 - 2. The same on all node ranks.
  std::uint64_t message_bytes = std::uint64_t{256} << 20;
  /// The most messages on their way from this node rank, and as many to it. With a packer 2 or more let copies overlap
  /// with messages.
  unsigned in_flight = 4;
  /// Called now and then with the bytes that have been sent and received by this node rank so far. What it throws ends
  /// the exchange on this node rank, and leaves the group in the state of a failure.
  std::function<void(std::uint64_t moved_bytes)> on_progress;
};

/// Parts in memory that MPI cannot reach: every message passes through a slot of host memory.
struct packed_memory {
  packer* copies = nullptr;    ///< null: MPI reads and writes the parts themselves
  std::span<std::byte> slots;  ///< 2 * in_flight * message_bytes at least
};

struct exchanged_bytes {
  std::uint64_t sent = 0;  ///< to other node ranks
  std::uint64_t received = 0;
  std::uint64_t kept = 0;          ///< from this node rank to itself
  std::uint64_t num_messages = 0;  ///< sent
};

/// Collective. The parts for a peer, one after another as they are listed, arrive in the peer's parts from this node
/// rank as those are listed: totals agree for every pair of node ranks, cuts need not. Parts of 0 bytes are allowed,
/// pairs without bytes exchange no message. Outgoing and incoming memory do not overlap. Blocks until all of this node
/// rank's bytes have left and arrived; throws cluster_failure when a node rank fails before, internal_error when a
/// peer's totals do not agree. After an exception the contents of incoming parts are undefined, and MPI may write to
/// them until the process ends.
exchanged_bytes exchange_bytes(node_group& group, std::span<const outgoing_part> outgoing,
                               std::span<const incoming_part> incoming, const exchange_limits& limits = {},
                               const packed_memory& packed = {});

}  // namespace spansort::transport
