// SPDX-License-Identifier: Apache-2.0
// Keys and the values of a second file, row by row: elements are a key and its values, which are sorted as records and
// go to two files.
#pragma once

#include <memory>
#include <string>

#include "files/element_kind.hpp"
#include "spansort/files.hpp"

namespace spansort::files {

/// Opens `input` and the values that `file` names, and finds both outputs. Throws what is wrong with them.
[[nodiscard]] std::unique_ptr<element_kind> open_valued_keys(const std::string& input, const std::string& output,
                                                             const file_options& file);

}  // namespace spansort::files
