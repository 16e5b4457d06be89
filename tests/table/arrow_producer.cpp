// SPDX-License-Identifier: Apache-2.0
#include "arrow_producer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <numeric>

#include "keys/dispatch.hpp"
#include "keys/number.hpp"

namespace spansort::test {
namespace {

/// The memory that a struct points into is released with it.
struct schema_memory {
  arrow_source* source = nullptr;
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};
struct array_memory {
  arrow_source* source = nullptr;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
};

template <class T, class Memory>
void release(T* of) {
  auto* const memory = static_cast<Memory*>(of->private_data);
  for (T& child : memory->children) {
    if (child.release != nullptr) child.release(&child);
  }
  --memory->source->num_unreleased;
  delete memory;
  of->release = nullptr;
}

ArrowSchema make_schema(arrow_source& source, const std::string& format, const std::string& name,
                        std::vector<ArrowSchema> children, bool has_dictionary) {
  auto* const memory = new schema_memory{&source, format, name, std::move(children), {}};
  for (ArrowSchema& child : memory->children) memory->pointers.push_back(&child);
  ++source.num_unreleased;
  ArrowSchema schema{};
  schema.format = memory->format.c_str();
  schema.name = memory->name.c_str();
  schema.flags = ARROW_FLAG_NULLABLE;
  if (has_dictionary) {
    schema.dictionary = memory->pointers.front();
  } else {
    schema.n_children = static_cast<std::int64_t>(memory->children.size());
    schema.children = memory->pointers.data();
  }
  schema.release = &release<ArrowSchema, schema_memory>;
  schema.private_data = memory;
  return schema;
}

ArrowSchema column_schema(arrow_source& source, const table_column& column, const std::string& name) {
  std::vector<ArrowSchema> dictionary;
  if (column.dictionary != nullptr) dictionary.push_back(column_schema(source, *column.dictionary, ""));
  const bool has_dictionary = !dictionary.empty();
  return make_schema(source, arrow_format(column.column.values), name, std::move(dictionary), has_dictionary);
}

ArrowArray make_array(arrow_source& source, std::vector<const void*> buffers, std::vector<ArrowArray> children,
                      bool has_dictionary) {
  auto* const memory = new array_memory{&source, std::move(buffers), std::move(children), {}};
  for (ArrowArray& child : memory->children) memory->pointers.push_back(&child);
  ++source.num_unreleased;
  ArrowArray array{};
  array.null_count = -1;
  array.n_buffers = static_cast<std::int64_t>(memory->buffers.size());
  array.buffers = memory->buffers.data();
  if (has_dictionary) {
    array.dictionary = memory->pointers.front();
  } else {
    array.n_children = static_cast<std::int64_t>(memory->children.size());
    array.children = memory->pointers.data();
  }
  array.release = &release<ArrowArray, array_memory>;
  array.private_data = memory;
  return array;
}

ArrowArray column_array(arrow_source& source, const table_column& column, std::uint64_t begin, std::uint64_t end) {
  const column_span& span = column.column.values;
  std::vector<const void*> buffers = {span.validity};
  if (span.offsets != nullptr) buffers.push_back(span.offsets);
  buffers.push_back(span.values);
  if (span.kind == column_kind::byte_views) {
    buffers.insert(buffers.end(), span.view_buffers, span.view_buffers + span.num_view_buffers);
    buffers.push_back(span.view_buffer_bytes);
  }
  std::vector<ArrowArray> dictionary;
  if (column.dictionary != nullptr) {
    const bool is_later = begin != 0 && source.later_dictionary != nullptr;
    const table_column& values = is_later ? *source.later_dictionary : *column.dictionary;
    dictionary.push_back(column_array(source, values, 0, values.cells.size()));
  }
  const bool has_dictionary = !dictionary.empty();
  ArrowArray array = make_array(source, std::move(buffers), std::move(dictionary), has_dictionary);
  array.offset = static_cast<std::int64_t>(span.first_row + begin);
  array.length = static_cast<std::int64_t>(end - begin);
  return array;
}

struct stream_state {
  arrow_source& source;
  std::size_t next_chunk = 0;

