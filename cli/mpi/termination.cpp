// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/termination.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "cli/interrupts.hpp"

namespace cli {
namespace {

constexpr std::chrono::milliseconds time_to_explain{700};

// Of the process, as signals are.
std::atomic<bool> is_terminated{false};

sigset_t only_sigterm() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  return set;
}

void wait_for_sigterm() {
  const sigset_t sigterm = only_sigterm();
  int number = 0;
  while (::sigwait(&sigterm, &number) != 0) {
  }
  is_terminated.store(true);
  std::this_thread::sleep_for(time_to_explain);
  remove_temporary_now();
  std::signal(SIGTERM, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &sigterm, nullptr);
  ::raise(SIGTERM);
}

[[noreturn]] void end_with(int status, const std::string& message) noexcept {
  // In one piece: several node ranks write to the same terminal.
  static_cast<void>(std::fputs(message.c_str(), stderr));
  std::fflush(stderr);
  remove_temporary_now();
  ::_exit(status);
}

}  // namespace

void delay_sigterm() {
  struct sigaction before {};
  if (::sigaction(SIGTERM, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) return;
  const sigset_t sigterm = only_sigterm();
  ::pthread_sigmask(SIG_BLOCK, &sigterm, nullptr);
  std::thread(wait_for_sigterm).detach();
}

void stay_if_terminated() {
  while (is_terminated.load()) std::this_thread::sleep_for(time_to_explain);
}

void end_after_failure_of(const spansort::mpi::failure& failed, unsigned node_rank) noexcept {
  end_with(7, fmt::format("spansort: node rank {}: {}\n", node_rank, failed.message));
}

void end_alone(const outcome& end, unsigned node_rank) noexcept {
  end_with(end.status, fmt::format("spansort: node rank {}: {}\n", node_rank, end.message));
}

}  // namespace cli
