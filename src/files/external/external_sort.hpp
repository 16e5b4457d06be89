// SPDX-License-Identifier: Apache-2.0
// Sorting what is larger than memory: sorted runs on disk, then ranges of their merge, each sorted in memory. Runs and
// ranges are sorted by whatever the element_order sorts with, so by GPUs too.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"
#include "files/external/runs.hpp"
#include "files/external/spill_plan.hpp"
#include "files/external/stage_clock.hpp"
#include "files/external/verifying_writer.hpp"

namespace spansort::external {

/// This says what a stage of a pass did, and when. Stages of a pass overlap.
struct stage_report {
  std::string_view name;
  const stage_clock& clock;
};

struct external_options {
  spill_plan plan;
  std::vector<std::string> folders;  ///< for temporary files
  write_options writing;
  /// Called on the calling thread with the phase and how far the whole is, 0 to 1; may throw to stop.
  std::function<void(std::string_view phase, double fraction)> on_progress = {};
  /// Sorts the elements in the place of order.sort(), and reports that itself, where all of them are in memory at once.
  std::function<void(std::byte* elements, std::uint64_t count)> sort_whole = {};
  /// Called on the calling thread when a stage has ended; a stage of each merge has the same name as that of the
  /// others.
  std::function<void(const stage_report& stage)> on_stage = {};
};

struct external_result {
  std::uint64_t num_in = 0;
  std::uint64_t num_out = 0;
  std::uint64_t spilled_bytes = 0;
  std::uint64_t num_runs = 0;  ///< 0: all was in memory at once
  unsigned num_merges = 0;
};

/// Sorts `source` into `sink`, which is finished. Blocks. Throws what its parts throw; the output is then as it was and
/// nothing of the temporary files is left.
external_result sort_external(element_source& source, element_sink& sink, element_order& order,
                              const external_options& options);

/// Merges sorted runs into `sink`. Of equal elements those of earlier runs come first.
external_result merge_external(run_list runs, element_sink& sink, element_order& order,
                               const external_options& options);

}  // namespace spansort::external
