// SPDX-License-Identifier: Apache-2.0
#include "table/external/row_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/math.hpp"
#include "spansort/errors.hpp"
#include "table/check_column.hpp"

namespace spansort::table {
namespace {

/// Puts `num_rows` bits behind the `num_before` that are there; set ones where there is no source.
void append_bits(growing_bytes& to, std::uint64_t num_before, const void* bits, std::uint64_t first_row,
                 std::uint64_t num_rows) {
  const std::uint64_t old_bytes = to.size();
  const std::uint64_t new_bytes = bitmap_bytes(num_before + num_rows) - old_bytes;
  std::fill_n(to.extend(new_bytes), new_bytes, std::byte{0});
  std::byte* const bytes = to.data();
  std::uint64_t row = 0;
  if (bits != nullptr && num_before % 8 == 0 && first_row % 8 == 0) {
    row = num_rows / 8 * 8;
    std::memcpy(bytes + num_before / 8, static_cast<const std::byte*>(bits) + first_row / 8, row / 8);
  }
  for (; row < num_rows; ++row) {
    const std::uint64_t place = num_before + row;
    const bool bit = bits == nullptr || bit_at(bits, first_row + row);
    bytes[place / 8] |= static_cast<std::byte>((bit ? 1U : 0U) << place % 8);
  }
}

void append_bytes(growing_bytes& to, const void* from, std::uint64_t num_bytes) {
  if (num_bytes != 0) std::memcpy(to.extend(num_bytes), from, num_bytes);
}

template <class Offset>
void append_strings(growing_bytes& offsets, growing_bytes& values, const column_data& from, std::string_view name) {
  if (offsets.size() == 0) *reinterpret_cast<Offset*>(offsets.extend(sizeof(Offset))) = 0;
  const Offset* const old = static_cast<const Offset*>(from.span.offsets) + from.span.first_row;
  const std::uint64_t begin = values.size();
  const auto num_bytes = static_cast<std::uint64_t>(old[from.num_rows] - old[0]);
  if (begin + num_bytes > static_cast<std::uint64_t>(std::numeric_limits<Offset>::max())) {
    throw invalid_argument(
        fmt::format("column '{}': strings of {} bytes need offsets of 64 bits: cast it to Arrow's "
                    "large_string or large_binary",
                    name, begin + num_bytes));
  }
  auto* const moved = reinterpret_cast<Offset*>(offsets.extend(from.num_rows * sizeof(Offset)));
  const auto shift = static_cast<std::int64_t>(begin) - static_cast<std::int64_t>(old[0]);
  for (std::uint64_t row = 0; row < from.num_rows; ++row) moved[row] = static_cast<Offset>(old[row + 1] + shift);
  append_bytes(values, static_cast<const std::byte*>(from.span.values) + old[0], num_bytes);
}

/// Views of null rows may lead anywhere, and become empty.
void append_views(growing_bytes& values, growing_bytes& outer, const column_data& from) {
  const byte_view* const old = static_cast<const byte_view*>(from.span.values) + from.span.first_row;
  auto* const moved = reinterpret_cast<byte_view*>(values.extend(from.num_rows * sizeof(byte_view)));
  for (std::uint64_t row = 0; row < from.num_rows; ++row) {
    moved[row] = is_valid(from.span, row) ? old[row] : byte_view{};
    if (moved[row].size <= static_cast<std::int32_t>(byte_view::most_inline_bytes)) continue;
    const auto* const bytes = static_cast<const std::byte*>(from.span.view_buffers[old[row].buffer]) + old[row].offset;
    moved[row].buffer = 0;
    moved[row].offset = base::checked_cast<std::int32_t>(outer.size());
    append_bytes(outer, bytes, static_cast<std::uint64_t>(old[row].size));
  }
}

}  // namespace

row_pool::row_pool(const std::shared_ptr<const ArrowSchema>& schema) : schema_(schema) {
  for (std::int64_t i = 0; i < schema->n_children; ++i)
    columns_.emplace_back().layout = layout_of(*schema->children[i]);
}

void row_pool::append_column(column& to, const column_data& from, std::string_view name) const {
  if (to.layout.is_all_null) return;
  if (from.span.validity != nullptr || to.validity.size() != 0) {
    if (to.validity.size() == 0) append_bits(to.validity, 0, nullptr, 0, num_rows_);
    append_bits(to.validity, num_rows_, from.span.validity, from.span.first_row, from.num_rows);
  }
  switch (to.layout.kind) {
    case column_kind::boolean:
      append_bits(to.values, num_rows_, from.span.values, from.span.first_row, from.num_rows);
      break;
    case column_kind::bytes32: append_strings<std::int32_t>(to.offsets, to.values, from, name); break;
    case column_kind::bytes64: append_strings<std::int64_t>(to.offsets, to.values, from, name); break;
    case column_kind::byte_views: append_views(to.values, to.outer, from); break;
    default: {
      const std::uint64_t width = to.layout.value_bytes;
      append_bytes(to.values, static_cast<const std::byte*>(from.span.values) + from.span.first_row * width,
                   from.num_rows * width);
    }
  }
  to.dictionary = from.dictionary;
}

void row_pool::append(const arrow_rows& rows) {
  if (rows.num_rows == 0) return;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    append_column(columns_[i], rows.columns[i], column_name(*schema_, i));
  num_rows_ += rows.num_rows;
  for (column& c : columns_) {
    c.values.reserve(1);  // nothing but null is at no place at all
    c.outer.reserve(c.layout.kind == column_kind::byte_views ? 1 : 0);
    c.view_buffer = c.outer.data();
    c.view_buffer_bytes = static_cast<std::int64_t>(c.outer.size());
  }
}

arrow_rows row_pool::rows() const {
  arrow_rows rows{.schema = schema_, .columns = {}, .num_rows = num_rows_};
  for (const column& c : columns_) {
    if (c.layout.is_all_null) {
      rows.columns.push_back(all_null_column(num_rows_));
      continue;
    }
    column_data made{.layout = c.layout, .num_rows = num_rows_};
    made.span = {.kind = c.layout.kind, .type = c.layout.type, .width_bytes = c.layout.value_bytes};
    made.span.values = c.values.data();
    if (c.offsets.size() != 0) made.span.offsets = c.offsets.data();
    if (c.validity.size() != 0) made.span.validity = c.validity.data();
    if (c.layout.kind == column_kind::byte_views) {
      made.span.view_buffers = &c.view_buffer;
      made.span.view_buffer_bytes = &c.view_buffer_bytes;
      made.span.num_view_buffers = 1;
    }
    if (c.dictionary != nullptr) set_dictionary(made, c.dictionary);
    rows.columns.push_back(std::move(made));
  }
  return rows;
}

void row_pool::clear() noexcept {
  num_rows_ = 0;
  for (column& c : columns_) {
    for (growing_bytes* bytes : {&c.values, &c.offsets, &c.validity, &c.outer}) bytes->clear();
    c.dictionary = nullptr;
  }
}

void row_pool::release() noexcept {
  clear();
  for (column& c : columns_) {
    for (growing_bytes* bytes : {&c.values, &c.offsets, &c.validity, &c.outer}) bytes->release();
  }
}

}  // namespace spansort::table
