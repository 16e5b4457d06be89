// SPDX-License-Identifier: Apache-2.0
// The supervisor starts the workers, counts what they tell, and takes one that crashed or hangs for a failed case: a
// new worker goes on behind it.
#pragma once

#include <cstdint>
#include <string>

#include "soak/case.hpp"

namespace spansort::soak {

struct soak_plan {
  std::string program;  ///< this program's path, for workers and for lines that replay a case
  std::uint64_t first = 0;
  std::uint64_t num_cases = 0;
  double seconds = 0;
  unsigned num_workers = 1;
  double case_seconds = 120;  ///< after which a case hangs
};

/// Returns the exit status: 0 where no case failed.
int run_soak(const settings& s, const soak_plan& plan);

/// The words that run one case again.
[[nodiscard]] std::string replay_line(const settings& s, const std::string& program, std::uint64_t number);

}  // namespace spansort::soak
