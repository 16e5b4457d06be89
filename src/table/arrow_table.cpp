// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/call_watch.hpp"
#include "base/threads.hpp"
#include "sort/take.hpp"
#include "spansort/arrow.hpp"
#include "spansort/errors.hpp"
#include "table/arrow_exchange.hpp"
#include "table/arrow_rows.hpp"
#include "table/check_column.hpp"
#include "table/sort_alone.hpp"
#include "table/sort_packed.hpp"

namespace spansort {

struct arrow_table::state : table::arrow_rows {};

namespace {

/// The batches of a table: one.
class whole_table final : public table::batch_source {
 public:
  explicit whole_table(table::arrow_rows rows) : rows_(std::move(rows)) {}
  [[nodiscard]] std::shared_ptr<const ArrowSchema> schema() const override { return rows_.schema; }
  [[nodiscard]] bool next(table::arrow_rows& batch) override {
    if (std::exchange(is_at_end_, true)) return false;
    batch = rows_;
    return true;
  }

 private:
  table::arrow_rows rows_;
  bool is_at_end_ = false;
};

/// The order of the rows is this part of a sort, as progress is shown; the copies have no fraction of their own.
constexpr double order_share = 0.6;

/// Returns the options for the order of a table that is sorted by it. The end of the order is not that of the sort.
sort_options options_of_order(sort_options options) {
  if (!options.on_progress) return options;
  options.on_progress = [user = options.on_progress](const progress& p) {
    return p.fraction == 1 || user({p.phase, order_share * p.fraction});
  };
  return options;
}

/// Sorts a table that is nothing but its keys, where its rows can be packed; the copies are told of as others are.
std::optional<table::arrow_rows> sort_as_keys(const table::arrow_rows& rows, std::span<const arrow_key> by,
                                              const sort_options& options, const sort_options& of_order) {
  std::vector<table::numbered_key> keys;
  for (const arrow_key& key : by) keys.push_back({table::column_number(*rows.schema, key.column), key.order.order});
  return base::with_threads(options.threads, [&] {
    const base::call_watch watch(options.on_progress, "take", order_share);
    std::optional<table::arrow_rows> sorted = table::sort_packed(rows, keys, of_order, watch);
    if (sorted && options.on_progress) options.on_progress({"done", 1});
    return sorted;
  });
}

}  // namespace

arrow_table::arrow_table(std::shared_ptr<const state> s) : state_(std::move(s)) {}

arrow_table::arrow_table(ArrowArrayStream* stream) {
  table::arrow_reader reader(stream);
  std::vector<table::arrow_rows> parts;
  for (table::arrow_rows part; reader.read(part);) parts.push_back(std::move(part));
  state_ = std::make_shared<const state>(state{parts.empty() ? table::no_rows(reader.schema()) : table::join(parts)});
}

arrow_table::arrow_table(ArrowSchema* schema, ArrowArray* batch) {
  if (schema == nullptr || batch == nullptr || schema->release == nullptr || batch->release == nullptr) {
    throw invalid_argument("an Arrow record batch that was released");
  }
  state made;
  made.schema = table::take_over(schema);
  const std::shared_ptr<ArrowArray> owned = table::take_over(batch);
  made.columns = table::columns_of(*made.schema, owned);
  made.num_rows = static_cast<std::uint64_t>(owned->length);
  state_ = std::make_shared<const state>(std::move(made));
}

std::uint64_t arrow_table::num_rows() const noexcept { return state_->num_rows; }
std::uint64_t arrow_table::num_columns() const noexcept { return state_->columns.size(); }

std::string_view arrow_table::column_name(std::uint64_t number) const {
  if (number < num_columns()) return table::column_name(*state_->schema, number);
  throw invalid_argument(fmt::format("column {} of a table of {}", number, num_columns()));
}

std::uint64_t arrow_table::column_number(std::string_view name) const {
  return table::column_number(*state_->schema, name);
}

column_span arrow_table::column(std::uint64_t number) const {
  static_cast<void>(column_name(number));
  const table::column_data& column = state_->columns[number];
  table::require_order(column.layout, *state_->schema->children[number]);
  return table::ordered_span(column);
}

arrow_table arrow_table::take(std::span<const std::uint64_t> rows, const take_options& options) const {
  const const_key_span indices(key_type::u64, rows.data(), rows.size());
  return base::with_threads(options.threads, [&] {
    const base::call_watch watch(options.on_progress, "take");
    if (const auto bad = sorting::first_bad_index(indices, num_rows())) {
      throw invalid_argument(fmt::format("take: {}", sorting::bad_index_text(indices, *bad, 0, num_rows())));
    }
    arrow_table taken(std::make_shared<const state>(state{table::take_rows(*state_, rows, &watch)}));
    if (options.on_progress) options.on_progress({"done", 1});
    return taken;
  });
}

void arrow_table::export_to(ArrowSchema* schema, ArrowArray* batch) const {
  if (schema != nullptr) table::export_schema(state_->schema, schema);
  if (batch != nullptr) table::export_batch(state_->columns, num_rows(), batch);
}

void arrow_table::export_to(ArrowArrayStream* stream) const {
  table::export_stream(std::make_unique<whole_table>(*state_), stream);
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
  const std::vector<sort_column> columns = sort_columns(table, by);
  // Of a table of one column all keys are that one, and the first of them orders it.
  if (!columns.empty()) {
    for (const sort_column& column : columns) table::check_order(column.order);
    std::optional<table::arrow_rows> rows = table::sort_alone(*table.state_, columns.front().order.order, options);
    if (rows) return arrow_table(std::make_shared<const arrow_table::state>(arrow_table::state{*std::move(rows)}));
  }
  const sort_options of_order = options_of_order(options);
  if (auto sorted = sort_as_keys(*table.state_, by, options, of_order)) {
    return arrow_table(std::make_shared<const arrow_table::state>(arrow_table::state{*std::move(sorted)}));
  }
  const std::vector<std::uint64_t> rows = argsort_table(columns, table.num_rows(), of_order);
  return base::with_threads(options.threads, [&] {
    const base::call_watch watch(options.on_progress, "take", order_share);
    arrow_table sorted(
        std::make_shared<const arrow_table::state>(arrow_table::state{table::take_rows(*table.state_, rows, &watch)}));
    if (options.on_progress) options.on_progress({"done", 1});
    return sorted;
  });
}

}  // namespace spansort
