// SPDX-License-Identifier: Apache-2.0
// The rows of a dictionary column as ranks of their values: the dictionary is sorted once, its rows by numbers then.
#pragma once

#include <cstdint>
#include <vector>

#include "spansort/table.hpp"
#include "table/row_block.hpp"

namespace spansort::table {

class dictionary_ranks {
 public:
  /// Sorts the dictionary. Throws invalid_argument for an index that is no row of it.
  dictionary_ranks(const sort_column& column, std::uint64_t num_rows);

  /// Writes the rank of each row's value among the distinct ones; more than greatest_rank() where that value is null.
  void read(const row_block& block, std::uint64_t* ranks) const;
  [[nodiscard]] std::uint64_t greatest_rank() const noexcept { return greatest_rank_; }

 private:
  void rank_values(const sort_column& column);
  void check_indices(std::uint64_t num_rows) const;

  column_span column_;
  std::vector<std::uint64_t> ranks_;  ///< of the rows of the dictionary
  std::uint64_t greatest_rank_ = 0;
};

}  // namespace spansort::table
