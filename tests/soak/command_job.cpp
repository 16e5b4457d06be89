// SPDX-License-Identifier: Apache-2.0
// The command sorts a file, is stopped by a signal at a random moment, or may write no more than a limit.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "soak/job.hpp"
#include "soak/job_folder.hpp"
#include "support/engines.hpp"
#include "support/oracle.hpp"

namespace spansort::soak {
namespace {

class command_job : public job {
 public:
  explicit command_job(drawing& from) : folder_(from.folder), command_(from.command) {
    const key_type type = from.type();
    const std::string distribution = from.distribution();
    const test::oracle expected =
        test::make_oracle(type, from.size(), parse_distribution(distribution), from.random(), from.one_in(2));
    is_argsort_ = from.one_in(3);
    arguments_ = {is_argsort_ ? "argsort" : "sort",
                  folder_.path("in.bin"),
                  "-o",
                  folder_.path("out.bin"),
                  "--type",
                  std::string(name(type)),
                  "-T",
                  folder_.temporary()};
    if (expected.descending()) arguments_.emplace_back("-r");
    if (from.one_in(3)) arguments_.emplace_back("--verify");
    if (from.one_in(3)) add("-S", fmt::format("{}M", 32 + from.random.below(100)));
    if (from.one_in(2)) {
      const std::uint64_t chunk = 50 + from.random.below(5000);
      add("--test-world", fmt::format("{},{},{}", chunk, 1 + from.random.below(chunk), 2 + from.random.below(6)));
    }
    if (from.one_in(3)) {
      static constexpr int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP};
      signal_ = signals[from.random.below(4)];
      delay_us_ = static_cast<int>(from.random.below(40'000));
    } else if (from.one_in(3)) {
      most_file_bytes_ = from.random.below(expected.input().size() + 2);
    }
    folder_.add_input("in.bin", expected.input());
    folder_.add_input("said", {});
    folder_.add_output({"out.bin",
                        is_argsort_ ? test::values_in_order(expected.order(), 8)
                                    : std::vector(expected.keys_alone().begin(), expected.keys_alone().end()),
                        false, true});
  }

  std::string describe() const override {
    std::string text = fmt::format("spansort {}", fmt::join(arguments_, " "));
    if (signal_ != 0) text += fmt::format(", signal {} after {} us", signal_, delay_us_);
    if (most_file_bytes_) text += fmt::format(", files of {} bytes at most", *most_file_bytes_);
    return text;
  }

  void prepare() override { folder_.prepare(); }

  ending run(const test::hooked_options& options) override {
    std::vector<std::string> words = arguments_;
    words.insert(words.begin(), command_);
    words.insert(words.end(), {"--devices", to_string(options.devices), "--threads",
                               std::to_string(options.threads == 0 ? 2 : options.threads)});
    const pid_t child = start(words);
    if (signal_ != 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(delay_us_));
      ::kill(child, signal_);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) continue;
    if (WIFSIGNALED(status) && WTERMSIG(status) == signal_) {
      return ending::killed;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return ending::done;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 4 && most_file_bytes_) return ending::io_failed;
    const std::vector<std::byte> said = read_bytes(folder_.path("said"));
    throw std::runtime_error(fmt::format("the command ended with {} {}: {}", WIFSIGNALED(status) ? "signal" : "status",
                                         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                                         std::string_view(reinterpret_cast<const char*>(said.data()), said.size())));
  }

  std::string check(ending end) override {
    if (end == ending::done) return folder_.diagnose_new();
    // Only for microseconds does a new file have a name of its own, and only SIGKILL can leave it there.
    const std::string also_allowed = signal_ == SIGKILL ? ".spansort-" : "";
    const std::string not_old = folder_.diagnose_old(also_allowed);
    return end == ending::killed && folder_.diagnose_new(also_allowed).empty() ? "" : not_old;
  }

 private:
  void add(const std::string& flag, const std::string& value) {
    arguments_.push_back(flag);
    arguments_.push_back(value);
  }

  /// Starts the command. Between fork() and exec nothing is called but what a signal handler may call: this process has
  /// threads.
  [[nodiscard]] pid_t start(const std::vector<std::string>& words) const {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string said = folder_.path("said");
    const rlim_t most = most_file_bytes_.value_or(RLIM_INFINITY);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child != 0) return child;
    const int output = ::open(said.c_str(), O_WRONLY | O_TRUNC);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }

  job_folder folder_;
  std::string command_;
  std::vector<std::string> arguments_;
  bool is_argsort_ = false;
  int signal_ = 0;
  int delay_us_ = 0;
  std::optional<std::uint64_t> most_file_bytes_;
};

}  // namespace

std::unique_ptr<job> draw_command(drawing& from) { return std::make_unique<command_job>(from); }

}  // namespace spansort::soak
