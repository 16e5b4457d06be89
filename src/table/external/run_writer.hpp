// SPDX-License-Identifier: Apache-2.0
// Sorted rows on their way into a run.
#pragma once

#include <vector>

#include "table/external/row_order.hpp"
#include "table/external/table_spill.hpp"

namespace spansort::table {

class run_writer {
 public:
  run_writer(const row_order& order, table_spill& spill) : order_(order), spill_(spill) {}
  /// The next rows, as ordered_rows::take() gives them.
  void add(const arrow_rows& rows);
  /// Blocks until all is written.
  [[nodiscard]] spilled_run finish();

 private:
  const row_order& order_;
  table_spill& spill_;
  spilled_run run_;
  std::vector<arrow_rows> heads_;  ///< of the blocks so far
};

}  // namespace spansort::table
