// SPDX-License-Identifier: Apache-2.0
// A few rows of a table, the unit in which columns are read: few enough for their numbers to lie in the first cache.
#pragma once

#include <cstdint>

namespace spansort::table {

inline constexpr std::uint64_t most_block_rows = 512;

/// Rows one after the other, or those that `rows` names.
struct row_block {
  const std::uint64_t* rows = nullptr;
  std::uint64_t first_row = 0;  ///< where `rows` is null
  std::uint64_t num_rows = 0;   ///< most_block_rows at most
};

/// Calls body(i, row) for every row, in a loop without a choice in it.
template <class Body>
void for_rows(const row_block& block, const Body& body) {
  if (block.rows != nullptr) {
    for (std::uint64_t i = 0; i < block.num_rows; ++i) body(i, block.rows[i]);
  } else {
    for (std::uint64_t i = 0; i < block.num_rows; ++i) body(i, block.first_row + i);
  }
}

}  // namespace spansort::table
