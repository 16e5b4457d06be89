// SPDX-License-Identifier: Apache-2.0
// A case is what one number of a seed draws: one to four jobs that run at the same time, how each is called, and what
// goes wrong for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "soak/job.hpp"

namespace spansort::soak {

/// A fault that the soak itself has, so that its test sees it found.
enum class planted : std::uint8_t { nothing, wrong, leak, descriptor, thread, file, crash, hang };
[[nodiscard]] std::string_view name(planted p);
[[nodiscard]] planted parse_planted(std::string_view text);

struct settings {
  std::uint64_t seed = 1;
  std::uint64_t most_keys = 0;
  bool has_gpu = false;
  std::string folder;   ///< this process's own
  std::string command;  ///< the path of `spansort`, "" for none
  planted plant = planted::nothing;
  bool tells = false;  ///< what is drawn is printed before it runs
};

/// An operation and how it ended.
struct outcome {
  std::string_view operation;
  ending end = ending::done;
  bool is_on_gpus = false;
};

/// The result of at most four jobs. It has no memory of its own where all was right, which would look like a leak.
struct case_result {
  std::array<outcome, 4> outcomes = {};
  std::size_t num_jobs = 0;
  std::string failure = {};  ///< "" where all was right
};

/// Runs the case once.
[[nodiscard]] case_result run_case(const settings& s, std::uint64_t number);

/// Runs the case and looks at what the process holds before and after. What is held longer may be kept for the next
/// call, so such a case runs again: it fails where each of several more runs adds to it.
[[nodiscard]] case_result run_watched_case(const settings& s, std::uint64_t number);

}  // namespace spansort::soak
