// SPDX-License-Identifier: Apache-2.0
#include "table/check_column.hpp"

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include "base/for_blocks.hpp"
#include "keys/codec.hpp"
#include "spansort/errors.hpp"

namespace spansort::table {
namespace {

constexpr std::uint32_t most_fixed_bytes = 1024;

void require(bool holds, std::string_view what) {
  if (!holds) throw invalid_argument(fmt::format("argsort_table: {}", what));
}

bool has_known_kind(const column_span& column) {
  return column.kind <= column_kind::byte_views && column.type <= key_type::f64;
}

void check_memory(const column_span& column, std::uint64_t num_rows) {
  constexpr std::uint64_t most_rows = std::numeric_limits<std::uint64_t>::max() / (2 * most_fixed_bytes);
  require(num_rows <= most_rows && column.first_row <= most_rows, "more rows than memory can hold");
  if (num_rows == 0) return;
  // The bytes of strings may be nowhere when all strings are empty.
  require(column.values != nullptr || has_offsets(column.kind), "the values of a column are a null pointer");
  require(column.offsets != nullptr || !has_offsets(column.kind), "the offsets of a column are a null pointer");
  const bool has_buffers = column.view_buffers != nullptr && column.view_buffer_bytes != nullptr;
  require(has_buffers || column.num_view_buffers == 0, "the buffers of a column are a null pointer");
}

template <class Offset>
void check_offsets(const column_span& column, std::uint64_t num_rows) {
  const Offset* const offsets = static_cast<const Offset*>(column.offsets) + column.first_row;
  base::for_blocks(num_rows, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      if (offsets[row] >= 0 && offsets[row] <= offsets[row + 1]) continue;
      throw invalid_argument(fmt::format("argsort_table: the offsets of strings fall behind row {}", row));
    }
  });
}

bool is_in_buffers(const column_span& column, const byte_view& view) {
  if (view.size < 0) return false;
  if (static_cast<std::uint64_t>(view.size) <= byte_view::most_inline_bytes) return true;
  if (view.buffer < 0 || static_cast<std::uint64_t>(view.buffer) >= column.num_view_buffers) return false;
  return view.offset >= 0 && std::int64_t{view.offset} + view.size <= column.view_buffer_bytes[view.buffer];
}

void check_views(const column_span& column, std::uint64_t num_rows) {
  const byte_view* const views = static_cast<const byte_view*>(column.values) + column.first_row;
  base::for_blocks(num_rows, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      if (is_in_buffers(column, views[row]) || !is_valid(column, row)) continue;
      throw invalid_argument(fmt::format("argsort_table: the string of row {} lies outside of its buffers", row));
    }
  });
}

}  // namespace

void check_strings(const column_span& column, std::uint64_t num_rows) {
  if (column.kind == column_kind::bytes32) check_offsets<std::int32_t>(column, num_rows);
  if (column.kind == column_kind::bytes64) check_offsets<std::int64_t>(column, num_rows);
  if (column.kind == column_kind::byte_views) check_views(column, num_rows);
}

void check_column(const column_span& column, std::uint64_t num_rows) {
  require(has_known_kind(column), "a column of no known kind or type");
  check_memory(column, num_rows);
  if (column.kind == column_kind::fixed_bytes) {
    require(column.width_bytes >= 1 && column.width_bytes <= most_fixed_bytes, "fixed_bytes have 1 to 1024 bytes each");
  }
  if (column.kind != column_kind::dictionary) return;
  require(!keys::is_float(column.type), "floats are no indices of a dictionary");
  require(column.dictionary != nullptr, "the dictionary of a column is a null pointer");
  require(column.dictionary->kind != column_kind::dictionary, "the dictionary of a dictionary column is one, too");
  check_column(*column.dictionary, column.num_dictionary_rows);
}

void check_order(const column_order& order) {
  const bool is_known = order.order <= direction::descending && order.nulls <= null_order::first &&
                        order.nans <= nan_order::null && order.zeros <= zero_order::negative_first;
  require(is_known, "a column order of no known value");
}

}  // namespace spansort::table
