// SPDX-License-Identifier: Apache-2.0
// The communicator over MPI. Every operation is polled, so that a node rank that waits for one that has failed learns
// of it from the failure watch and stops. MPI's own header is not needed to include this; mpi_handle.hpp makes groups
// from MPI's communicators.
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
#include "transport/communicator.hpp"

namespace spansort::transport {

struct group_options {
  watch_options watch;
  /// Called by set_phase(), when the others have been sent the phase. What it throws is told
  /// to the others as this node rank's failure, and surfaces there.
  std::function<void(std::string_view phase)> on_phase = {};
  /// The most elements that one MPI operation moves; MPI 3 counts with an int. Tests set a few.
  std::uint64_t max_elements = std::uint64_t{1} << 28;
};

/// The node ranks of an MPI communicator, on a duplicate of it. Once an operation has thrown cluster_failure, nothing
/// more can be done with the group: MPI may still hold on to the memory of the operation, so that the process should
/// end (without MPI_Finalize, which would wait for the node rank that failed). The failure watch may be asked by any
/// thread.
class node_group final : public communicator {
 public:
  struct state;
  explicit node_group(std::unique_ptr<state> made);
  /// Says goodbye if leave() has not. While an exception unwinds the stack, tells the other node ranks that this one
  /// failed.
  ~node_group() override;

  [[nodiscard]] unsigned node_rank() const noexcept override;
  [[nodiscard]] unsigned num_nodes() const noexcept override;

  [[nodiscard]] failure_watch& watch() noexcept;
  void check() const override;
  /// The other node ranks hear of it at once.
  void set_phase(std::string_view phase) override;
  /// Tells all other node ranks that this one failed and why, before it leaves by an exception.
  void announce_failure(std::string_view reason) noexcept;
  /// A clean end that all node ranks have agreed on: what happens to this node rank afterwards is no failure. Node rank
  /// 0 waits for the others. The group can only be destroyed then. Without it, the destructor does the same.
  void leave() noexcept;

  [[nodiscard]] std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> mine) override;
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> all_gather_varying(
      std::span<const std::uint64_t> mine) override;
  [[nodiscard]] std::vector<std::uint64_t> all_reduce_sum(std::span<const std::uint64_t> mine) override;
  [[nodiscard]] std::vector<std::uint64_t> exclusive_scan_sum(std::span<const std::uint64_t> mine) override;
  void broadcast(std::span<std::uint64_t> values, unsigned from) override;
  [[nodiscard]] std::vector<std::uint64_t> all_to_all(std::span<const std::uint64_t> mine) override;
  void barrier() override;

  /// Returns the state, for the other files of this room.
  [[nodiscard]] state& internals() noexcept { return *state_; }

 private:
  std::unique_ptr<state> state_;
};

}  // namespace spansort::transport
