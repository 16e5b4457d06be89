// SPDX-License-Identifier: Apache-2.0
// The values of a column as unsigned numbers in ascending order of the values, whatever the column's kind.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "spansort/table.hpp"
#include "table/check_column.hpp"
#include "table/row_block.hpp"
#include "table/string_chunks.hpp"

namespace spansort::table {

/// Returns what says whether the value of a row counts as null, in the column or as NaN. Dictionaries are not looked
/// into. The memory behind the column outlives it.
[[nodiscard]] std::function<bool(std::uint64_t)> null_test(const sort_column& column);

/// Numbers of a column, or of a part of its values.
struct column_source {
  /// Writes a number for each row, and anything for rows whose bit says that they are null.
  std::function<void(const row_block&, std::uint64_t*)> read;
  /// Greater numbers stand for null, too.
  std::uint64_t greatest_value = std::numeric_limits<std::uint64_t>::max();
};

/// A column's sources, the most significant first; strings that go on behind the last one are given with them.
struct column_sources {
  std::vector<column_source> sources;
  std::shared_ptr<const string_column> strings;
};

/// Throws invalid_argument for columns that are none. What the caller's memory holds is looked at where a wrong value
/// would lead out of it: offsets and indices of dictionaries. `most_string_bits`: of a string's first chunk.
[[nodiscard]] column_sources sources_of(const sort_column& column, std::uint64_t num_rows, unsigned most_string_bits);

}  // namespace spansort::table
