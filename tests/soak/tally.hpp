// SPDX-License-Identifier: Apache-2.0
// The tally holds what all workers have told so far, as counts, and prints them as the table at the end.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "soak/job.hpp"

namespace spansort::soak {

class tally {
 public:
  /// Counts a line `end ...` of a worker.
  void count_case(const std::string& words);
  void count_failure() { ++num_failed_; }

  [[nodiscard]] std::uint64_t num_cases() const { return num_cases_; }
  [[nodiscard]] std::uint64_t num_failed() const { return num_failed_; }
  void print_table() const;

 private:
  std::map<std::string, std::array<std::uint64_t, num_endings>> endings_;
  std::uint64_t num_cases_ = 0;
  std::uint64_t num_failed_ = 0;
};

}  // namespace spansort::soak
