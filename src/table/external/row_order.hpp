// SPDX-License-Identifier: Apache-2.0
// The columns that rows are ordered by, each with its order, for tables of which no part has all rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "table/arrow_rows.hpp"
#include "table/external/table_dictionaries.hpp"

namespace spansort::table {

class row_order {
 public:
  /// Throws invalid_argument for columns that are not there or have no order.
  row_order(const ArrowSchema& schema, std::span<const arrow_key> by);

  /// Returns the columns to order by alone.
  [[nodiscard]] arrow_rows keys_of(const arrow_rows& rows) const;
  /// Points columns that keys_of() gave at the dictionaries of now.
  void apply(const table_dictionaries& dictionaries, arrow_rows& keys) const;
  /// Returns the stable order of rows by columns that keys_of() gave.
  [[nodiscard]] std::vector<std::uint64_t> argsort(const arrow_rows& keys, const sort_options& options) const;

 private:
  struct key {
    std::uint64_t column = 0;
    column_order order = {};
  };
  std::vector<key> keys_;  ///< a column comes once: it decides nothing where it comes again
};

}  // namespace spansort::table
