// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <utility>

#include "base/threads.hpp"
#include "sort/take.hpp"
#include "spansort/arrow.hpp"
#include "spansort/errors.hpp"
#include "table/arrow_exchange.hpp"

namespace spansort {

struct arrow_table::state {
  std::shared_ptr<const ArrowSchema> schema;
  std::vector<table::column_data> columns;
  std::uint64_t num_rows = 0;

  [[nodiscard]] std::string_view name(std::uint64_t number) const {
    const char* const name = schema->children[number]->name;
    return name == nullptr ? "" : name;
  }
};

namespace {

std::string_view text_or(const char* text, std::string_view otherwise) { return text == nullptr ? otherwise : text; }

void require_read(int status, ArrowArrayStream& stream) {
  if (status == 0) return;
  throw bad_input(fmt::format("an Arrow stream: {}", text_or(stream.get_last_error(&stream), "it tells no reason")));
}

std::shared_ptr<const ArrowSchema> schema_of(ArrowArrayStream& stream) {
  ArrowSchema schema{};
  require_read(stream.get_schema(&stream, &schema), stream);
  return table::take_over(&schema);
}

/// Returns nothing at the end of the stream.
std::shared_ptr<ArrowArray> next_batch(ArrowArrayStream& stream) {
  ArrowArray batch{};
  require_read(stream.get_next(&stream, &batch), stream);
  return batch.release == nullptr ? nullptr : table::take_over(&batch);
}

/// The table behind a stream of one batch.
struct exported_stream {
  arrow_table table;
  bool is_at_end = false;
  std::string last_error = {};

  template <class F>
  int hand_out(const F& f) noexcept {
    try {
      f();
      return 0;
    } catch (const std::bad_alloc&) {
      return ENOMEM;
    } catch (const std::exception& reason) {
      last_error = reason.what();
      return EIO;
    }
  }

  static exported_stream& of(ArrowArrayStream* stream) { return *static_cast<exported_stream*>(stream->private_data); }
  static int get_schema(ArrowArrayStream* stream, ArrowSchema* schema) {
    return of(stream).hand_out([&] { of(stream).table.export_to(schema, nullptr); });
  }
  static int get_next(ArrowArrayStream* stream, ArrowArray* batch) {
    return of(stream).hand_out([&] {
      if (std::exchange(of(stream).is_at_end, true)) {
        batch->release = nullptr;
      } else {
        of(stream).table.export_to(nullptr, batch);
      }
    });
  }
  static const char* get_last_error(ArrowArrayStream* stream) {
    return of(stream).last_error.empty() ? nullptr : of(stream).last_error.c_str();
  }
  static void release(ArrowArrayStream* stream) {
    delete &of(stream);
    stream->release = nullptr;
  }
};

}  // namespace

arrow_table::arrow_table(std::shared_ptr<const state> s) : state_(std::move(s)) {}

arrow_table::arrow_table(ArrowArrayStream* stream) {
  if (stream == nullptr || stream->release == nullptr) throw invalid_argument("an Arrow stream that was released");
  const std::shared_ptr<ArrowArrayStream> owned = table::take_over(stream);
  auto made = std::make_shared<state>();
  made->schema = schema_of(*owned);
  std::vector<std::vector<table::column_data>> chunks;  // of each column
  const auto add = [&](std::shared_ptr<ArrowArray> batch) {
    std::vector<table::column_data> columns = table::columns_of(*made->schema, batch);
    chunks.resize(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) chunks[i].push_back(std::move(columns[i]));
    made->num_rows += static_cast<std::uint64_t>(batch->length);
  };
  while (std::shared_ptr<ArrowArray> batch = next_batch(*owned)) {
    if (batch->length != 0) add(std::move(batch));
  }
  if (chunks.empty()) made->columns = table::columns_without_rows(*made->schema);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    made->columns.push_back(table::concatenate(chunks[i], made->name(i)));
  }
  state_ = std::move(made);
}

