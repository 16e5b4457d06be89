// SPDX-License-Identifier: Apache-2.0
#include "table/external/ordered_rows.hpp"

#include <algorithm>
#include <utility>

#include "table/external/row_parts.hpp"

namespace spansort::table {

ordered_rows::ordered_rows(arrow_rows rows, std::vector<std::uint64_t> order)
    : rows_(std::move(rows)), order_(std::move(order)), end_(order_.size()) {
  if (end_ != 0) average_bytes_ = static_cast<double>(bytes_of(rows_)) / static_cast<double>(end_);
}

arrow_rows ordered_rows::take(std::uint64_t target_bytes) {
  const std::span<const std::uint64_t> open = std::span(order_).subspan(next_, end_ - next_);
  arrow_rows taken = take_about(rows_, open, target_bytes, average_bytes_);
  next_ += taken.num_rows;
  return taken;
}

std::vector<std::uint64_t> ordered_rows::rest() const {
  std::vector<std::uint64_t> rows(order_.begin() + static_cast<std::ptrdiff_t>(end_), order_.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace spansort::table
