// SPDX-License-Identifier: Apache-2.0
// A peer that is started once and told by lines what to do: of thousands of small sorts none pays for a start.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <spansort/errors.hpp>
#include <sstream>
#include <thread>

#include "bench/suites/peers/peers.hpp"

namespace bench {

/// A peer's process with the pipes to and from it.
class peer_session {
 public:
  explicit peer_session(const std::string& command);
  ~peer_session();
  peer_session(const peer_session&) = delete;
  peer_session& operator=(const peer_session&) = delete;

  /// Sends a line and returns the one that answers it. Throws device_error where the peer has ended or takes too long,
  /// invalid_argument where it answers `no REASON`.
  std::string ask(const std::string& line);
  [[nodiscard]] std::string file(const char* name) const { return folder_.file(name); }
  [[nodiscard]] bool has_failed() const { return has_failed_; }

 private:
  [[nodiscard]] std::string read_line();
  [[noreturn]] void fail(const char* why);

  temporary_folder folder_;
  ::pid_t process_ = -1;
  int to_ = -1;
  int from_ = -1;
  bool has_failed_ = false;
};

namespace {

constexpr int longest_answer_ms = 300'000;

struct two_ends {
  int read;
  int write;
};

two_ends make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw spansort::io_error("cannot make a pipe to the peer", errno);
  return {ends[0], ends[1]};
}

}  // namespace

peer_session::peer_session(const std::string& command) {
  ::signal(SIGPIPE, SIG_IGN);  // a peer that has ended is an error of that peer alone
  const two_ends requests = make_pipe();
  const two_ends answers = make_pipe();
  process_ = ::fork();
  if (process_ == 0) {
    ::setpgid(0, 0);
    ::dup2(requests.read, STDIN_FILENO);
    ::dup2(answers.write, STDOUT_FILENO);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(requests.read);
  ::close(answers.write);
  to_ = requests.write;
  from_ = answers.read;
  if (process_ < 0) throw spansort::device_error("cannot start a shell for the peer");
}

peer_session::~peer_session() {
  ::close(to_);
  ::close(from_);
  if (process_ <= 0) return;
  // One that still sorts is not waited for.
  ::kill(-process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void peer_session::fail(const char* why) {
  has_failed_ = true;
  throw spansort::device_error(why);
}

std::string peer_session::read_line() {
  std::string line;
  for (;;) {
    ::pollfd wanted{.fd = from_, .events = POLLIN, .revents = 0};
    if (::poll(&wanted, 1, longest_answer_ms) <= 0) fail("the peer does not answer");
    char c = 0;
    const ::ssize_t got = ::read(from_, &c, 1);
    if (got <= 0) fail("the peer has ended");
    if (c == '\n') return line;
    line += c;
  }
}

std::string peer_session::ask(const std::string& line) {
  const std::string whole = line + "\n";
  if (::write(to_, whole.data(), whole.size()) != static_cast<::ssize_t>(whole.size())) fail("the peer has ended");
  const std::string answer = read_line();
  if (answer.starts_with("no ")) throw spansort::invalid_argument(answer.substr(3));
  return answer;
}

std::shared_ptr<peer_session> start_session(const std::string& command) {
  return std::make_shared<peer_session>(command);
}

bool has_failed(const peer_session& session) { return session.has_failed(); }

namespace {

elapsed parse_times(const std::string& answer) {
  std::istringstream words(answer);
  double wall_s = -1, cpu_s = -1;
  words >> wall_s;
  if (!words || wall_s < 0)
    throw spansort::bad_input(fmt::format("the peer's answer has no number of seconds: '{}'", answer));
  words >> cpu_s;
  return words ? elapsed(wall_s, cpu_s) : elapsed(wall_s);
}

/// Waits until threads that spin for more work have gone to sleep, where a sort has used several: the next contender is
/// not to pay for them.
void let_threads_sleep(const elapsed& took) {
  constexpr double several = 1.2;
  if (took.cpu_s.value_or(0) > several * took.wall_s) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void require_ok(const std::string& answer) {
  if (answer != "ok") throw spansort::bad_input(fmt::format("the peer's answer is not ok: '{}'", answer));
}

}  // namespace

contender session_contender(const std::shared_ptr<peer_session>& session, const std::string& type, input& data) {
  write_input(session->file("input"), data);
  require_ok(
      session->ask(fmt::format("load {} {} {} {}", type, data.num_keys(), data.num_arrays(), session->file("input"))));
  contender made;
  made.prepare = [] {};
  made.run = [session] {
    const elapsed took = parse_times(session->ask("sort"));
    let_threads_sleep(took);
    return took;
  };
  made.fetch = [session, &data] {
    require_ok(session->ask("store " + session->file("output")));
    read_output(session->file("output"), data);
  };
  return made;
}

}  // namespace bench
