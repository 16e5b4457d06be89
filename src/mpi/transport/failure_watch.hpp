// SPDX-License-Identifier: Apache-2.0
// This header says how node ranks learn that one of them has failed, was killed or stopped, whatever they wait for.
// Beside MPI, which tells nobody: every node rank has a TCP connection to node rank 0 and a thread that sends a
// heartbeat over it. Node rank 0 tells all others of a node rank that fell silent or went away; that node rank 0 itself
// is gone, each sees for itself.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spansort::transport {

struct node_link;

/// A node rank that failed, the last phase heard from it, and how it is known.
struct node_failure {
  unsigned node_rank = 0;
  std::string phase;
  std::string reason;

  /// One sentence with all three.
  [[nodiscard]] std::string message() const;
};

struct watch_options {
  /// The time between two heartbeats; a quarter of heartbeat_timeout where that is less.
  std::chrono::milliseconds heartbeat{1000};
  /// A node rank of which nothing is heard for this long has failed. Longer than a debugger may stop one, if that is
  /// wanted.
  std::chrono::milliseconds heartbeat_timeout{20000};
  /// How long the node ranks may take to connect to node rank 0.
  std::chrono::milliseconds connect_limit{30000};
  /// Called once, on the watch's thread, when another node rank is known to have failed and all node ranks have been
  /// told that this one can tell. Must not throw, and not call leave(); may end the process with _exit().
  std::function<void(const node_failure&)> on_failure;
};

/// A node rank's watch. Without other node ranks there is no thread and no socket. All functions may be called by any
/// thread and return at once, except where they say otherwise.
class failure_watch {
 public:
  /// Knows of no failure, and of no other node ranks until start().
  failure_watch(unsigned node_rank, watch_options options);
  /// leave(), if that has not been called.
  ~failure_watch();
  failure_watch(const failure_watch&) = delete;
  failure_watch& operator=(const failure_watch&) = delete;

  /// Takes the connections, of node rank 0 to all others, of the others to node rank 0, and starts the thread.
  void start(std::vector<node_link> links);

  /// The first failure that was heard of.
  [[nodiscard]] std::optional<node_failure> failure() const;
  /// Throws cluster_failure if there is one. Else a load of an atomic.
  void check() const;
  /// Tells what this node rank does from now on, at once, so that the others know it if the node rank is killed then.
  /// The text is cut at 1,000 bytes.
  void set_phase(std::string_view phase);
  [[nodiscard]] std::string phase() const;
  /// Tells the others that this node rank failed and why; for when it leaves by an exception. Nothing if a failure is
  /// known already. Reasons are cut at 3,000 bytes.
  void announce_failure(std::string_view reason) noexcept;
  /// Says goodbye and ends the thread. Node rank 0 blocks until every other node rank has left or a failure is known.
  /// No failure is heard of afterwards.
  void leave() noexcept;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace spansort::transport
