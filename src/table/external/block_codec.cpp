// SPDX-License-Identifier: Apache-2.0
#include "table/external/block_codec.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "base/math.hpp"

namespace spansort::table {
namespace {

constexpr std::uint64_t buffer_alignment_bytes = 64;

/// Sizes of a column's buffers, in the order in which they are written.
struct column_sizes {
  std::uint64_t validity = 0;
  std::uint64_t offsets = 0;
  std::uint64_t values = 0;
  std::uint64_t view_bytes = 0;
};

std::uint64_t aligned(std::uint64_t bytes) { return base::round_up(bytes, buffer_alignment_bytes); }

template <class Offset>
void set_string_sizes(const column_data& column, column_sizes& sizes) {
  sizes.offsets = (column.num_rows + 1) * sizeof(Offset);
  sizes.values = static_cast<std::uint64_t>(static_cast<const Offset*>(column.span.offsets)[column.num_rows]);
}

column_sizes sizes_of(const column_data& column) {
  column_sizes sizes;
  if (column.layout.is_all_null) return sizes;
  if (column.span.validity != nullptr) sizes.validity = bitmap_bytes(column.num_rows);
  switch (column.layout.kind) {
    case column_kind::boolean: sizes.values = bitmap_bytes(column.num_rows); break;
    case column_kind::bytes32: set_string_sizes<std::int32_t>(column, sizes); break;
    case column_kind::bytes64: set_string_sizes<std::int64_t>(column, sizes); break;
    case column_kind::byte_views:
      sizes.view_bytes = static_cast<std::uint64_t>(column.span.view_buffer_bytes[0]);
      [[fallthrough]];
    default: sizes.values = column.num_rows * column.layout.value_bytes;
  }
  return sizes;
}

std::uint64_t directory_bytes(std::size_t num_columns) { return aligned(num_columns * sizeof(column_sizes)); }

/// The place of the strings of a column of views.
struct unpacked_views {
  const void* view_bytes = nullptr;
  std::int64_t num_view_bytes = 0;
};

column_data unpack_column(const column_layout& layout, std::uint64_t num_rows, const column_sizes& sizes,
                          const std::byte* at) {
  if (layout.is_all_null) return all_null_column(num_rows);
  const auto next = [&](std::uint64_t bytes) { return std::exchange(at, at + aligned(bytes)); };
  column_data column{.layout = layout, .span = {}, .num_rows = num_rows};
  column.span.kind = layout.kind;
  column.span.type = layout.type;
  column.span.width_bytes = layout.value_bytes;
  const std::byte* const validity = next(sizes.validity);
  if (sizes.validity != 0) column.span.validity = validity;
  column.span.offsets = next(sizes.offsets);
  column.span.values = next(sizes.values);
  if (layout.kind != column_kind::byte_views) return column;
  const auto memory = std::make_shared<unpacked_views>(
      unpacked_views{next(sizes.view_bytes), static_cast<std::int64_t>(sizes.view_bytes)});
  column.span.view_buffers = &memory->view_bytes;
  column.span.view_buffer_bytes = &memory->num_view_bytes;
  column.span.num_view_buffers = 1;
  column.memory = memory;
  return column;
}

}  // namespace

std::uint64_t packed_bytes(const arrow_rows& rows) {
  std::uint64_t sum = directory_bytes(rows.columns.size());
  for (const column_data& column : rows.columns) {
    const column_sizes sizes = sizes_of(column);
    sum += aligned(sizes.validity) + aligned(sizes.offsets) + aligned(sizes.values) + aligned(sizes.view_bytes);
  }
  return sum;
}

void pack(const arrow_rows& rows, std::byte* packed) {
  std::byte* at = packed + directory_bytes(rows.columns.size());
  const auto append = [&](const void* buffer, std::uint64_t bytes) {
    if (bytes != 0) std::memcpy(at, buffer, bytes);
    at += aligned(bytes);
  };
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    const column_data& column = rows.columns[i];
    const column_sizes sizes = sizes_of(column);
    std::memcpy(packed + i * sizeof(sizes), &sizes, sizeof(sizes));
    append(column.span.validity, sizes.validity);
    append(column.span.offsets, sizes.offsets);
    append(column.span.values, sizes.values);
    if (sizes.view_bytes != 0) append(column.span.view_buffers[0], sizes.view_bytes);
  }
}

arrow_rows unpack(const std::shared_ptr<const ArrowSchema>& schema, std::uint64_t num_rows, const std::byte* packed) {
  arrow_rows rows{.schema = schema, .columns = {}, .num_rows = num_rows};
  const auto num_columns = static_cast<std::size_t>(schema->n_children);
  const std::byte* at = packed + directory_bytes(num_columns);
  for (std::size_t i = 0; i < num_columns; ++i) {
    column_sizes sizes;
    std::memcpy(&sizes, packed + i * sizeof(sizes), sizeof(sizes));
    rows.columns.push_back(unpack_column(layout_of(*schema->children[i]), num_rows, sizes, at));
    at += aligned(sizes.validity) + aligned(sizes.offsets) + aligned(sizes.values) + aligned(sizes.view_bytes);
  }
  return rows;
}

}  // namespace spansort::table
