// SPDX-License-Identifier: Apache-2.0
// This header says what a node_group holds, and how its operations call MPI and wait: for the .cpp files of this room
// alone.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "mpi/transport/failure_watch.hpp"
#include "mpi/transport/node_group.hpp"

namespace spansort::transport {

/// Throws cluster_failure with MPI's text unless `code` is MPI_SUCCESS.
void check_mpi(int code, std::string_view call);

/// Pauses between two looks at something: first only lets others run, then sleeps for up to 50 microseconds.
class backoff {
 public:
  void pause();
  void reset() noexcept { num_pauses_ = 0; }

 private:
  unsigned num_pauses_ = 0;
};

struct node_group::state {
  state(MPI_Comm original, const group_options& options);
  ~state();
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  /// Polls until `request` is complete; throws cluster_failure when a node rank fails before.
  void wait(MPI_Request& request, std::string_view call);

  MPI_Comm communicator = MPI_COMM_NULL;
  unsigned node_rank = 0;
  unsigned num_nodes = 0;
  std::uint64_t max_elements = 0;
  std::function<void(std::string_view phase)> on_phase;
  int exceptions_before = 0;
  std::unique_ptr<failure_watch> watch;
  /// A rank that waits for the meeting longer than this gives up: nobody tells of a lost one before the watch stands.
  std::optional<std::chrono::steady_clock::time_point> meeting_deadline;
};

}  // namespace spansort::transport
