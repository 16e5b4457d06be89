// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupts.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <string>
#include <string_view>

namespace cli {
namespace {

// A signal handler can see nothing but globals.
struct announced_file {
  std::array<char, PATH_MAX> path{};
  std::atomic<bool> is_there{false};
};
std::array<announced_file, 2> temporaries{};
std::atomic<bool> has_progress_line{false};
std::atomic<bool> is_drawing{false};
std::atomic<bool> is_ending{false};  ///< nothing is drawn any more
pthread_t taking_thread{};           ///< written before any handler is set
static_assert(std::atomic<bool>::is_always_lock_free);

// A line that another thread is drawing must not come after the one that clears it. This thread may itself have been
// interrupted while it drew, so the wait has an end.
void end_drawing() noexcept {
  is_ending.store(true);
  constexpr timespec moment{0, 1'000'000};
  for (int waits = 0; is_drawing.load() && waits < 100; ++waits) ::nanosleep(&moment, nullptr);
}

// A signal that comes to another thread is handed to the one that holds signals between two renames: the process must
// not end there, for the outputs would not belong together.
extern "C" void remove_and_raise(int signal_number) {
  if (::pthread_equal(::pthread_self(), taking_thread) == 0) {
    ::pthread_kill(taking_thread, signal_number);
    return;
  }
  cli::remove_temporary_now();
  end_drawing();
  cli::clear_progress_line();
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(signal_number, &usual, nullptr);
  ::raise(signal_number);
}

void announce(announced_file& file, const std::string& path) {
  file.is_there.store(false);
  if (path.empty() || path.size() >= file.path.size()) return;
  *std::copy(path.begin(), path.end(), file.path.begin()) = '\0';
  file.is_there.store(true);
}

}  // namespace

void remove_temporary_now() noexcept {
  for (const announced_file& file : temporaries) {
    if (file.is_there.load()) ::unlink(file.path.data());
  }
}

void draw_progress_line(const std::string& line) noexcept {
  const std::string text = "\r" + line + "\x1b[K";
  is_drawing.store(true);
  if (!is_ending.load()) {
    has_progress_line.store(true);
    static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  }
  is_drawing.store(false);
}

void clear_progress_line() noexcept {
  constexpr std::string_view text = "\r\x1b[K";
  if (has_progress_line.exchange(false)) static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

void clean_up_on_signals() {
  taking_thread = ::pthread_self();
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU}) {
    struct sigaction before {};
    if (::sigaction(signal_number, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    struct sigaction handler {};
    handler.sa_handler = remove_and_raise;
    handler.sa_flags = SA_NODEFER | SA_RESTART;
    ::sigaction(signal_number, &handler, nullptr);
  }
}

spansort::temporary_file_callback remove_temporary_on_signals() {
  clean_up_on_signals();
  return [](const std::string& path) { announce(temporaries[0], path); };
}

spansort::temporary_file_callback also_remove_temporary() {
  return [](const std::string& path) { announce(temporaries[1], path); };
}

}  // namespace cli
