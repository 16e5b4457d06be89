// SPDX-License-Identifier: Apache-2.0
// Timed sorts of one input in host memory, and what their reports say.
#pragma once

#include <nlohmann/json.hpp>
#include <spansort/report.hpp>
#include <spansort/sort.hpp>
#include <vector>

#include "bench/gpu/host_arrays.hpp"

namespace bench {

struct sort_runs {
  double first_call_ms = 0;  ///< the sorter made, its workspace allocated; the caller's array is there before
  std::vector<double> runs_ms;
  spansort::sort_report report;  ///< of one more run, for taking the phases' times costs some
  bool verified = true;          ///< the first call and all runs

  [[nodiscard]] double median_ms() const;
};

/// `repeats` sorts at `work` by a sorter that keeps its workspace, each of the fresh input. Each is verified, the last
/// one with the library's checksum. The first call before them warms up.
[[nodiscard]] sort_runs run_sorts(host_arrays& arrays, const host_input& input, void* work,
                                  spansort::sort_options options, unsigned repeats);

// Parts of a case's JSON object.

[[nodiscard]] nlohmann::ordered_json to_json(const host_input& input);
[[nodiscard]] nlohmann::ordered_json to_json(const sort_runs& runs, std::uint64_t num_keys);
/// Returns, for every rank and phase, its first start, its last end, and the time in which the device was at it.
[[nodiscard]] nlohmann::ordered_json phases_by_rank(const spansort::sort_report& report);

}  // namespace bench
