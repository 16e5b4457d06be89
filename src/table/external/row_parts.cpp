// SPDX-License-Identifier: Apache-2.0
#include "table/external/row_parts.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/math.hpp"
#include "table/check_column.hpp"

namespace spansort::table {
namespace {

const byte_view* views_of(const column_data& column) {
  return static_cast<const byte_view*>(column.span.values) + column.span.first_row;
}

/// Bytes of a row's string that are not in its view. Views of null rows may lead anywhere.
std::uint64_t outer_bytes(const column_data& column, std::uint64_t row) {
  const auto size = static_cast<std::uint64_t>(std::max(views_of(column)[row].size, 0));
  return size > byte_view::most_inline_bytes && is_valid(column.span, row) ? size : 0;
}

std::uint64_t all_outer_bytes(const column_data& column) {
  std::uint64_t sum = 0;
  for (std::uint64_t row = 0; row < column.num_rows; ++row) sum += outer_bytes(column, row);
  return sum;
}

template <class Offset>
std::uint64_t string_bytes(const column_data& column) {
  const Offset* const offsets = static_cast<const Offset*>(column.span.offsets) + column.span.first_row;
  return static_cast<std::uint64_t>(offsets[column.num_rows] - offsets[0]) + column.num_rows * sizeof(Offset);
}

std::uint64_t value_bytes(const column_data& column) {
  if (column.layout.is_all_null || column.num_rows == 0) return 0;
  switch (column.layout.kind) {
    case column_kind::boolean: return bitmap_bytes(column.num_rows);
    case column_kind::bytes32: return string_bytes<std::int32_t>(column);
    case column_kind::bytes64: return string_bytes<std::int64_t>(column);
    case column_kind::byte_views: return column.num_rows * sizeof(byte_view) + all_outer_bytes(column);
    default: return column.num_rows * column.layout.value_bytes;
  }
}

template <class Offset>
std::uint64_t string_bytes(const column_data& column, std::span<const std::uint64_t> chosen) {
  const Offset* const offsets = static_cast<const Offset*>(column.span.offsets) + column.span.first_row;
  std::uint64_t sum = chosen.size() * sizeof(Offset);
  for (const std::uint64_t row : chosen) sum += static_cast<std::uint64_t>(offsets[row + 1] - offsets[row]);
  return sum;
}

std::uint64_t value_bytes(const column_data& column, std::span<const std::uint64_t> chosen) {
  if (column.layout.is_all_null) return 0;
  switch (column.layout.kind) {
    case column_kind::boolean: return bitmap_bytes(chosen.size());
    case column_kind::bytes32: return string_bytes<std::int32_t>(column, chosen);
    case column_kind::bytes64: return string_bytes<std::int64_t>(column, chosen);
    case column_kind::byte_views: {
      std::uint64_t sum = chosen.size() * sizeof(byte_view);
      for (const std::uint64_t row : chosen) sum += outer_bytes(column, row);
      return sum;
    }
    default: return chosen.size() * column.layout.value_bytes;
  }
}

column_data with_own_views(const column_data& column) {
  auto bytes = std::make_shared<base::byte_buffer>(all_outer_bytes(column));
  auto buffers = std::make_shared<column_buffers>();
  buffers->values.resize(column.num_rows * sizeof(byte_view));
  auto* const views = reinterpret_cast<byte_view*>(buffers->values.data());
  std::uint64_t at = 0;
  for (std::uint64_t row = 0; row < column.num_rows; ++row) {
    views[row] = is_valid(column.span, row) ? views_of(column)[row] : byte_view{};
    const std::uint64_t size = outer_bytes(column, row);
    if (size == 0) continue;
    std::memcpy(bytes->data() + at,
                static_cast<const std::byte*>(column.span.view_buffers[views[row].buffer]) + views[row].offset, size);
    views[row].buffer = 0;
    views[row].offset = base::checked_cast<std::int32_t>(at);
    at += size;
  }
  buffers->validity = copied_validity(column);
  buffers->view_buffers = {bytes->data()};
  buffers->view_buffer_bytes = {static_cast<std::int64_t>(at)};
  buffers->view_memory = {bytes};
  return column_in(column.layout, column.num_rows, std::move(buffers));
}

}  // namespace

base::byte_buffer copied_validity(const column_data& column) {
  if (column.span.validity == nullptr) return {};
  base::byte_buffer bits(bitmap_bytes(column.num_rows));
  std::fill_n(bits.data(), bits.size(), std::byte{0});
  for (std::uint64_t row = 0; row < column.num_rows; ++row) {
    if (is_valid(column.span, row)) bits.data()[row / 8] |= static_cast<std::byte>(1U << row % 8);
  }
  return bits;
}

std::uint64_t bytes_of(const arrow_rows& rows) {
  std::uint64_t sum = 0;
  for (const column_data& column : rows.columns) {
    sum += value_bytes(column);
    if (column.span.validity != nullptr) sum += bitmap_bytes(column.num_rows);
  }
  return sum;
}

std::uint64_t bytes_of(const arrow_rows& rows, std::span<const std::uint64_t> chosen) {
  std::uint64_t sum = 0;
  for (const column_data& column : rows.columns) {
    sum += value_bytes(column, chosen);
    if (column.span.validity != nullptr) sum += bitmap_bytes(chosen.size());
  }
  return sum;
}

arrow_rows slice(const arrow_rows& rows, std::uint64_t first, std::uint64_t num_rows) {
  arrow_rows part = rows;
  part.num_rows = num_rows;
  for (column_data& column : part.columns) {
    column.span.first_row += first;
    column.num_rows = num_rows;
  }
  return part;
}

void own_views(arrow_rows& rows) {
  for (column_data& column : rows.columns) {
    if (column.layout.kind == column_kind::byte_views) column = with_own_views(column);
  }
}

arrow_rows take_about(const arrow_rows& from, std::span<const std::uint64_t> order, std::uint64_t target_bytes,
                      double average_bytes) {
  const double wanted = static_cast<double>(target_bytes) / std::max(average_bytes, 1.0 / 8);
  std::uint64_t count = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, order.size());
  for (;; count /= 2) {
    arrow_rows taken = take_rows(from, order.first(count));
    // Strings of some rows may be much longer than those of others.
    if (count != 1 && bytes_of(taken) > 2 * target_bytes) continue;
    own_views(taken);
    return taken;
  }
}

}  // namespace spansort::table
