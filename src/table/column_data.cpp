// SPDX-License-Identifier: Apache-2.0
#include "table/column_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "spansort/errors.hpp"

namespace spansort::table {
namespace {

column_layout number(key_type type) {
  return {.type = type, .value_bytes = static_cast<std::uint32_t>(size_bytes(type))};
}

column_layout strings(column_kind kind) { return {.kind = kind}; }

column_layout fixed_bytes(std::uint32_t width_bytes, bool has_order) {
  return {.kind = column_kind::fixed_bytes, .value_bytes = width_bytes, .has_order = has_order};
}

[[noreturn]] void refuse(const ArrowSchema& schema) {
  throw invalid_argument(fmt::format("column '{}': no table can be made of columns of Arrow's type '{}'",
                                     schema.name == nullptr ? "" : schema.name,
                                     schema.format == nullptr ? "" : schema.format));
}

/// Returns the number at the end of a format; 0 where there is none.
std::uint32_t number_behind(std::string_view format, char mark) {
  const std::size_t at = format.rfind(mark);
  std::uint32_t number = 0;
  if (at != std::string_view::npos) std::from_chars(format.data() + at + 1, format.data() + format.size(), number);
  return number;
}

column_layout decimal(const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  const bool has_bits = std::count(format.begin(), format.end(), ',') == 2;  // d:precision,scale,bits
  switch (has_bits ? number_behind(format, ',') : 128) {
    case 32: return number(key_type::i32);
    case 64: return number(key_type::i64);
    case 128: return {.kind = column_kind::integer128, .value_bytes = 16};
    case 256: return fixed_bytes(32, false);
    default: refuse(schema);
  }
}

/// Dates, times, timestamps, durations and intervals.
column_layout temporal(const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  if (format == "tdD" || format == "tts" || format == "ttm" || format == "tiM") return number(key_type::i32);
  if (format == "tdm" || format == "ttu" || format == "ttn") return number(key_type::i64);
  if (format.starts_with("ts") || format.starts_with("tD")) return number(key_type::i64);
  if (format == "tiD") return fixed_bytes(8, false);
  if (format == "tin") return fixed_bytes(16, false);
  refuse(schema);
}

column_layout plain_layout(const ArrowSchema& schema) {
  const std::string_view format = schema.format == nullptr ? "" : schema.format;
  if (format.starts_with("d:")) return decimal(schema);
  if (format.starts_with("w:")) {
    const std::uint32_t width = number_behind(format, ':');
    return width == 0 ? (refuse(schema), column_layout{}) : fixed_bytes(width, width <= 1024);
  }
  if (format.starts_with("t")) return temporal(schema);
  if (format == "vu" || format == "vz") return {.kind = column_kind::byte_views, .value_bytes = 16};
  if (format.size() != 1) refuse(schema);
  switch (format.front()) {
    case 'n': return {.kind = column_kind::boolean, .is_all_null = true};
    case 'b': return {.kind = column_kind::boolean};
    case 'c': return number(key_type::i8);
    case 'C': return number(key_type::u8);
    case 's': return number(key_type::i16);
    case 'S': return number(key_type::u16);
    case 'i': return number(key_type::i32);
    case 'I': return number(key_type::u32);
    case 'l': return number(key_type::i64);
    case 'L': return number(key_type::u64);
    case 'e': return number(key_type::f16);
    case 'f': return number(key_type::f32);
    case 'g': return number(key_type::f64);
    case 'u':
    case 'z': return strings(column_kind::bytes32);
    case 'U':
    case 'Z': return strings(column_kind::bytes64);
    default: refuse(schema);
  }
}

}  // namespace

column_layout layout_of(const ArrowSchema& schema) {
  column_layout layout = plain_layout(schema);
  if (schema.dictionary == nullptr) return layout;
  if (layout.kind != column_kind::number || schema.dictionary->dictionary != nullptr) {
    refuse(schema);
  }
  layout.is_ordered = (schema.flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0;
  layout.has_order = layout.is_ordered || layout_of(*schema.dictionary).has_order;
  layout.kind = column_kind::dictionary;
  return layout;
}

column_data column_in(const column_layout& layout, std::uint64_t num_rows, std::shared_ptr<column_buffers> buffers) {
  column_data column{.layout = layout, .num_rows = num_rows};
  column.span = {.kind = layout.kind,
                 .type = layout.type,
                 .width_bytes = layout.value_bytes,
                 .values = buffers->values.data(),
                 .offsets = buffers->offsets.data(),
                 .validity = buffers->validity.data(),
                 .view_buffers = buffers->view_buffers.data(),
                 .view_buffer_bytes = buffers->view_buffer_bytes.data(),
                 .num_view_buffers = buffers->view_buffers.size()};
  column.view_memory = buffers->view_memory;
  column.memory = std::move(buffers);
  return column;
}

column_data all_null_column(std::uint64_t num_rows) {
  auto buffers = std::make_shared<column_buffers>();
  buffers->validity.resize(bitmap_bytes(num_rows));
  std::fill_n(buffers->validity.data(), buffers->validity.size(), std::byte{0});
  column_data column = column_in({.kind = column_kind::boolean, .is_all_null = true}, num_rows, std::move(buffers));
  column.span.values = column.span.validity;
  return column;
}

void set_dictionary(column_data& column, std::shared_ptr<const column_data> dictionary) {
  if (dictionary == nullptr) return;
  column.span.dictionary = &dictionary->span;
  column.span.num_dictionary_rows = dictionary->num_rows;
  column.dictionary = std::move(dictionary);
}

}  // namespace spansort::table
