// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "table/arrow_exchange.hpp"

namespace spansort::table {
namespace {

/// The memory behind a struct that a consumer releases. Children that the consumer has not moved away are released
/// with it.
template <class T>
struct exported {
  std::shared_ptr<const void> memory;
  std::vector<const void*> buffers;
  std::vector<T> children;
  std::vector<T*> child_pointers;
  T dictionary{};

  exported() = default;
  exported(const exported&) = delete;
  exported& operator=(const exported&) = delete;
  ~exported() {
    for (T& child : children) {
      if (child.release != nullptr) child.release(&child);
    }
    if (dictionary.release != nullptr) dictionary.release(&dictionary);
  }

  static void release(T* of) noexcept {
    delete static_cast<exported*>(of->private_data);
    of->release = nullptr;
  }

  [[nodiscard]] T** add_children(std::size_t count) {
    children.resize(count);
    for (T& child : children) child_pointers.push_back(&child);
    return child_pointers.data();
  }
};

using exported_array = exported<ArrowArray>;
using exported_schema = exported<ArrowSchema>;

std::vector<const void*> buffers_of(const column_data& column) {
  const column_span& span = column.span;
  if (column.layout.is_all_null) return {};
  std::vector<const void*> buffers = {span.validity};
  switch (column.layout.kind) {
    case column_kind::bytes32:
    case column_kind::bytes64: buffers.push_back(span.offsets); [[fallthrough]];
    default: buffers.push_back(span.values);
  }
  if (column.layout.kind == column_kind::byte_views) {
    buffers.insert(buffers.end(), span.view_buffers, span.view_buffers + span.num_view_buffers);
    buffers.push_back(span.view_buffer_bytes);
  }
  return buffers;
}

void export_column(const column_data& column, ArrowArray* array) {
  auto behind = std::make_unique<exported_array>();
  behind->memory = column.memory;
  behind->buffers = buffers_of(column);
  constexpr std::int64_t not_counted = -1;
  const std::int64_t num_rows = static_cast<std::int64_t>(column.num_rows);
  const bool has_validity = column.span.validity != nullptr;
  const std::int64_t no_validity = column.layout.is_all_null ? num_rows : 0;
  ArrowArray made{};
  made.length = num_rows;
  made.null_count = has_validity ? not_counted : no_validity;
  made.offset = static_cast<std::int64_t>(column.span.first_row);
  made.n_buffers = static_cast<std::int64_t>(behind->buffers.size());
  made.buffers = behind->buffers.data();
  if (column.dictionary != nullptr) {
    export_column(*column.dictionary, &behind->dictionary);
    made.dictionary = &behind->dictionary;
  }
  made.release = &exported_array::release;
  made.private_data = behind.release();
  *array = made;
}

void export_part(const ArrowSchema& schema, const std::shared_ptr<const void>& memory, ArrowSchema* part) {
  auto behind = std::make_unique<exported_schema>();
  behind->memory = memory;
  ArrowSchema made{};
  made.format = schema.format;
  made.name = schema.name;
  made.metadata = schema.metadata;
  made.flags = schema.flags;
  made.n_children = schema.n_children;
  made.children = behind->add_children(static_cast<std::size_t>(schema.n_children));
  for (std::int64_t i = 0; i < schema.n_children; ++i) export_part(*schema.children[i], memory, made.children[i]);
  if (schema.dictionary != nullptr) {
    export_part(*schema.dictionary, memory, &behind->dictionary);
    made.dictionary = &behind->dictionary;
  }
  made.release = &exported_schema::release;
  made.private_data = behind.release();
  *part = made;
}

}  // namespace

void export_batch(std::span<const column_data> columns, std::uint64_t num_rows, ArrowArray* batch) {
  auto behind = std::make_unique<exported_array>();
  behind->buffers = {nullptr};  // of rows that are null as a whole
  ArrowArray made{};
  made.length = static_cast<std::int64_t>(num_rows);
  made.n_buffers = 1;
  made.buffers = behind->buffers.data();
  made.n_children = static_cast<std::int64_t>(columns.size());
  made.children = behind->add_children(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) export_column(columns[i], made.children[i]);
  made.release = &exported_array::release;
  made.private_data = behind.release();
  *batch = made;
}

void export_schema(const std::shared_ptr<const ArrowSchema>& schema, ArrowSchema* exported) {
  export_part(*schema, schema, exported);
}

}  // namespace spansort::table
