// SPDX-License-Identifier: Apache-2.0
// Rows that are copied to the end of those that are there, each column in memory that is kept for the next rows.
#pragma once

#include <cstdint>
#include <vector>

#include "table/arrow_rows.hpp"
#include "table/external/growing_bytes.hpp"

namespace spansort::table {

class row_pool {
 public:
  explicit row_pool(const std::shared_ptr<const ArrowSchema>& schema);
  row_pool(const row_pool&) = delete;
  row_pool& operator=(const row_pool&) = delete;

  /// Copies rows, of which nothing is kept but their dictionaries: those of the rows that come last are those of all.
  /// Throws out_of_memory, and invalid_argument for strings that need offsets of 64 bits; the rows are then of no use.
  void append(const arrow_rows& rows);
  /// Returns the rows, which lie in the pool: they are valid until it changes.
  [[nodiscard]] arrow_rows rows() const;
  [[nodiscard]] std::uint64_t num_rows() const noexcept { return num_rows_; }

  /// Takes all rows away and keeps the memory.
  void clear() noexcept;
  /// Takes all rows away and gives the memory back.
  void release() noexcept;

 private:
  struct column {
    column_layout layout = {};
    std::shared_ptr<const column_data> dictionary = {};
    growing_bytes values = {};
    growing_bytes offsets = {};
    growing_bytes validity = {};  ///< empty where no row is null
    growing_bytes outer = {};     ///< what views point into
    const void* view_buffer = nullptr;
    std::int64_t view_buffer_bytes = 0;
  };
  void append_column(column& to, const column_data& from, std::string_view name) const;

  std::shared_ptr<const ArrowSchema> schema_;
  std::vector<column> columns_;
  std::uint64_t num_rows_ = 0;
};

}  // namespace spansort::table
