// SPDX-License-Identifier: Apache-2.0
// Rows of a table, whole in memory, with the schema of the table: what an arrow_table holds, and the parts that a
// table larger than memory is sorted in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "spansort/arrow.hpp"
#include "table/column_data.hpp"

namespace spansort::table {

struct arrow_rows {
  std::shared_ptr<const ArrowSchema> schema;
  std::vector<column_data> columns;
  std::uint64_t num_rows = 0;
};

[[nodiscard]] std::string_view column_name(const ArrowSchema& schema, std::uint64_t number);
/// Throws invalid_argument where no column has the name or several have, listing those that there are.
[[nodiscard]] std::uint64_t column_number(const ArrowSchema& schema, std::string_view name);

/// Returns a column as it is ordered: an ordered dictionary as its indices.
[[nodiscard]] column_span ordered_span(const column_data& column);
/// Throws invalid_argument for columns that have no order.
void require_order(const column_layout& layout, const ArrowSchema& column);

[[nodiscard]] arrow_rows no_rows(const std::shared_ptr<const ArrowSchema>& schema);

/// Returns the rows of all parts, of which there is one at least, one after the other. A single one stays where it is,
/// several are copied. Throws as concatenate().
[[nodiscard]] arrow_rows join(std::span<const arrow_rows> parts);

/// Returns copies of rows in the order of `rows`, all of which are below their number. Throws as take_rows() of a
/// column.
/// `watch` asks meanwhile; null: nobody does. Throws what base::call_watch::ask() throws.
[[nodiscard]] arrow_rows take_rows(const arrow_rows& from, std::span<const std::uint64_t> rows,
                                   const base::call_watch* watch = nullptr);

/// Another system's stream of record batches, owned.
class arrow_reader {
 public:
  /// Takes the stream over and reads its schema. Throws invalid_argument for a stream that was released, bad_input for
  /// what the stream reports.
  explicit arrow_reader(ArrowArrayStream* stream);

  [[nodiscard]] const std::shared_ptr<const ArrowSchema>& schema() const noexcept { return schema_; }
  /// Puts the next rows, of which there is one at least, into `rows`; false at the end of the stream. Throws as the
  /// constructor, and where columns cannot be carried.
  [[nodiscard]] bool read(arrow_rows& rows);

 private:
  std::shared_ptr<ArrowArrayStream> stream_;
  std::shared_ptr<const ArrowSchema> schema_;
};

/// Batches that a stream of ours hands out.
class batch_source {
 public:
  virtual ~batch_source() = default;
  [[nodiscard]] virtual std::shared_ptr<const ArrowSchema> schema() const = 0;
  /// Puts the next batch into `batch`; false at the end. What it throws ends the stream, whose consumer is told.
  [[nodiscard]] virtual bool next(arrow_rows& batch) = 0;

 protected:
  batch_source() = default;
  batch_source(const batch_source&) = default;
  batch_source& operator=(const batch_source&) = default;
};

/// Makes a stream that owns the source.
void export_stream(std::unique_ptr<batch_source> source, ArrowArrayStream* stream);

}  // namespace spansort::table
