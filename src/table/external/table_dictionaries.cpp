// SPDX-License-Identifier: Apache-2.0
#include "table/external/table_dictionaries.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "keys/dispatch.hpp"
#include "spansort/errors.hpp"
#include "table/check_column.hpp"
#include "table/external/row_parts.hpp"

namespace spansort::table {
namespace {

template <class Offset>
std::string string_at(const column_span& span, std::uint64_t place) {
  const auto* const offsets = static_cast<const Offset*>(span.offsets);
  return {static_cast<const char*>(span.values) + offsets[place],
          static_cast<std::size_t>(offsets[place + 1] - offsets[place])};
}

std::string view_at(const column_span& span, std::uint64_t place) {
  const byte_view& view = static_cast<const byte_view*>(span.values)[place];
  const auto size = static_cast<std::size_t>(view.size);
  if (size <= byte_view::most_inline_bytes) return {reinterpret_cast<const char*>(&view) + sizeof(view.size), size};
  return {static_cast<const char*>(span.view_buffers[view.buffer]) + view.offset, size};
}

std::string bytes_at(const column_data& column, std::uint64_t row) {
  const column_span& span = column.span;
  const std::uint64_t place = span.first_row + row;
  switch (column.layout.kind) {
    case column_kind::boolean: return bit_at(span.values, place) ? "1" : "0";
    case column_kind::bytes32: return string_at<std::int32_t>(span, place);
    case column_kind::bytes64: return string_at<std::int64_t>(span, place);
    case column_kind::byte_views: return view_at(span, place);
    default:
      return {static_cast<const char*>(span.values) + place * column.layout.value_bytes, column.layout.value_bytes};
  }
}

/// Equal for equal values alone, null included.
std::string text_of(const column_data& column, std::uint64_t row) {
  if (column.layout.is_all_null || !is_valid(column.span, row)) return "";
  std::string text = bytes_at(column, row);
  text.push_back('=');
  return text;
}

[[noreturn]] void refuse(const ArrowSchema& column, std::string_view what) {
  throw invalid_argument(fmt::format("column '{}': {}", column.name == nullptr ? "" : column.name, what));
}

/// Returns the column with the indices `numbers[index]`.
column_data renumbered(const column_data& column, const std::vector<std::uint64_t>& numbers,
                       const ArrowSchema& schema) {
  auto buffers = std::make_shared<column_buffers>();
  buffers->values.resize(column.num_rows * column.layout.value_bytes);
  keys::with_type(column.layout.type, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const T* const from = static_cast<const T*>(column.span.values) + column.span.first_row;
      T* const to = reinterpret_cast<T*>(buffers->values.data());
      for (std::uint64_t row = 0; row < column.num_rows; ++row) {
        to[row] = 0;
        if (!is_valid(column.span, row)) continue;
        if (!std::in_range<std::uint64_t>(from[row]) || static_cast<std::uint64_t>(from[row]) >= numbers.size()) {
          refuse(schema, "an index leads out of its dictionary");
        }
        const std::uint64_t number = numbers[static_cast<std::size_t>(from[row])];
        if (!std::in_range<T>(number)) {
          refuse(schema, "the dictionaries of its batches have more values together than its indices can count");
        }
        to[row] = static_cast<T>(number);
      }
    }
  });
  buffers->validity = copied_validity(column);
  return column_in(column.layout, column.num_rows, std::move(buffers));
}

}  // namespace

std::vector<std::uint64_t> table_dictionaries::include(common_values& common, const column_data& dictionary) {
  const bool is_first = common.values == nullptr;
  std::vector<std::uint64_t> numbers(dictionary.num_rows);
  std::vector<std::uint64_t> new_rows;
  for (std::uint64_t row = 0; row < dictionary.num_rows; ++row) {
    std::string text = text_of(dictionary, row);
    if (!is_first && row < common.texts.size() && *common.texts[row] == text) {
      numbers[row] = row;
      continue;
    }
    const auto [found, is_new] = common.numbers.try_emplace(std::move(text), common.texts.size());
    numbers[row] = is_first ? row : found->second;
    if (!is_new && !is_first) continue;
    common.texts.push_back(&found->first);
    new_rows.push_back(row);
  }
  if (new_rows.empty() && !is_first) return numbers;
  arrow_rows added{.schema = nullptr, .columns = {take_rows(dictionary, new_rows, "")}, .num_rows = new_rows.size()};
  own_views(added);
  if (is_first) {
    common.values = std::make_shared<const column_data>(std::move(added.columns.front()));
  } else {
    const column_data both[] = {*common.values, std::move(added.columns.front())};
    common.values = std::make_shared<const column_data>(concatenate(both, ""));
  }
  return numbers;
}

void table_dictionaries::adopt(arrow_rows& rows) {
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    column_data& column = rows.columns[i];
    if (column.dictionary == nullptr) continue;
    const std::vector<std::uint64_t> numbers = include(columns_[i], *column.dictionary);
    bool is_same = true;
    for (std::size_t row = 0; row < numbers.size(); ++row) is_same &= numbers[row] == row;
    if (!is_same) {
      const ArrowSchema& schema = *rows.schema->children[i];
      if (column.layout.is_ordered) refuse(schema, "its batches have different ordered dictionaries");
      column = renumbered(column, numbers, schema);
    }
    set_dictionary(column, columns_[i].values);
  }
}

void table_dictionaries::apply(arrow_rows& rows) const {
  for (std::size_t i = 0; i < rows.columns.size(); ++i) set_dictionary(rows.columns[i], columns_[i].values);
}

}  // namespace spansort::table
