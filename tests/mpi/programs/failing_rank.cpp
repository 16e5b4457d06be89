// SPDX-License-Identifier: Apache-2.0
// One rank is killed, stopped or throws while the others wait for it: what test_failure.py runs and watches. Shows how
// a program meets the failure of a rank: SIGTERM ignored, because mpirun sends it to the survivors, followed by SIGKILL
// a second later; the message and exit status 7 from the watch's own thread, whatever the others are busy with.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "mpi/transport/mpi_handle.hpp"
#include "spansort/errors.hpp"

namespace {

using spansort::transport::group_options;
using spansort::transport::make_node_group;
using spansort::transport::node_failure;
using spansort::transport::node_group;

struct arguments {
  std::string fate;         ///< kill, stop, throw, exit: what becomes of the victim; none: of nobody
  unsigned victim = 0;      ///< its rank
  std::string others;       ///< what the others do: gather, compute, or throw: gather, and no callback ends them
  long silence_ms = 20000;  ///< heartbeat_timeout
};

void meet_fate(const std::string& fate) {
  if (fate == "kill") std::raise(SIGKILL);
  if (fate == "stop") std::raise(SIGSTOP);
  if (fate == "throw") throw spansort::io_error("the disk is full", 0);
  if (fate == "exit") ::_exit(0);
}

void wait_for_victim(node_group& group, const std::string& how) {
  if (how != "compute") {
    const std::uint64_t mine = 1;
    static_cast<void>(group.all_gather({&mine, 1}));
    return;
  }
  // Until the watch ends the process.
  while (true) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

unsigned world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return static_cast<unsigned>(rank);
}

void run(const arguments& given, unsigned rank) {
  group_options options;
  options.watch.heartbeat_timeout = std::chrono::milliseconds(given.silence_ms);
  if (given.others != "throw") {
    options.watch.on_failure = [rank](const node_failure& failure) {
      fmt::print(stderr, "rank {}: {}\n", rank, failure.message());
      ::_exit(7);
    };
  }
  const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD, options);
  const bool is_victim = group->node_rank() == given.victim && given.fate != "none";
  group->set_phase("preparing");
  group->barrier();
  group->set_phase(is_victim ? "being the victim" : "waiting");
  try {
    if (is_victim) meet_fate(given.fate);
    if (given.fate == "none") {
      // Ranks that end at different times are no failure.
      std::this_thread::sleep_for(std::chrono::milliseconds(group->node_rank() == given.victim ? 1000 : 0));
    } else {
      wait_for_victim(*group, given.others);
    }
  } catch (const std::exception& failure) {
    group->announce_failure(failure.what());
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: failing_rank kill|stop|throw|exit|none VICTIM gather|compute|throw SILENCE_MS\n");
    return 2;
  }
  std::signal(SIGTERM, SIG_IGN);
  MPI_Init(&argc, &argv);
  const unsigned rank = world_rank();
  try {
    run({argv[1], static_cast<unsigned>(std::atoi(argv[2])), argv[3], std::atol(argv[4])}, rank);
  } catch (const spansort::error& failure) {
    // Not by MPI_Finalize, which waits for all ranks.
    fmt::print(stderr, "rank {}: {}\n", rank, failure.what());
    ::_exit(failure.exit_status());
  }
  MPI_Finalize();
  return 0;
}
