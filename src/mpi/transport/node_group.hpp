// SPDX-License-Identifier: Apache-2.0
// The processes that sort together, the node ranks: who they are, and collective operations on 64-bit numbers among
// them. Every operation is polled, so that a node rank that waits for one that has failed learns of it from the failure
// watch and stops. MPI's own header is not needed to include this; mpi_handle.hpp makes groups from communicators.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/transport/failure_watch.hpp"

namespace spansort::transport {

struct group_options {
  watch_options watch;
  /// Called by set_phase(), when the others have been sent the phase. What it throws is told
  /// to the others as this node rank's failure, and surfaces there.
  std::function<void(std::string_view phase)> on_phase = {};
  /// The most elements that one MPI operation moves; MPI 3 counts with an int. Tests set a few.
  std::uint64_t max_elements = std::uint64_t{1} << 28;
};

/// The node ranks of a communicator, on a duplicate of it. All operations are collective: every node rank calls the
/// same ones in the same order, with the same sizes except where the name says varying. All block until this node
/// rank's part is done, and throw cluster_failure as soon as a node rank is known to have failed. After that nothing
/// more can be done with the group: MPI may still hold on to the memory of the operation, so that the process should
/// end (without MPI_Finalize, which would wait for the node rank that failed). A thread at a time; the failure watch
/// may be asked by any.
class node_group {
 public:
  struct state;
  explicit node_group(std::unique_ptr<state> made);
  /// Says goodbye if leave() has not. While an exception unwinds the stack, tells the other node ranks that this one
  /// failed.
  ~node_group();
  node_group(const node_group&) = delete;
  node_group& operator=(const node_group&) = delete;

  [[nodiscard]] unsigned node_rank() const noexcept;
  [[nodiscard]] unsigned num_nodes() const noexcept;

  [[nodiscard]] failure_watch& watch() noexcept;
  /// Throws cluster_failure when a node rank is known to have failed. Cheap: for loops that wait or compute.
  void check() const;
  /// Names what this node rank does from now on; the others hear it at once.
  void set_phase(std::string_view phase);
  /// Tells all other node ranks that this one failed and why, before it leaves by an exception.
  void announce_failure(std::string_view reason) noexcept;
  /// A clean end that all node ranks have agreed on: what happens to this node rank afterwards is no failure. Node rank
  /// 0 waits for the others. The group can only be destroyed then. Without it, the destructor does the same.
  void leave() noexcept;

  /// The node ranks' `mine` one after another; all of equal size.
  [[nodiscard]] std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> mine);
  /// `mine` of every node rank, by node rank.
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> all_gather_varying(std::span<const std::uint64_t> mine);
  [[nodiscard]] std::vector<std::string> all_gather_strings(std::string_view mine);

  /// Element by element, over all node ranks, modulo 2^64.
  [[nodiscard]] std::vector<std::uint64_t> all_reduce_sum(std::span<const std::uint64_t> mine);
  /// Element by element, over the node ranks before this one; zeros on node rank 0.
  [[nodiscard]] std::vector<std::uint64_t> exclusive_scan_sum(std::span<const std::uint64_t> mine);
  /// Overwrites `values` with those of node rank `from`.
  void broadcast(std::span<std::uint64_t> values, unsigned from);
  /// `mine` holds as many numbers for every node rank, by node rank; the result is what every node rank had for this
  /// one, by node rank.
  [[nodiscard]] std::vector<std::uint64_t> all_to_all(std::span<const std::uint64_t> mine);
  void barrier();

  /// Returns the state, for the other files of this room.
  [[nodiscard]] state& internals() noexcept { return *state_; }

 private:
  std::unique_ptr<state> state_;
};

}  // namespace spansort::transport
