// SPDX-License-Identifier: Apache-2.0
#include "soak/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace spansort::soak {
namespace {

/// Clock ticks of a process, its ended children, and all that it has started and that still runs.
std::uint64_t ticks_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  std::istringstream words(line.substr(std::min(line.size(), line.rfind(')') + 1)));  // a name may have blanks
  std::string skipped;
  for (int i = 0; i < 11; ++i) words >> skipped;
  std::uint64_t sum = 0;
  for (std::uint64_t ticks = 0, i = 0; i < 4 && words >> ticks; ++i) sum += ticks;
  std::error_code gone;  // an ended process has no threads
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) sum += ticks_of(child);
  }
  return sum;
}

}  // namespace

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

double worker_process::processor_seconds() const {
  return static_cast<double>(ticks_of(process_)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
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
