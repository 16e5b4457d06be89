// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "spansort/errors.hpp"
#include "table/arrow_exchange.hpp"
#include "table/check_column.hpp"

namespace spansort::table {
namespace {

/// An array with what says how it is to be read.
struct described_array {
  const ArrowSchema& schema;
  const ArrowArray& array;
  std::uint64_t first_row = 0;
  std::uint64_t num_rows = 0;

  void require(bool holds, std::string_view what) const {
    if (holds) return;
    throw invalid_argument(fmt::format("column '{}': {}", schema.name == nullptr ? "" : schema.name, what));
  }
};

std::int64_t fewest_buffers(const column_layout& layout) {
  const bool has_three = layout.kind == column_kind::bytes32 || layout.kind == column_kind::bytes64 ||
                         layout.kind == column_kind::byte_views;
  return has_three ? 3 : 2;
}

void point_at_buffers(const described_array& described, column_data& column) {
  const ArrowArray& array = described.array;
  const std::int64_t fewest = fewest_buffers(column.layout);
  described.require(array.n_buffers >= fewest && array.buffers != nullptr, "buffers are missing");
  column_span& span = column.span;
  span.validity = array.null_count == 0 ? nullptr : array.buffers[0];
  if (column.layout.kind == column_kind::byte_views) {
    // The views' buffers lie behind the views, and the buffers' sizes behind these.
    span.num_view_buffers = static_cast<std::uint64_t>(array.n_buffers - fewest);
    span.view_buffers = array.buffers + 2;
    span.view_buffer_bytes = static_cast<const std::int64_t*>(array.buffers[array.n_buffers - 1]);
    column.view_memory = {column.memory};
  } else if (fewest == 3) {
    span.offsets = array.buffers[1];
    span.values = array.buffers[2];
    return;
  }
  span.values = array.buffers[1];
}

column_data column_of(const described_array& described, const std::shared_ptr<ArrowArray>& owner) {
  const ArrowArray& array = described.array;
  if (layout_of(described.schema).is_all_null) return all_null_column(described.num_rows);
  column_data column{.layout = layout_of(described.schema), .num_rows = described.num_rows, .memory = owner};
  column.span = {.kind = column.layout.kind,
                 .type = column.layout.type,
                 .width_bytes = column.layout.value_bytes,
                 .first_row = described.first_row};
  point_at_buffers(described, column);
  const bool needs_values = described.num_rows != 0;
  described.require(
      !needs_values || (has_offsets(column.span.kind) ? column.span.offsets : column.span.values) != nullptr,
      "its values are a null pointer");
  check_strings(column.span, column.num_rows);
  if (column.layout.kind != column_kind::dictionary) return column;
  described.require(array.dictionary != nullptr, "its dictionary is missing");
  const ArrowArray& dictionary = *array.dictionary;
  described.require(dictionary.length >= 0 && dictionary.offset >= 0, "its dictionary has a negative length");
  set_dictionary(column, std::make_shared<const column_data>(column_of(
                             {*described.schema.dictionary, dictionary, static_cast<std::uint64_t>(dictionary.offset),
                              static_cast<std::uint64_t>(dictionary.length)},
                             owner)));
  return column;
}

column_data column_without_rows(const ArrowSchema& schema) {
  const column_layout layout = layout_of(schema);
  auto buffers = std::make_shared<column_buffers>();
  buffers->offsets.resize(sizeof(std::int64_t));  // there is one offset more than rows
  std::fill_n(buffers->offsets.data(), buffers->offsets.size(), std::byte{0});
  column_data column = column_in(layout, 0, std::move(buffers));
  if (layout.kind != column_kind::dictionary) return column;
  set_dictionary(column, std::make_shared<const column_data>(column_without_rows(*schema.dictionary)));
  return column;
}

void require_batch(bool holds, std::string_view what) {
  if (!holds) throw invalid_argument(fmt::format("an Arrow record batch: {}", what));
}

bool is_struct(const ArrowSchema& schema) {
  return schema.format != nullptr && std::string_view(schema.format) == "+s";
}

bool has_null_rows(const ArrowArray& batch) {
  const bool has_bits = batch.n_buffers > 0 && batch.buffers != nullptr && batch.buffers[0] != nullptr;
  if (batch.null_count == 0 || !has_bits) return false;
  for (std::int64_t row = 0; row < batch.length; ++row) {
    if (!bit_at(batch.buffers[0], static_cast<std::uint64_t>(batch.offset + row))) return true;
  }
  return false;
}

}  // namespace

std::vector<column_data> columns_without_rows(const ArrowSchema& schema) {
  require_batch(is_struct(schema), "a table's type is a struct");
  std::vector<column_data> columns;
  for (std::int64_t i = 0; i < schema.n_children; ++i) columns.push_back(column_without_rows(*schema.children[i]));
  return columns;
}

std::vector<column_data> columns_of(const ArrowSchema& schema, const std::shared_ptr<ArrowArray>& batch) {
  require_batch(is_struct(schema), "a table's type is a struct");
  require_batch(schema.n_children == batch->n_children, "it has other columns than its schema");
  require_batch(batch->length >= 0 && batch->offset >= 0, "its length is negative");
  require_batch(!has_null_rows(*batch), "rows that are null as a whole have no place in a table");
  std::vector<column_data> columns;
  for (std::int64_t i = 0; i < batch->n_children; ++i) {
    const ArrowArray& child = *batch->children[i];
    const described_array described{*schema.children[i], child,
                                    static_cast<std::uint64_t>(child.offset + batch->offset),
                                    static_cast<std::uint64_t>(batch->length)};
    described.require(child.offset >= 0 && child.length >= batch->offset + batch->length,
                      "it is shorter than the table");
    columns.push_back(column_of(described, batch));
  }
  return columns;
}

}  // namespace spansort::table
