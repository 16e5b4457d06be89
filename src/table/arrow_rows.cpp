// SPDX-License-Identifier: Apache-2.0
#include "table/arrow_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "spansort/errors.hpp"
#include "table/arrow_exchange.hpp"

namespace spansort::table {
namespace {

void require_read(int status, ArrowArrayStream& stream) {
  if (status == 0) return;
  const char* const reason = stream.get_last_error(&stream);
  throw bad_input(fmt::format("an Arrow stream: {}", reason == nullptr ? "it tells no reason" : reason));
}

}  // namespace

std::string_view column_name(const ArrowSchema& schema, std::uint64_t number) {
  const char* const name = schema.children[number]->name;
  return name == nullptr ? "" : name;
}

std::uint64_t column_number(const ArrowSchema& schema, std::string_view name) {
  std::vector<std::string_view> names;
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    names.push_back(column_name(schema, static_cast<std::uint64_t>(i)));
  }
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw invalid_argument(fmt::format("no column has the name '{}': there are {}", name, fmt::join(names, ", ")));
  }
  if (std::find(found + 1, names.end(), name) != names.end()) {
    throw invalid_argument(fmt::format("several columns have the name '{}'", name));
  }
  return static_cast<std::uint64_t>(found - names.begin());
}

column_span ordered_span(const column_data& column) {
  column_span span = column.span;
  if (column.layout.is_ordered) span.kind = column_kind::number;
  return span;
}

void require_order(const column_layout& layout, const ArrowSchema& column) {
  if (layout.has_order) return;
  throw invalid_argument(fmt::format("column '{}' of Arrow's type '{}' has no order",
                                     column.name == nullptr ? "" : column.name, column.format));
}

arrow_rows no_rows(const std::shared_ptr<const ArrowSchema>& schema) {
  return {.schema = schema, .columns = columns_without_rows(*schema)};
}

arrow_rows join(std::span<const arrow_rows> parts) {
  arrow_rows joined{.schema = parts.front().schema, .columns = {}};
  for (const arrow_rows& part : parts) joined.num_rows += part.num_rows;
  for (std::size_t i = 0; i < parts.front().columns.size(); ++i) {
    std::vector<column_data> chunks;
    for (const arrow_rows& part : parts) chunks.push_back(part.columns[i]);
    joined.columns.push_back(concatenate(chunks, column_name(*joined.schema, i)));
  }
  return joined;
}

arrow_rows take_rows(const arrow_rows& from, std::span<const std::uint64_t> rows, const base::call_watch* watch) {
  arrow_rows taken{.schema = from.schema, .columns = {}, .num_rows = rows.size()};
  for (std::size_t i = 0; i < from.columns.size(); ++i) {
    taken.columns.push_back(take_rows(from.columns[i], rows, column_name(*from.schema, i), watch));
  }
  return taken;
}

arrow_reader::arrow_reader(ArrowArrayStream* stream) {
  if (stream == nullptr || stream->release == nullptr) throw invalid_argument("an Arrow stream that was released");
  stream_ = take_over(stream);
  ArrowSchema schema{};
  require_read(stream_->get_schema(stream_.get(), &schema), *stream_);
  schema_ = take_over(&schema);
}

bool arrow_reader::read(arrow_rows& rows) {
  for (;;) {
    ArrowArray batch{};
    require_read(stream_->get_next(stream_.get(), &batch), *stream_);
    if (batch.release == nullptr) return false;
    const std::shared_ptr<ArrowArray> owned = take_over(&batch);
    if (owned->length == 0) continue;
    rows = {.schema = schema_,
            .columns = columns_of(*schema_, owned),
            .num_rows = static_cast<std::uint64_t>(owned->length)};
    return true;
  }
}

}  // namespace spansort::table
