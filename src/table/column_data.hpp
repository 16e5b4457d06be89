// SPDX-License-Identifier: Apache-2.0
// Columns with the memory that they lie in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_buffer.hpp"
#include "base/call_watch.hpp"
#include "spansort/arrow.hpp"

namespace spansort::table {

/// A layout says how a column's values lie, by Arrow's format string.
struct column_layout {
  column_kind kind = column_kind::number;
  key_type type = key_type::u64;
  std::uint32_t value_bytes = 0;  ///< of a value, a view or a dictionary's index; 0 for booleans and for offsets
  bool has_order = true;
  bool is_ordered = false;   ///< a dictionary whose indices give the order
  bool is_all_null = false;  ///< Arrow's type without values: booleans here

  friend bool operator==(const column_layout&, const column_layout&) = default;
};

/// Throws invalid_argument for formats that cannot be carried.
[[nodiscard]] column_layout layout_of(const ArrowSchema& schema);

struct column_data {
  column_layout layout = {};
  column_span span = {};
  std::uint64_t num_rows = 0;
  std::shared_ptr<const void> memory = {};
  std::vector<std::shared_ptr<const void>> view_memory = {};  ///< that views point into
  std::shared_ptr<const column_data> dictionary = {};
};

/// Memory of a column's own.
struct column_buffers {
  base::byte_buffer values;
  base::byte_buffer offsets;
  base::byte_buffer validity;
  std::vector<const void*> view_buffers;
  std::vector<std::int64_t> view_buffer_bytes;
  std::vector<std::shared_ptr<const void>> view_memory;
};

/// Makes a column of `layout` that lies in `buffers`.
[[nodiscard]] column_data column_in(const column_layout& layout, std::uint64_t num_rows,
                                    std::shared_ptr<column_buffers> buffers);

/// Makes a column of Arrow's type without values.
[[nodiscard]] column_data all_null_column(std::uint64_t num_rows);

void set_dictionary(column_data& column, std::shared_ptr<const column_data> dictionary);

/// Bytes of `num_rows` bits, in whole words.
[[nodiscard]] constexpr std::uint64_t bitmap_bytes(std::uint64_t num_rows) noexcept { return (num_rows + 63) / 64 * 8; }

/// The bit of a row of values or of a bitmap, counted from the column's first row.
[[nodiscard]] inline bool bit_at(const void* bits, std::uint64_t place) noexcept {
  return (static_cast<const std::uint8_t*>(bits)[place / 8] >> place % 8 & 1U) != 0;
}

/// Returns the chunks as one column, by copies. There is one chunk at least. Throws invalid_argument where
/// dictionaries of chunks differ.
[[nodiscard]] column_data concatenate(std::span<const column_data> chunks, std::string_view name);

/// Returns rows of a column in the order of `rows`, all of which are below its number of rows. `watch` is asked between
/// parts of the work, where there is one.
[[nodiscard]] column_data take_rows(const column_data& column, std::span<const std::uint64_t> rows,
                                    std::string_view name, const base::call_watch* watch = nullptr);

}  // namespace spansort::table
