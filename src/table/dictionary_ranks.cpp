// SPDX-License-Identifier: Apache-2.0
#include "table/dictionary_ranks.hpp"

#include <fmt/format.h>

#include <array>
#include <concepts>
#include <limits>
#include <type_traits>

#include "base/for_blocks.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "spansort/errors.hpp"
#include "table/column_source.hpp"
#include "table/row_keys.hpp"

namespace spansort::table {
namespace {

constexpr std::uint64_t rank_of_null = std::numeric_limits<std::uint64_t>::max();

/// Returns the index of a row. Negative ones become greater than any number of rows.
template <std::unsigned_integral K>
std::uint64_t index_at(const column_span& column, std::uint64_t row) {
  const K index = static_cast<const K*>(column.values)[column.first_row + row];
  if (!keys::is_signed_integer(column.type)) return index;
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::make_signed_t<K>>(index)});
}

}  // namespace

dictionary_ranks::dictionary_ranks(const sort_column& column, std::uint64_t num_rows)
    : column_(column.values), ranks_(column.values.num_dictionary_rows) {
  check_indices(num_rows);
  rank_values(column);
}

void dictionary_ranks::check_indices(std::uint64_t num_rows) const {
  keys::with_width(static_cast<unsigned>(size_bytes(column_.type)), [&]<class K>() {
    base::for_blocks(num_rows, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t row = begin; row < end; ++row) {
        if (index_at<K>(column_, row) < ranks_.size() || !is_valid(column_, row)) continue;
        throw invalid_argument(
            fmt::format("argsort_table: the index of row {} is none of the dictionary's {} rows", row, ranks_.size()));
      }
    });
  });
}

void dictionary_ranks::rank_values(const sort_column& column) {
  // Ranks ascend with the values: the direction is the column's matter, but NaN that are last are so in both.
  const bool is_descending = column.order.order == direction::descending;
  const sort_column dictionary{*column_.dictionary, column.order};
  const row_keys keys({&dictionary, 1}, ranks_.size());
  std::vector<std::uint64_t> order(ranks_.size());
  argsort_rows(keys, order, {.devices = "cpu"});
  std::vector<std::uint64_t> values;
  const auto is_null = null_test(dictionary);
  for (const std::uint64_t row : order) {
    if (!is_null(row)) values.push_back(row);
    ranks_[row] = rank_of_null;
  }
  std::uint64_t num_distinct = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0 && !keys.are_equal(values[i - 1], values[i])) ++num_distinct;
    ranks_[values[i]] = num_distinct;
  }
  greatest_rank_ = num_distinct;
  if (!is_descending) return;
  for (const std::uint64_t row : values) ranks_[row] = greatest_rank_ - ranks_[row];
}

void dictionary_ranks::read(const row_block& block, std::uint64_t* ranks) const {
  keys::with_width(static_cast<unsigned>(size_bytes(column_.type)), [&]<class K>() {
    for_rows(block, [&](std::uint64_t i, std::uint64_t row) {
      const std::uint64_t index = index_at<K>(column_, row);
      ranks[i] = index < ranks_.size() ? ranks_[index] : rank_of_null;
    });
  });
}

}  // namespace spansort::table
