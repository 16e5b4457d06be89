// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/cluster_flags.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

#include "cli/common.hpp"
#include "cli/mpi/termination.hpp"
#include "cli/numbers.hpp"
#include "spansort/errors.hpp"

namespace cli {
namespace {

constexpr std::uint64_t longest_timeout_s = 86'400;

std::chrono::seconds parse_heartbeat_timeout(const std::string& text) {
  const std::uint64_t seconds = parse_whole_number("--heartbeat-timeout", text);
  if (seconds == 0 || seconds > longest_timeout_s) {
    throw spansort::invalid_argument(
        fmt::format("--heartbeat-timeout: {} is not 1 to {} seconds", text, longest_timeout_s));
  }
  return std::chrono::seconds(seconds);
}

/// Stopped by a signal, the process is silent, and the test may kill it; one that waits answers signals.
void suffer_test_fault(std::string_view kind) {
  if (kind == "fail") throw spansort::out_of_memory("the failure that a test asked for", 0, 0);
  if (kind == "stop") std::raise(SIGSTOP);
  while (kind == "wait") std::this_thread::sleep_for(std::chrono::seconds(1));
}

/// Returns what makes the fault befall the given node rank in the given phase.
std::function<void(std::string_view)> parse_test_fault(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t first = text.find(':');
  const std::size_t last = text.rfind(':');
  const std::string kind = text.substr(0, first);
  if (first == last || (kind != "stop" && kind != "fail" && kind != "wait")) {
    throw spansort::invalid_argument("--test-fault: stop, fail or wait:PHASE:RANK expected");
  }
  int node_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &node_rank);
  if (parse_whole_number("--test-fault", text.substr(last + 1)) != static_cast<std::uint64_t>(node_rank)) return {};
  return [kind, phase = text.substr(first + 1, last - first - 1)](std::string_view entered) {
    if (entered == phase) suffer_test_fault(kind);
  };
}

/// MPI may see that another is gone before the watch has heard of it, which knows who it is and ends this process.
void wait_for_the_watch(const spansort::cluster_failure& failure) {
  constexpr std::chrono::milliseconds limit{500};
  if (failure.node_rank() < 0) std::this_thread::sleep_for(limit);
}

/// The end of a session, and whether all node ranks saw what was thrown, if anything was.
struct session_end {
  bool is_shared = true;
  bool is_echo = false;
};

void call_in_session(spansort::mpi::session& session, const std::function<void(spansort::mpi::session&)>& f,
                     session_end& end) {
  try {
    f(session);
  } catch (const spansort::cluster_failure& failure) {
    end.is_shared = session.all_know_of_failure();
    if (!end.is_shared) wait_for_the_watch(failure);
    throw;
  } catch (...) {
    end.is_shared = session.all_know_of_failure();
    throw;
  }
}

}  // namespace

void add_cluster_flags(CLI::App& command, cluster_arguments& arguments) {
  command
      .add_option("--exchange", arguments.exchange,
                  "How GPUs of different node ranks exchange: nccl, host, or auto, which is nccl where it can be had")
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option("--heartbeat-timeout", arguments.heartbeat_timeout,
                  "Seconds after which a node rank of which nothing was heard has failed")
      ->type_name("SECONDS")
      ->capture_default_str();
  command.add_option("--test-fault", arguments.test_fault)->group("");
}

void apply_cluster_flags(const cluster_arguments& arguments, spansort::mpi::options& options) {
  options.heartbeat_timeout = parse_heartbeat_timeout(arguments.heartbeat_timeout);
  options.exchange = spansort::mpi::parse_exchange_method(arguments.exchange);
  options.on_phase = [fault = parse_test_fault(arguments.test_fault)](std::string_view phase) {
    if (fault) fault(phase);
    stay_if_terminated();
  };
}

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

outcome run_in_session(const mpi_world& world, spansort::mpi::options options,
                       const std::function<void(spansort::mpi::session&)>& f, const std::function<void()>& last) {
  options.on_failure = [node_rank = world.node_rank()](const spansort::mpi::failure& failed) {
    end_after_failure_of(failed, node_rank);
  };
  session_end end;
  const outcome mine = run_caught([&] {
    try {
      // Unwound before the message: while an exception is on its way, its end tells the others of the failure. That of
      // a session that heard of another's failure waits for on_failure.
      spansort::mpi::session session(MPI_COMM_WORLD, std::move(options));
      call_in_session(session, f, end);
    } catch (const spansort::cluster_failure&) {
      end.is_echo = true;
      throw;
    }
    if (last) last();
    return status_ok;
  });
  if (!end.is_shared) end_alone(mine, world.node_rank());
  return agree_on_outcome(world, {mine, end.is_echo});
}

}  // namespace cli
