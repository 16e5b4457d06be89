// SPDX-License-Identifier: Apache-2.0
// Sorted runs of rows in temporary files, merged without a comparison of rows.
//
// The keys of all blocks' first rows are in memory and sorted, which gives the order in which blocks are read. Blocks
// are read while there is room, joined with the rows that are left, and sorted in memory. The first row of the block
// that was read last, and what comes before it, is before all rows that are not read yet: it is handed out. What is
// left is part of one block a run, and nothing of blocks of one row, so that two long rows are never joined. Rows of
// earlier runs stand first where the rows are joined, so that equal rows keep their order.
#pragma once

#include <cstdint>
#include <vector>

#include "table/external/row_order.hpp"
#include "table/external/table_dictionaries.hpp"
#include "table/external/table_spill.hpp"

namespace spansort::table {

/// Rows in memory with their order, handed out a batch at a time.
class ordered_rows {
 public:
  ordered_rows() = default;
  ordered_rows(arrow_rows rows, std::vector<std::uint64_t> order);

  [[nodiscard]] const arrow_rows& rows() const noexcept { return rows_; }
  /// Only the first `num_rows` in order are handed out.
  void end_at(std::uint64_t num_rows) noexcept { end_ = num_rows; }
  [[nodiscard]] bool is_at_end() const noexcept { return next_ == end_; }
  [[nodiscard]] arrow_rows take(std::uint64_t target_bytes);
  /// Returns the numbers of the rows that are not handed out, rising.
  [[nodiscard]] std::vector<std::uint64_t> rest() const;
  [[nodiscard]] const std::vector<std::uint64_t>& order() const noexcept { return order_; }

 private:
  arrow_rows rows_ = {};
  std::vector<std::uint64_t> order_;
  double average_bytes_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
};

/// What parts of a sort of a table share.
struct stream_sort_parts {
  std::shared_ptr<const ArrowSchema> schema;
  row_order order;
  table_dictionaries dictionaries;
  sort_options options;            ///< of sorts in memory
  std::uint64_t memory_bytes = 0;  ///< for rows and their sort
  std::uint64_t most_bytes = 0;    ///< of rows in one piece: strings that are joined may have offsets of 32 bits
  std::uint64_t batch_bytes = 0;   ///< handed out at a time, about

  /// Returns whether so many rows can be joined and sorted in memory.
  [[nodiscard]] bool has_room_for(std::uint64_t rows_bytes, std::uint64_t num_rows) const noexcept;
  /// Returns how many bytes there are room for of rows such as these, of which there is one at least.
  [[nodiscard]] std::uint64_t run_bytes(std::uint64_t rows_bytes, std::uint64_t num_rows) const noexcept;
};

class run_merge {
 public:
  /// All that is given outlives the merge.
  run_merge(const stream_sort_parts& parts, table_spill& spill, std::vector<spilled_run> runs);

  /// Puts the next rows in order, about `target_bytes` of them, into `rows`; false where there are none.
  [[nodiscard]] bool next(std::uint64_t target_bytes, arrow_rows& rows);

 private:
  struct block_name {
    std::uint32_t run = 0;
    std::uint32_t block = 0;
  };
  void find_sequence();
  /// Reads more blocks, and sorts them with what is left. Returns false where there are no rows any more.
  bool refill();
  [[nodiscard]] std::vector<std::uint64_t> count_by_run(const std::vector<std::uint64_t>& rows) const;

  const stream_sort_parts& parts_;
  table_spill& spill_;
  std::vector<spilled_run> runs_;
  std::vector<block_name> sequence_;  ///< in which blocks are read
  std::uint64_t num_read_ = 0;        ///< of the sequence
  ordered_rows pool_;
  std::vector<std::uint64_t> run_ends_;  ///< in the pool, whose rows stand run by run
};

/// Writes sorted rows as a run.
class run_writer {
 public:
  run_writer(const row_order& order, table_spill& spill) : order_(order), spill_(spill) {}
  /// The next rows, as ordered_rows::take() gives them.
  void add(const arrow_rows& rows);
  [[nodiscard]] spilled_run finish();

 private:
  const row_order& order_;
  table_spill& spill_;
  spilled_run run_;
  std::vector<arrow_rows> heads_;  ///< of the blocks so far
};

}  // namespace spansort::table
