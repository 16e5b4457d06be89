// SPDX-License-Identifier: Apache-2.0
// argsort_table: the order of a table's rows by several columns, each with its direction and its place for nulls.
//
//     const spansort::sort_column by[] = {
//         {spansort::as_column(countries), {.nulls = spansort::null_order::first}},
//         {spansort::as_column(prices), {.order = spansort::direction::descending}}};
//     const std::vector<std::uint64_t> order = spansort::argsort_table(by, num_rows);
//     const std::vector<double> prices_in_order = spansort::take(prices, order);
//
// Columns lie as Apache Arrow lays them out: values one after the other, a bit a row that says whether it is null,
// strings by offsets into their bytes. arrow.hpp makes them of Arrow's C structs.
//
// Rows are ordered by the first column; where they are equal in it by the second, and so on. The sort is stable. Every
// column becomes as many bits as its values need, from the least one to the greatest; the bits of all columns together
// are sorted as numbers of 64 bits, by as few sorts as that takes. Rows are never compared column by column.
//
// Memory beside n rows, with i = 4 bytes for an index (8 where the indices are wider): n * 8, and that of sort_pairs
// with keys of 8 and values of i bytes (sort.hpp), 512 KiB a thread, n / 341 bytes. A dictionary of d values is sorted
// first, which takes d * 16 bytes more than an argsort_table of d rows; a limit on memory does not see it.
//
// All calls block. They throw invalid_argument (null pointers, offsets that fall, dictionary indices out of range),
// device_error, out_of_memory, cancelled. Columns are only read; indices of a call that throws are unspecified.
#pragma once

#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <string_view>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/options.hpp"
#include "spansort/ranges.hpp"
#include "spansort/sort.hpp"
#include "spansort/types.hpp"

namespace spansort {

/// A kind says how the values of a column lie in memory.
enum class column_kind : std::uint8_t {
  number,       ///< of a key type; dates, times, timestamps, durations and decimals of up to 64 bits are integers
  boolean,      ///< a bit each, the lowest of a byte first
  integer128,   ///< two's complement, 16 bytes, little-endian: decimals of 128 bits
  fixed_bytes,  ///< `width_bytes` bytes each, in the order of memcmp
  bytes32,      ///< strings and binary, by offsets of 32 bits, in the order of memcmp, the shorter one first
  bytes64,      ///< the same by offsets of 64 bits
  dictionary,   ///< integers of a key type that number the rows of another column, which gives the order
  byte_views    ///< strings and binary, by Arrow's views of 16 bytes, ordered as bytes32
};

/// A column in memory of the caller's. Row 0 is value `first_row` of `values` (of the offsets for strings) and bit
/// `first_row` of `validity`: a slice of a column is one, too.
struct column_span {
  column_kind kind = column_kind::number;
  key_type type = key_type::u64;   ///< of numbers and of dictionary indices
  std::uint32_t width_bytes = 0;   ///< of fixed_bytes, 1 to 1024
  const void* values = nullptr;    ///< the bytes of all strings, for these
  const void* offsets = nullptr;   ///< of strings: one more than rows
  const void* validity = nullptr;  ///< a bit a row, the lowest of a byte first, 0 for null; null pointer: none is null
  std::uint64_t first_row = 0;
  const column_span* dictionary = nullptr;  ///< not a dictionary itself
  std::uint64_t num_dictionary_rows = 0;
  const void* const* view_buffers = nullptr;  ///< that byte_views name
  const std::int64_t* view_buffer_bytes = nullptr;
  std::uint64_t num_view_buffers = 0;
};

/// Numbers of C++ types as a column without nulls.
template <key_range R>
[[nodiscard]] column_span as_column(const R& numbers) noexcept {
  return {.type = key_traits<std::remove_cv_t<std::ranges::range_value_t<R>>>::type,
          .values = std::ranges::data(numbers)};
}

enum class null_order : std::uint8_t { last, first };  ///< in both directions
enum class nan_order : std::uint8_t {
  last,     ///< after all numbers, in both directions; before nulls that are last
  largest,  ///< above +inf, so that they come first when descending
  null      ///< NaN is null
};
enum class zero_order : std::uint8_t {
  tie,            ///< -0.0 equals +0.0
  negative_first  ///< -0.0 is less than +0.0
};

/// The order of a column.
struct column_order {
  direction order = direction::ascending;
  null_order nulls = null_order::last;
  nan_order nans = nan_order::last;
  zero_order zeros = zero_order::tie;
  friend bool operator==(const column_order&, const column_order&) = default;
};

/// The orders that other systems have by default, in their versions of November 2026.
enum class table_preset : std::uint8_t {
  numpy,      ///< NumPy 2.5, pyarrow 26: nulls last, NaN last, zeros tie
  pandas,     ///< pandas 3.1: NaN is null, nulls last
  duckdb,     ///< DuckDB 2.0: nulls last, NaN largest, zeros tie
  polars,     ///< polars 2.1: nulls first, NaN largest, zeros tie
  datafusion  ///< DataFusion 55: nulls last ascending and first descending, NaN largest, -0.0 before +0.0
};
[[nodiscard]] column_order order_of(table_preset preset, direction d = direction::ascending) noexcept;
/// "numpy" ... "datafusion".
[[nodiscard]] std::string_view name(table_preset preset) noexcept;
/// The inverse of name(). Throws invalid_argument for anything else, listing what is known.
[[nodiscard]] table_preset parse_table_preset(std::string_view text);

/// A column to order rows by.
struct sort_column {
  column_span values;
  column_order order = {};
};

namespace detail {
void argsort_table(std::span<const sort_column> by, std::uint64_t num_rows, void* indices, std::uint64_t index_bytes,
                   const sort_options& options);
}  // namespace detail

/// Writes into `indices`, one a row, which row comes first, second ...; their number is that of the rows. Without
/// columns the rows stay as they are. Stable.
template <in_place_index_range S>
void argsort_table(std::span<const sort_column> by, S&& indices, const sort_options& options = {}) {
  using index = std::ranges::range_value_t<S>;
  detail::require_index_range(std::ranges::size(indices),
                              static_cast<std::uint64_t>(std::numeric_limits<index>::max()));
  detail::argsort_table(by, std::ranges::size(indices), std::ranges::data(indices), sizeof(index), options);
}

/// Returns the stable order of `num_rows` rows as 64-bit indices.
[[nodiscard]] inline std::vector<std::uint64_t> argsort_table(std::span<const sort_column> by, std::uint64_t num_rows,
                                                              const sort_options& options = {}) {
  std::vector<std::uint64_t> indices(num_rows);
  detail::argsort_table(by, num_rows, indices.data(), sizeof(std::uint64_t), options);
  return indices;
}

}  // namespace spansort
