// SPDX-License-Identifier: Apache-2.0
// What sorting a file takes, found out before a key of it is read: input, output, order, and the plan that memory
// allows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"
#include "files/external/external_sort.hpp"
#include "files/external/spill_plan.hpp"
#include "files/io/input.hpp"
#include "files/io/key_reader.hpp"
#include "files/io/output_target.hpp"
#include "spansort/files.hpp"

namespace spansort::files {

enum class file_outcome : std::uint8_t {
  elements,
  indices,
  merged,  ///< elements of several inputs that are sorted
};

struct file_job {
  std::string input;  ///< its name for messages, once it is open
  file_outcome outcome = file_outcome::elements;
  std::optional<key_reader> reader;         ///< nothing for records
  std::optional<input_file> records_input;  ///< nothing for keys
  key_type type = key_type::u8;             ///< of no meaning for records
  output_target target;
  key_layout layout;  ///< of the output; of no meaning for records
  std::unique_ptr<external::element_order> order;
  external::spill_plan plan;
  std::optional<std::uint64_t> num_elements;
  std::optional<std::uint64_t> head;  ///< elements that are wanted at most
  std::uint64_t ceiling_bytes = 0;
  std::vector<std::string> folders;
  spansort::direction direction = spansort::direction::ascending;
  sort_options options;
  base::test_hooks hooks;  ///< devices decided

  /// Keys of a known number that are sorted as they lie in memory, without elements and streams of them.
  bool is_whole_in_memory = false;
  /// True where so few elements are wanted that they are kept while the input goes by: nothing is spilled, whatever its
  /// size.
  bool is_bounded_head = false;

  [[nodiscard]] std::uint64_t output_bytes() const;
  [[nodiscard]] std::uint64_t temporary_bytes() const;
};

/// Opens `input` and finds `output`. Throws what is wrong with them, invalid_argument for options that do not go
/// together, out_of_memory for a ceiling that is too low, io_error for too little space. A merge's inputs are not all
/// known here: whoever knows them plans it.
[[nodiscard]] file_job make_file_job(const std::string& input, const std::string& output, const file_options& file,
                                     const sort_options& options, file_outcome outcome);

/// Elements of keys or records that a sort in parts makes do with; `num_elements` nothing: unknown.
void plan_parts(file_job& job, std::optional<std::uint64_t> num_elements);

/// Throws io_error unless temporary files can be made and there is room for them and for the output.
void require_space(const file_job& job, const file_options& file);

/// Makes the sink to which the elements of a job go.
[[nodiscard]] std::unique_ptr<external::element_sink> make_sink(const file_job& job, const file_options& file);

/// Throws what the input's size and the output's name are refused for when the work begins.
void require_sound_ends(file_job job, const file_options& file);

/// Returns what external sorts are told, progress included.
[[nodiscard]] external::external_options parts_options(const file_job& job, const file_options& file);

/// Sorts what is not whole in memory: in parts, or in memory where it turns out to fit.
file_result sort_in_parts(file_job job, const file_options& file);

/// What the caller is told of an external sort.
[[nodiscard]] file_result result_of(const file_job& job, const file_options& file,
                                    const external::external_result& result);
void fill_report(const file_job& job, const external::external_result& result, double elapsed_ms);

}  // namespace spansort::files
