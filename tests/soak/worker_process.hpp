// SPDX-License-Identifier: Apache-2.0
// A worker as the supervisor has it: a process, and the pipe of its lines.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace spansort::soak {

class worker_process {
 public:
  /// Starts `words`, of which the first is the program.
  explicit worker_process(const std::vector<std::string>& words);
  ~worker_process();
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  [[nodiscard]] int descriptor() const { return from_; }
  /// Reads what there is. Returns the whole lines of it; `has_ended` where no more can come.
  [[nodiscard]] std::vector<std::string> read_lines(bool& has_ended);
  /// Returns how long the process and those that it started have computed.
  [[nodiscard]] double processor_seconds() const;
  void kill() const;
  /// Waits for the end. Returns "" for status 0, otherwise words for what ended the process.
  [[nodiscard]] std::string wait();

 private:
  pid_t process_ = -1;
  int from_ = -1;
  std::string rest_;
};

}  // namespace spansort::soak
