// SPDX-License-Identifier: Apache-2.0
// Rows in memory with their order, handed out a batch at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "table/arrow_rows.hpp"

namespace spansort::table {

class ordered_rows {
 public:
  ordered_rows() = default;
  /// Takes rows that lie in memory of others, which outlives them, and their order.
  ordered_rows(arrow_rows rows, std::vector<std::uint64_t> order);

  [[nodiscard]] const arrow_rows& rows() const noexcept { return rows_; }
  /// Limits what is handed out to the first `num_rows` in order.
  void end_at(std::uint64_t num_rows) noexcept { end_ = num_rows; }
  [[nodiscard]] bool is_at_end() const noexcept { return next_ == end_; }
  /// Returns copies of the next rows, about `target_bytes` of them.
  [[nodiscard]] arrow_rows take(std::uint64_t target_bytes);
  /// Returns the numbers of the rows that are not to be handed out, rising.
  [[nodiscard]] std::vector<std::uint64_t> rest() const;
  [[nodiscard]] const std::vector<std::uint64_t>& order() const noexcept { return order_; }

 private:
  arrow_rows rows_ = {};
  std::vector<std::uint64_t> order_;
  double average_bytes_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace spansort::table
