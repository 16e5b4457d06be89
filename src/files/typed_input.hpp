// SPDX-License-Identifier: Apache-2.0
// An input whose elements are keys, or what a .npy array may hold besides them, made ready to be read as what the sorts
// take.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "files/io/key_reader.hpp"
#include "spansort/files.hpp"
#include "spansort/records.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

struct typed_input {
  key_reader reader;
  std::optional<record_format> records;  ///< nothing: keys
  bool is_time = false;                  ///< keys are dates or time differences, lowered where that puts NaT last
  bool is_along_axis = false;            ///< more than one row, along the axis of the request
  std::string elements;                  ///< what they are, in words: "f32", "datetime64[ns]", "S10"
};

/// The caller's word on an input.
struct input_request {
  std::optional<key_type> type = {};
  array_options array = {};
  spansort::direction direction = spansort::direction::ascending;
};

/// Throws what key_reader and order_of_array() throw, and invalid_argument for fields of keys and
/// for an axis that is none.
[[nodiscard]] typed_input open_typed_input(const std::string& path, const input_request& request);

}  // namespace spansort::files
