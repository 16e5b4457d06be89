// SPDX-License-Identifier: Apache-2.0
#include "soak/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace spansort::soak {

worker_process::worker_process(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  process_ = ::fork();
  if (process_ < 0) throw std::runtime_error("fork failed");
  if (process_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  from_ = ends[0];
}

worker_process::~worker_process() {
  if (process_ > 0) {
    kill();
    static_cast<void>(wait());
  }
  ::close(from_);
}

std::vector<std::string> worker_process::read_lines(bool& has_ended) {
  std::array<char, 4096> bytes{};
  const ssize_t count = ::read(from_, bytes.data(), bytes.size());
  has_ended = count <= 0;
  if (count > 0) rest_.append(bytes.data(), static_cast<std::size_t>(count));
  std::vector<std::string> lines;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
    lines.push_back(rest_.substr(0, end));
    rest_.erase(0, end + 1);
  }
  return lines;
}

void worker_process::kill() const { ::kill(process_, SIGKILL); }

std::string worker_process::wait() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0) continue;
  process_ = -1;
  if (WIFSIGNALED(status)) return fmt::format("the process ended by signal {}", WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("the process ended with status {}", WEXITSTATUS(status));
}

}  // namespace spansort::soak
