// SPDX-License-Identifier: Apache-2.0
// A file job is what sorting a file takes, found out before a key of it is read: input, output, order, and the plan
// that memory allows. Then the one way in which all of it is done: elements are read, sorted at once or in runs and
// ranges, and go through the verifying writer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/test_hooks.hpp"
#include "files/element_kind.hpp"
#include "files/external/element_order.hpp"
#include "files/external/external_sort.hpp"
#include "files/external/spill_plan.hpp"
#include "report/open_report.hpp"
#include "spansort/files.hpp"

namespace spansort::files {

enum class file_operation : std::uint8_t {
  sort,
  argsort,
  merge,  ///< of several inputs that are sorted already
};

/// Returns the name that reports have for the operation.
[[nodiscard]] std::string_view name(file_operation operation) noexcept;

struct file_job {
  file_operation operation = file_operation::sort;
  std::unique_ptr<element_kind> elements;
  std::unique_ptr<external::element_order> order;
  external::spill_plan plan;
  std::optional<std::uint64_t> num_elements;  ///< of all inputs
  std::optional<std::uint64_t> head;          ///< elements that are wanted at most
  std::uint64_t ceiling_bytes = 0;
  std::vector<std::string> folders;
  spansort::direction direction = spansort::direction::ascending;
  sort_options options;       ///< the caller's, but for the devices, which are those of a sort in parts
  device_list whole_devices;  ///< the caller's: those of keys that are sorted at once
  base::test_hooks hooks;

  /// Keys of a known number that fit in memory: one sort with the caller's devices, report and progress.
  bool is_held_whole = false;
  /// The elements that are wanted are few enough to be kept while the input goes by: nothing is spilled.
  bool is_head_sort = false;

  [[nodiscard]] const std::string& input_name() const noexcept { return elements->input_name(); }
  [[nodiscard]] std::uint64_t output_bytes() const;
  [[nodiscard]] std::uint64_t temporary_bytes() const;
};

/// Opens `input` and finds `output`. Throws what is wrong with them, invalid_argument for options that do not go
/// together, out_of_memory for a ceiling that is too low, io_error for too little space. A merge's inputs are not all
/// known here: whoever knows them plans it.
[[nodiscard]] file_job make_file_job(const std::string& input, const std::string& output, const file_options& file,
                                     const sort_options& options, file_operation operation);

/// Plans a sort in parts for `num_elements`, nothing where their number is unknown.
void plan_parts(file_job& job, std::optional<std::uint64_t> num_elements);

/// Throws io_error unless temporary files can be made and there is room for them and for the output.
void require_space(const file_job& job, const file_options& file);

/// Throws what the input's size and the output's name are refused for when the work begins.
void require_sound_ends(file_job job, const file_options& file);

/// Does the job and fills the caller's report, which is open.
file_result run(file_job job, const file_options& file, report::open_report& open);

/// Merges the runs of a job whose operation is merge, and fills the caller's report, which is open.
file_result merge(const file_job& job, const file_options& file, external::run_list runs, report::open_report& open);

}  // namespace spansort::files
