// SPDX-License-Identifier: Apache-2.0
// Random tables in Arrow's layout, and their order by a comparison of rows that shares nothing with the library's keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "spansort/table.hpp"
#include "support/environment.hpp"

namespace spansort::test {

/// A value as the comparison sees it. The other fields than that of the column's kind are zero.
struct cell {
  bool is_null = false;
  __extension__ __int128 integer = 0;
  double number = 0;
  std::string bytes;
};

/// A column with the memory that it lies in.
struct table_column {
  sort_column column;
  bool is_float = false;
  std::vector<cell> cells;
  std::vector<std::byte> values;
  std::vector<std::byte> offsets;
  std::vector<std::uint8_t> validity;
  std::string view_bytes[2];
  const void* view_buffers[2] = {};
  std::int64_t view_buffer_bytes[2] = {};
  std::unique_ptr<table_column> dictionary;
};

enum class table_contents : std::uint8_t { few, many, extreme, equal, null };
inline constexpr table_contents all_table_contents[] = {
    table_contents::few, table_contents::many, table_contents::extreme, table_contents::equal, table_contents::null};

struct column_case {
  column_kind kind = column_kind::number;
  key_type type = key_type::u64;
  table_contents contents = table_contents::many;
  column_order order = {};
  bool has_nulls = false;
  std::uint64_t first_row = 0;  ///< rows in front that are not the table's
};

/// The column stays where it is, for it points into its own memory.
[[nodiscard]] std::unique_ptr<table_column> make_column(const column_case& c, std::uint64_t num_rows,
                                                        random_words& random);
[[nodiscard]] column_case random_column_case(random_words& random);
[[nodiscard]] std::string describe(const column_case& c);

/// The stable order of the rows by std::stable_sort.
[[nodiscard]] std::vector<std::uint64_t> expected_order(const std::vector<std::unique_ptr<table_column>>& columns,
                                                        std::uint64_t num_rows);

}  // namespace spansort::test
