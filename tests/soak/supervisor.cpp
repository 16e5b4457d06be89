// SPDX-License-Identifier: Apache-2.0
#include "soak/supervisor.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "soak/tally.hpp"
#include "soak/worker.hpp"
#include "soak/worker_process.hpp"

namespace spansort::soak {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

std::optional<resources> read_held(std::istringstream& words) {
  resources r;
  if (words >> r.allocations >> r.descriptors >> r.threads >> r.resident_bytes) return r;
  return std::nullopt;
}

/// "" or what has grown beyond its bound.
std::string excess(const resources& begin, const resources& end) {
  std::string text;
  const std::int64_t for_threads = allocations_of_a_thread * std::int64_t{std::thread::hardware_concurrency()};
  if (end.allocations > begin.allocations + allowed_growth.allocations + for_threads) text += " allocations";
  if (end.descriptors > begin.descriptors + allowed_growth.descriptors) text += " descriptors";
  if (end.threads > begin.threads + allowed_growth.threads) text += " threads";
  if (end.resident_bytes > begin.resident_bytes + allowed_growth.resident_bytes) text += " memory";
  return text;
}

class supervisor {
 public:
  supervisor(const settings& s, const soak_plan& plan) : settings_(s), plan_(plan) {
    for (unsigned i = 0; i < plan.num_workers; ++i) shares_.push_back({.next = plan.first + i});
  }

  int run() {
    for (unsigned i = 0; i < shares_.size(); ++i) start(i);
    while (is_running()) {
      listen();
      stop_hanging();
      tell_progress();
    }
    counts_.print_table();
    fmt::print("{} cases in {:.0f} s, {} failed\n", counts_.num_cases(), seconds_since(begin_), counts_.num_failed());
    return counts_.num_failed() == 0 ? 0 : 1;
  }

 private:
  /// The cases of one worker.
  struct share {
    std::uint64_t next = 0;  ///< the first case that a new process would run
    std::uint64_t current = 0;
    bool is_in_case = false;
    clock::time_point since = {};
    clock::time_point moved = {};  ///< when the case was last seen to have computed
    double computed_s = 0;         ///< until then, with the cases before it
    std::unique_ptr<worker_process> process = {};
  };

  void start(unsigned index) {
    share& own = shares_[index];
    own.is_in_case = false;
    own.since = clock::now();
    const double left = plan_.seconds - seconds_since(begin_);
    if (left <= 0 || own.next >= plan_.first + plan_.num_cases) return;
    std::vector<std::string> words = {plan_.program, "--worker", std::to_string(index)};
    const auto add = [&](const char* flag, const std::string& value) { words.insert(words.end(), {flag, value}); };
    add("--workers", std::to_string(plan_.num_workers));
    add("--seed", std::to_string(settings_.seed));
    add("--from", std::to_string(own.next));
    add("--cases", std::to_string(plan_.first + plan_.num_cases - own.next));
    add("--seconds", fmt::format("{:.3f}", left));
    add("--folder", settings_.folder);
    add("--keys", std::to_string(settings_.most_keys));
    add("--plant", std::string(name(settings_.plant)));
    if (!settings_.command.empty()) add("--command", settings_.command);
    own.process = std::make_unique<worker_process>(words);
  }

  [[nodiscard]] bool is_running() const {
    for (const share& each : shares_) {
      if (each.process) return true;
    }
    return false;
  }

  void listen() {
    std::vector<pollfd> waiting;
    for (const share& each : shares_) waiting.push_back({each.process ? each.process->descriptor() : -1, POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), 1000);
    for (unsigned i = 0; i < shares_.size(); ++i) {
      if (waiting[i].revents != 0) read(i);
    }
  }

  void read(unsigned index) {
    share& own = shares_[index];
    bool has_ended = false;
    for (const std::string& line : own.process->read_lines(has_ended)) heed(own, line);
    if (!has_ended) return;
    const std::string why = own.process->wait();
    own.process.reset();
    if (why.empty()) return;
    fail(own.is_in_case ? own.current : own.next, why);
    if (own.is_in_case) own.next = own.current + plan_.num_workers;
    start(index);
  }

  void heed(share& own, const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "begin") {
      words >> own.current;
      own.is_in_case = true;
      own.since = own.moved = clock::now();
      own.computed_s = own.process->processor_seconds();
    } else if (verb == "end") {
      own.is_in_case = false;
      own.next = own.current + plan_.num_workers;
      counts_.count_case(line);
    } else if (verb == "failed") {
      std::uint64_t number = 0;
      words >> number;
      fail(number, line.substr(static_cast<std::size_t>(words.tellg()) + 1));
    } else if (verb == "held") {
      compare_held(words);
    } else {
      fmt::print("{}\n", line);
    }
  }

  void compare_held(std::istringstream& words) {
    const std::optional<resources> begin = read_held(words);
    const std::optional<resources> end = read_held(words);
    if (!begin || !end) return;
    fmt::print("held after the first quarter: {}; at the end: {}\n", to_string(*begin), to_string(*end));
    const std::string grown = excess(*begin, *end);
    if (grown.empty()) return;
    counts_.count_failure();
    fmt::print("FAILED: a worker has not come back to what it held:{}; --seed {} --from {} --cases {} runs all again\n",
               grown, settings_.seed, plan_.first, counts_.num_cases());
  }

  void fail(std::uint64_t number, const std::string& what) {
    counts_.count_failure();
    fmt::print("FAILED case {}: {}\n  replay: {}\n", number, what, replay_line(settings_, plan_.program, number));
    std::fflush(stdout);
  }

  /// A loaded machine may let a case take long. It hangs where it computes next to nothing for as long as a case may
  /// take, or has not ended after ten times as long.
  void stop_hanging() {
    for (share& each : shares_) {
      if (!each.process || !each.is_in_case || seconds_since(each.moved) < plan_.case_seconds) continue;
      const double computed_s = each.process->processor_seconds();
      const bool has_moved = computed_s - each.computed_s > 0.01 * plan_.case_seconds;
      if (has_moved && seconds_since(each.since) < 10 * plan_.case_seconds) {
        each.moved = clock::now();
        each.computed_s = computed_s;
        continue;
      }
      fmt::print("case {} has run for {:.0f} seconds\n", each.current, seconds_since(each.since));
      each.process->kill();
      each.moved = clock::now();
    }
  }

  void tell_progress() {
    if (seconds_since(told_) < 60) return;
    told_ = clock::now();
    fmt::print("{:.0f} s: {} cases, {} failed\n", seconds_since(begin_), counts_.num_cases(), counts_.num_failed());
    std::fflush(stdout);
  }

  const settings& settings_;
  const soak_plan& plan_;
  std::vector<share> shares_;
  tally counts_;
  clock::time_point begin_ = clock::now();
  clock::time_point told_ = begin_;
};

}  // namespace

std::string replay_line(const settings& s, const std::string& program, std::uint64_t number) {
  std::string line = fmt::format("{} --case {}:{} --keys {}", program, s.seed, number, s.most_keys);
  if (s.plant != planted::nothing) line += fmt::format(" --plant {}", name(s.plant));
  if (!s.command.empty()) line += " --command " + s.command;
  return line;
}

int run_soak(const settings& s, const soak_plan& plan) { return supervisor(s, plan).run(); }

}  // namespace spansort::soak
