// SPDX-License-Identifier: Apache-2.0
// The processes that work on one sort or one statistic together: who they are, and collective operations on 64-bit
// numbers among them. Drivers, selections and sessions know the other processes through this interface alone. How
// numbers travel is the business of whoever implements it: one process by itself (single_process.hpp), MPI
// (mpi/transport/node_group.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spansort::transport {

/// All operations are collective: every process (a node rank) calls the same ones in the same order, with the same
/// sizes except where the name says varying. All block until this process's part is done, and throw cluster_failure as
/// soon as another process is known to have failed. One thread at a time.
class communicator {
 public:
  communicator() = default;
  virtual ~communicator() = default;
  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;

  [[nodiscard]] virtual unsigned node_rank() const noexcept = 0;
  [[nodiscard]] virtual unsigned num_nodes() const noexcept = 0;
  /// Throws cluster_failure when a process is known to have failed. Not collective, and cheap: for loops that wait or
  /// compute.
  virtual void check() const = 0;
  /// Names what this process does from now on, for the case that it fails. Not collective, does not block.
  virtual void set_phase(std::string_view phase) = 0;

  /// The processes' `mine` one after another; all of equal size.
  [[nodiscard]] virtual std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> mine) = 0;
  /// `mine` of every process, by node rank.
  [[nodiscard]] virtual std::vector<std::vector<std::uint64_t>> all_gather_varying(
      std::span<const std::uint64_t> mine) = 0;
  /// Element by element, over all processes, modulo 2^64.
  [[nodiscard]] virtual std::vector<std::uint64_t> all_reduce_sum(std::span<const std::uint64_t> mine) = 0;
  /// Element by element, over the processes before this one; zeros on node rank 0.
  [[nodiscard]] virtual std::vector<std::uint64_t> exclusive_scan_sum(std::span<const std::uint64_t> mine) = 0;
  /// Overwrites `values` with those of node rank `from`.
  virtual void broadcast(std::span<std::uint64_t> values, unsigned from) = 0;
  /// `mine` holds as many numbers for every process, by node rank; the result is what every process had for this one,
  /// by node rank.
  [[nodiscard]] virtual std::vector<std::uint64_t> all_to_all(std::span<const std::uint64_t> mine) = 0;
  /// Returns when all processes have called it.
  virtual void barrier() = 0;

  // Made of the operations above.

  /// The processes' `mine` one after another; each may give any number of them.
  [[nodiscard]] std::vector<std::uint64_t> all_gather_joined(std::span<const std::uint64_t> mine);
  /// The text of every process, by node rank.
  [[nodiscard]] std::vector<std::string> all_gather_strings(std::string_view mine);
};

}  // namespace spansort::transport
