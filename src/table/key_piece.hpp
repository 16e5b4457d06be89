// SPDX-License-Identifier: Apache-2.0
// A column, or a part of its values, as ranks of as few bits as they need: smaller ranks come first in the column's
// order, nulls included.
#pragma once

#include <cstdint>
#include <limits>

#include "spansort/table.hpp"
#include "table/column_source.hpp"
#include "table/row_block.hpp"

namespace spansort::table {

/// The least and the greatest number of the rows that are not null.
struct number_range {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t greatest = 0;
  bool has_nulls = false;

  [[nodiscard]] bool is_empty() const noexcept { return least > greatest; }
  void include(const number_range& other) noexcept;
};

class key_piece {
 public:
  /// Looks at all rows, on all threads. `places_nulls`: the first piece of a column says where nulls go, those behind
  /// it leave them equal. The memory behind `column` outlives the piece.
  key_piece(column_source source, const column_span& column, const column_order& order, std::uint64_t num_rows,
            bool places_nulls);

  /// Ranks are below 2 to the power of this; 0 where all rows are equal.
  [[nodiscard]] unsigned num_bits() const noexcept { return num_bits_; }
  /// Returns whether ranks of 64 bits have none left for nulls: null_flags() has to go in front.
  [[nodiscard]] bool needs_null_flags() const noexcept { return needs_null_flags_; }
  /// Returns the piece of one bit that says where nulls go.
  [[nodiscard]] key_piece null_flags() const;

  void write_ranks(const row_block& block, std::uint64_t* ranks) const;

 private:
  key_piece() = default;
  [[nodiscard]] number_range range_of(const row_block& block) const;
  void set_ranks(const number_range& range, const column_order& order, bool places_nulls);
  [[nodiscard]] bool is_null(std::uint64_t row, std::uint64_t number) const noexcept {
    return number > source_.greatest_value || !is_valid(column_, row);
  }

  column_source source_;
  column_span column_;  ///< whose bitmap is looked at
  null_order nulls_ = null_order::last;
  bool has_nulls_ = false;
  bool needs_null_flags_ = false;
  bool is_null_flags_ = false;
  unsigned num_bits_ = 0;
  // The rank of a value is (number ^ flip) - from; both differences wrap.
  std::uint64_t flip_ = 0;
  std::uint64_t from_ = 0;
  std::uint64_t null_rank_ = 0;
};

}  // namespace spansort::table
