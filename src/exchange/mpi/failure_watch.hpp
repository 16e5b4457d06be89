// SPDX-License-Identifier: Apache-2.0
// How ranks learn that one of them has failed, was killed or stopped, whatever they wait for. Beside MPI, which tells
// nobody: every rank has a TCP connection to rank 0 and a thread that sends a heartbeat over it. Rank 0 tells all others
// of a rank that fell silent or went away; that rank 0 itself is gone, each sees for itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spansort::exchange {

/// A rank that failed, the last phase heard from it, and how it is known.
struct node_failure {
  unsigned node_rank = 0;
  std::string phase;
  std::string reason;

  /// One sentence with all three.
  [[nodiscard]] std::string message() const;
};

struct watch_options {
  std::chrono::milliseconds heartbeat{1000};
  /// A rank of which nothing is heard for this long has failed. Longer than a debugger may stop one, if that is wanted.
  std::chrono::milliseconds silence_limit{20000};
  /// How long the ranks may take to connect to rank 0.
  std::chrono::milliseconds connect_limit{30000};
  /// Called once, on the watch's thread, when another rank is known to have failed. Must not throw. May end the process.
  std::function<void(const node_failure&)> on_failure;
};

/// What rank 0 tells the others about itself before they connect.
struct meeting_point {
  std::vector<std::string> addresses;  ///< numeric, to be tried in turn
  std::uint16_t port = 0;
  std::string token;  ///< who does not send it is not one of the ranks
};

/// All functions may be called by any thread and do not block, except where they say so.
class failure_watch {
 public:
  /// No rank 0 yet or no other rank: knows of no failure until connected.
  failure_watch(unsigned node_rank, unsigned num_nodes, watch_options options);
  ~failure_watch();
  failure_watch(const failure_watch&) = delete;
  failure_watch& operator=(const failure_watch&) = delete;

  /// What is known of a failure: the first that was heard of.
  [[nodiscard]] std::optional<node_failure> failure() const;
  /// Throws cluster_failure if there is one. One load of an atomic otherwise.
  void check() const;
  void set_phase(std::string_view phase);
  [[nodiscard]] std::string phase() const;
  void announce_failure(std::string_view reason) noexcept;
  /// Says goodbye and ends the thread. Blocks on rank 0 until every other rank has left or a failure is known.
  void leave() noexcept;

 private:
  struct shared;
  std::unique_ptr<shared> shared_;
};

}  // namespace spansort::exchange
