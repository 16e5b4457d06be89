// SPDX-License-Identifier: Apache-2.0
// The refusal of columns that are none, before any of their values is read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "spansort/table.hpp"

namespace spansort::table {

/// One of Arrow's views: up to 12 bytes lie in it, more in a buffer behind their first four.
struct byte_view {
  static constexpr std::uint64_t most_inline_bytes = 12;

  std::int32_t size = 0;
  std::byte prefix[4] = {};
  std::int32_t buffer = 0;
  std::int32_t offset = 0;
};

[[nodiscard]] constexpr bool has_offsets(column_kind kind) noexcept {
  return kind == column_kind::bytes32 || kind == column_kind::bytes64;
}

/// The bit of a row in a column's bitmap.
[[nodiscard]] inline bool is_valid(const column_span& column, std::uint64_t row) noexcept {
  if (column.validity == nullptr) return true;
  const std::uint64_t place = column.first_row + row;
  return (static_cast<const std::uint8_t*>(column.validity)[place / 8] >> place % 8 & 1U) != 0;
}

/// Throws invalid_argument.
void check_column(const column_span& column, std::uint64_t num_rows);
void check_order(const column_order& order);
/// Looks at all offsets and views, on all threads, before a string is read. Throws invalid_argument where offsets fall
/// or are negative, and where views lead out of their buffers. Columns of other kinds are good.
void check_strings(const column_span& column, std::uint64_t num_rows);

}  // namespace spansort::table