arrow_table::arrow_table(ArrowSchema* schema, ArrowArray* batch) {
  if (schema == nullptr || batch == nullptr || schema->release == nullptr || batch->release == nullptr) {
    throw invalid_argument("an Arrow record batch that was released");
  }
  auto made = std::make_shared<state>();
  made->schema = table::take_over(schema);
  const std::shared_ptr<ArrowArray> owned = table::take_over(batch);
  made->columns = table::columns_of(*made->schema, owned);
  made->num_rows = static_cast<std::uint64_t>(owned->length);
  state_ = std::move(made);
}

std::uint64_t arrow_table::num_rows() const noexcept { return state_->num_rows; }
std::uint64_t arrow_table::num_columns() const noexcept { return state_->columns.size(); }

std::string_view arrow_table::column_name(std::uint64_t number) const {
  if (number < num_columns()) return state_->name(number);
  throw invalid_argument(fmt::format("column {} of a table of {}", number, num_columns()));
}

std::uint64_t arrow_table::column_number(std::string_view name) const {
  std::vector<std::string_view> names;
  for (std::uint64_t i = 0; i < num_columns(); ++i) names.push_back(state_->name(i));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw invalid_argument(fmt::format("no column has the name '{}': there are {}", name, fmt::join(names, ", ")));
  }
  if (std::find(found + 1, names.end(), name) != names.end()) {
    throw invalid_argument(fmt::format("several columns have the name '{}'", name));
  }
  return static_cast<std::uint64_t>(found - names.begin());
}

column_span arrow_table::column(std::uint64_t number) const {
  const std::string_view name = column_name(number);
  const table::column_data& column = state_->columns[number];
  if (column.layout.is_ordered) {
    column_span indices = column.span;
    indices.kind = column_kind::number;
    return indices;
  }
  if (column.layout.has_order) return column.span;
  throw invalid_argument(
      fmt::format("column '{}' of Arrow's type '{}' has no order", name, state_->schema->children[number]->format));
}

arrow_table arrow_table::take(std::span<const std::uint64_t> rows, const take_options& options) const {
  const const_key_span indices(key_type::u64, rows.data(), rows.size());
  return base::with_threads(options.threads, [&] {
    if (const auto bad = sorting::first_bad_index(indices, num_rows())) {
      throw invalid_argument(fmt::format("take: {}", sorting::bad_index_text(indices, *bad, 0, num_rows())));
    }
    auto taken = std::make_shared<state>();
    taken->schema = state_->schema;
    taken->num_rows = rows.size();
    for (std::uint64_t i = 0; i < num_columns(); ++i) {
      taken->columns.push_back(table::take_rows(state_->columns[i], rows, state_->name(i)));
    }
    return arrow_table(std::move(taken));
  });
}

void arrow_table::export_to(ArrowSchema* schema, ArrowArray* batch) const {
  if (schema != nullptr) table::export_schema(state_->schema, schema);
  if (batch != nullptr) table::export_batch(state_->columns, num_rows(), batch);
}

void arrow_table::export_to(ArrowArrayStream* stream) const {
  stream->private_data = new exported_stream{*this};
  stream->get_schema = &exported_stream::get_schema;
  stream->get_next = &exported_stream::get_next;
  stream->get_last_error = &exported_stream::get_last_error;
  stream->release = &exported_stream::release;
}

std::vector<sort_column> sort_columns(const arrow_table& table, std::span<const arrow_key> by) {
  std::vector<sort_column> columns;
  for (const arrow_key& key : by) columns.push_back({table.column(table.column_number(key.column)), key.order});
  return columns;
}

std::vector<std::uint64_t> argsort_table(const arrow_table& table, std::span<const arrow_key> by,
                                         const sort_options& options) {
  return argsort_table(sort_columns(table, by), table.num_rows(), options);
}

arrow_table sort_table(const arrow_table& table, std::span<const arrow_key> by, const sort_options& options) {
  return table.take(argsort_table(table, by, options), {.threads = options.threads});
}

}  // namespace spansort
