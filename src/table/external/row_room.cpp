// SPDX-License-Identifier: Apache-2.0
#include "table/external/row_room.hpp"

#include <algorithm>

namespace spansort::table {
namespace {

/// Rows are in memory beside their order and the workspace of the sort (table.hpp): 8 bytes of a row's number, 8 of its
/// key's word, 28 of the sort of the words. While rows of one pool are sorted, those of the other have their order.
constexpr std::uint64_t sort_bytes_of_a_row = 44;
constexpr std::uint64_t order_bytes_of_a_row = 8;

}  // namespace

bool stream_sort_parts::has_room_for(std::uint64_t rows_bytes, std::uint64_t num_rows) const noexcept {
  return rows_bytes <= most_bytes &&
         2 * rows_bytes + (sort_bytes_of_a_row + order_bytes_of_a_row) * num_rows <= memory_bytes;
}

bool stream_sort_parts::has_room_for_all(std::uint64_t rows_bytes, std::uint64_t num_rows) const noexcept {
  return rows_bytes <= most_bytes && rows_bytes + sort_bytes_of_a_row * num_rows <= memory_bytes;
}

std::uint64_t stream_sort_parts::run_bytes(std::uint64_t rows_bytes, std::uint64_t num_rows) const noexcept {
  const double row_bytes = std::max(static_cast<double>(rows_bytes) / static_cast<double>(num_rows), 1.0 / 8);
  const double share = row_bytes / (2 * row_bytes + static_cast<double>(sort_bytes_of_a_row + order_bytes_of_a_row));
  return std::min(static_cast<std::uint64_t>(static_cast<double>(memory_bytes) * share), most_bytes);
}

}  // namespace spansort::table