  static stream_state& of(ArrowArrayStream* stream) { return *static_cast<stream_state*>(stream->private_data); }
  static int get_schema(ArrowArrayStream* stream, ArrowSchema* schema) {
    arrow_source& source = of(stream).source;
    std::vector<ArrowSchema> children;
    for (std::size_t i = 0; i < source.columns.size(); ++i) {
      children.push_back(column_schema(source, *source.columns[i], std::to_string(i)));
    }
    *schema = make_schema(source, "+s", "", std::move(children), false);
    return 0;
  }
  static int get_next(ArrowArrayStream* stream, ArrowArray* batch) {
    stream_state& state = of(stream);
    arrow_source& source = state.source;
    batch->release = nullptr;
    if (state.next_chunk == source.chunk_ends.size()) return source.error_after_chunks.empty() ? 0 : EIO;
    const std::uint64_t begin = state.next_chunk == 0 ? 0 : source.chunk_ends[state.next_chunk - 1];
    const std::uint64_t end = source.chunk_ends[state.next_chunk++];
    // The batch is a slice, too: its rows begin at the third of its columns.
    const std::uint64_t slice = std::min<std::uint64_t>(begin, 2);
    std::vector<ArrowArray> children;
    for (const auto& column : source.columns) children.push_back(column_array(source, *column, begin - slice, end));
    *batch = make_array(source, {nullptr}, std::move(children), false);
    batch->offset = static_cast<std::int64_t>(slice);
    batch->length = static_cast<std::int64_t>(end - begin);
    return 0;
  }
  static const char* get_last_error(ArrowArrayStream* stream) { return of(stream).source.error_after_chunks.c_str(); }
  static void release(ArrowArrayStream* stream) {
    --of(stream).source.num_unreleased;
    delete &of(stream);
    stream->release = nullptr;
  }
};

cell bytes_cell(const void* bytes, std::uint64_t num_bytes) {
  cell value;
  value.bytes.assign(static_cast<const char*>(bytes), num_bytes);
  return value;
}

template <class Offset>
cell string_at(const column_span& column, std::uint64_t place) {
  const auto* const offsets = static_cast<const Offset*>(column.offsets);
  return bytes_cell(static_cast<const char*>(column.values) + offsets[place], offsets[place + 1] - offsets[place]);
}

cell view_at(const column_span& column, std::uint64_t place) {
  std::array<std::int32_t, 4> view{};
  const char* const at = static_cast<const char*>(column.values) + place * sizeof(view);
  std::memcpy(view.data(), at, sizeof(view));
  if (view[0] <= 12) return bytes_cell(at + 4, static_cast<std::uint64_t>(view[0]));
  return bytes_cell(static_cast<const char*>(column.view_buffers[view[2]]) + view[3],
                    static_cast<std::uint64_t>(view[0]));
}

cell number_at(const column_span& column, std::uint64_t place) {
  return keys::with_type(column.type, [&]<class T>() {
    T number;
    std::memcpy(&number, static_cast<const char*>(column.values) + place * sizeof(T), sizeof(T));
    cell value;
    if constexpr (std::is_integral_v<T>) {
      value.integer = number;
    } else {
      value.number = keys::number_of(number);
    }
    return value;
  });
}

}  // namespace

ArrowArrayStream stream_of(arrow_source& source) {
  ++source.num_unreleased;
  ArrowArrayStream stream{};
  stream.get_schema = &stream_state::get_schema;
  stream.get_next = &stream_state::get_next;
  stream.get_last_error = &stream_state::get_last_error;
  stream.release = &stream_state::release;
  stream.private_data = new stream_state{source};
  return stream;
}

std::string arrow_format(const column_span& column) {
  switch (column.kind) {
    case column_kind::boolean: return "b";
    case column_kind::integer128: return "d:38,2";
    case column_kind::fixed_bytes: return "w:" + std::to_string(column.width_bytes);
    case column_kind::bytes32: return "u";
    case column_kind::bytes64: return "Z";
    case column_kind::byte_views: return "vu";
    case column_kind::number:
    case column_kind::dictionary: break;
  }
  constexpr char formats[] = "CcSsIiLle?fg";
  return {formats[static_cast<std::size_t>(column.type)]};
}

cell cell_at(const column_span& column, std::uint64_t row) {
  const std::uint64_t place = column.first_row + row;
  const auto bit_of = [place](const void* bits) {
    return (static_cast<const std::uint8_t*>(bits)[place / 8] >> place % 8 & 1U) != 0;
  };
  cell value;
  value.is_null = column.validity != nullptr && !bit_of(column.validity);
  if (value.is_null) return value;
  switch (column.kind) {
    case column_kind::number: return number_at(column, place);
    case column_kind::boolean: value.integer = bit_of(column.values); return value;
    case column_kind::integer128:
      std::memcpy(&value.integer, static_cast<const char*>(column.values) + 16 * place, 16);
      return value;
    case column_kind::fixed_bytes:
      return bytes_cell(static_cast<const char*>(column.values) + place * column.width_bytes, column.width_bytes);
    case column_kind::bytes32: return string_at<std::int32_t>(column, place);
    case column_kind::bytes64: return string_at<std::int64_t>(column, place);
    case column_kind::byte_views: return view_at(column, place);
    case column_kind::dictionary: break;
  }
  return cell_at(*column.dictionary, static_cast<std::uint64_t>(number_at(column, place).integer));
}

void expect_rows(const arrow_table& table, const arrow_source& source, const std::vector<std::uint64_t>& rows) {
  ASSERT_EQ(table.num_rows(), rows.size());
  ASSERT_EQ(table.num_columns(), source.columns.size());
  for (std::uint64_t c = 0; c < table.num_columns(); ++c) {
    const column_span column = table.column(c);
    ASSERT_EQ(column.kind, source.columns[c]->column.values.kind);
    for (std::uint64_t i = 0; i < rows.size(); ++i) {
      ASSERT_TRUE(are_same(cell_at(column, i), source.columns[c]->cells[rows[i]])) << "column " << c << " row " << i;
    }
  }
}

column_case arrow_column_case(random_words& random) {
  column_case c = random_column_case(random);
  if (c.type == key_type::bf16) c.type = key_type::f16;  // Arrow has no such numbers
  return c;
}

std::vector<std::uint64_t> all_rows(std::uint64_t num_rows) {
  std::vector<std::uint64_t> rows(num_rows);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

bool are_same(const cell& a, const cell& b) {
  if (a.is_null || b.is_null) return a.is_null == b.is_null;
  const bool same_numbers = std::isnan(a.number) ? std::isnan(b.number) : a.number == b.number;
  return same_numbers && std::signbit(a.number) == std::signbit(b.number) && a.integer == b.integer &&
         a.bytes == b.bytes;
}

arrow_table read(arrow_source& source) {
  ArrowArrayStream stream = stream_of(source);
  arrow_table table(&stream);
  EXPECT_EQ(stream.release, nullptr);
  return table;
}

}  // namespace spansort::test
