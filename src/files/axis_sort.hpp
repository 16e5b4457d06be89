// SPDX-License-Identifier: Apache-2.0
// Sorts and orders the rows of an array along an axis, each by itself: block after block of rows is read, sorted
// in memory and written.
#pragma once

#include <string>

#include "files/typed_input.hpp"
#include "spansort/files.hpp"
#include "spansort/options.hpp"

namespace spansort::files {

/// This says what is written of the rows.
enum class row_outcome : std::uint8_t { keys, indices };

/// `input` is along the axis of `file`. Throws what sort_file() throws, and invalid_argument for options that rows do
/// not have.
file_result sort_along_axis(typed_input input, const std::string& input_path, const std::string& output,
                            const file_options& file, const sort_options& options, row_outcome outcome);

}  // namespace spansort::files
