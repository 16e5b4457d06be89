// SPDX-License-Identifier: Apache-2.0
// Tables of other systems by Apache Arrow's C data interface, which pandas, polars, pyarrow, DuckDB and DataFusion
// speak. Nothing of Arrow is needed: its C structs are declared here, unless a header declared them before.
//
//     spansort::arrow_table table(&stream);  // takes the stream over
//     const spansort::arrow_key by[] = {{"country"}, {"price", {.order = spansort::direction::descending}}};
//     const spansort::arrow_table sorted = spansort::sort_table(table, by);
//     sorted.export_to(&other_stream);
//
// Columns that can be sorted and carried: booleans, integers, floats, decimals of 32 to 128 bits, dates, times,
// timestamps, durations, intervals of months, strings and binary (offsets of 32 and 64 bits, views, of one width),
// dictionaries of these. Intervals of days and decimals of 256 bits are carried only. Nested columns, unions and
// run-end encoded columns are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spansort/options.hpp"
#include "spansort/table.hpp"
#include "spansort/take.hpp"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

}  // extern "C"

#endif  // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

extern "C" {

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

}  // extern "C"

#endif  // ARROW_C_STREAM_INTERFACE

namespace spansort {

struct arrow_key;

/// A table whose columns lie whole in memory. Copies share that memory, which is never changed.
class arrow_table {
 public:
  /// Takes the stream over, and reads it to its end. Columns of one chunk stay where they are; those of several are
  /// copied into one. Throws invalid_argument for columns that cannot be carried (the stream is released then, too),
  /// error for what the stream reports, out_of_memory.
  explicit arrow_table(ArrowArrayStream* stream);
  /// Takes over a record batch: an array of the struct type that `schema` describes.
  arrow_table(ArrowSchema* schema, ArrowArray* batch);

  [[nodiscard]] std::uint64_t num_rows() const noexcept;
  [[nodiscard]] std::uint64_t num_columns() const noexcept;
  /// Throws invalid_argument for numbers that no column has.
  [[nodiscard]] std::string_view column_name(std::uint64_t number) const;
  /// Throws invalid_argument where no column has the name or several have, listing those that there are.
  [[nodiscard]] std::uint64_t column_number(std::string_view name) const;
  /// A view, good as long as a copy of the table is alive. An ordered dictionary (ARROW_FLAG_DICTIONARY_ORDERED) is
  /// seen as its indices, which give its order. Throws invalid_argument for columns without an order.
  [[nodiscard]] column_span column(std::uint64_t number) const;

  /// Returns the rows that `rows` names, in that order, with the columns, names and metadata of this table. All
  /// threads copy; strings by views stay where they are, and keep the memory of the table that they came with.
  /// Throws invalid_argument for rows that are not there, and where strings with offsets of 32 bits would take more
  /// than 2 GiB.
  [[nodiscard]] arrow_table take(std::span<const std::uint64_t> rows, const take_options& options = {}) const;

  /// Makes a stream of one batch of the table, which may outlive it. Its consumer calls its release().
  void export_to(ArrowArrayStream* stream) const;
  void export_to(ArrowSchema* schema, ArrowArray* batch) const;

 private:
  struct state;
  friend arrow_table sort_table(const arrow_table& table, std::span<const arrow_key> by, const sort_options& options);
  explicit arrow_table(std::shared_ptr<const state> s);
  std::shared_ptr<const state> state_;
};

/// A column to order by.
struct arrow_key {
  std::string_view column;
  column_order order = {};
};

/// Returns the columns for calls of table.hpp, good as long as a copy of the table is alive. Throws as
/// arrow_table::column_number() and column().
[[nodiscard]] std::vector<sort_column> sort_columns(const arrow_table& table, std::span<const arrow_key> by);
/// Returns the stable order of the rows. Throws as argsort_table() of columns.
[[nodiscard]] std::vector<std::uint64_t> argsort_table(const arrow_table& table, std::span<const arrow_key> by,
                                                       const sort_options& options = {});
/// Returns the rows in that order: argsort_table() and take(). Memory: that of both, and of the copy. Of a table that
/// has one column, of numbers without nulls (floats: without NaN and -0.0), the values alone are sorted, in the copy;
/// where a table has several such columns, all of them keys, and what they span takes at most 64 bits a row, rows are
/// sorted as numbers of 4 or 8 bytes, which come on top of the copy, with the workspace of sort().
[[nodiscard]] arrow_table sort_table(const arrow_table& table, std::span<const arrow_key> by,
                                     const sort_options& options = {});

}  // namespace spansort
