// SPDX-License-Identifier: Apache-2.0
// Sorted runs of rows in temporary files, merged without a comparison of rows.
//
// The keys of all blocks' first rows are in memory and sorted, which gives the order in which blocks are read. Blocks
// are read while there is room, joined with the rows that are left, and sorted in memory. The first row of the block
// that was read last, and what comes before it, is before all rows that are not read yet: it is handed out. What is
// left is part of one block a run, and nothing of blocks of one row, so that two long rows are never joined. Rows of
// earlier runs stand first where the rows are joined, so that equal rows keep their order.
//
// While the rows of one pool are handed out, the next ones are read and sorted in the other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "files/external/io_pool.hpp"
#include "table/external/background_work.hpp"
#include "table/external/ordered_rows.hpp"
#include "table/external/row_pool.hpp"
#include "table/external/row_room.hpp"
#include "table/external/table_spill.hpp"

namespace spansort::table {

class run_merge {
 public:
  /// All that is given outlives the merge.
  run_merge(const stream_sort_parts& parts, table_spill& spill, std::vector<spilled_run> runs);

  /// Puts the next rows in order, about `target_bytes` of them, into `rows`; false where there are none. Calls `ask`,
  /// which may throw, while it waits.
  [[nodiscard]] bool next(std::uint64_t target_bytes, arrow_rows& rows, const std::function<void()>& ask = {});

 private:
  struct block_name {
    std::uint32_t run = 0;
    std::uint32_t block = 0;
  };
  /// The rows of a run in a pool: those that were left, and then those of blocks.
  struct part_of_run {
    std::vector<std::uint64_t> rest;  ///< rows of the other pool
    std::uint64_t first_block = 0;
    std::uint64_t end_block = 0;
  };
  /// Blocks of a run that are read at once, or its rows that were left.
  struct piece {
    std::uint32_t run = 0;
    std::uint64_t first_block = 0;
    std::uint64_t end_block = 0;
    bool is_rest = false;
  };
  void find_sequence();
  /// Reads the next rows and sorts them: in the background, while those of `current_` are handed out.
  void prepare();
  [[nodiscard]] std::vector<part_of_run> choose();
  [[nodiscard]] std::span<const spilled_block> blocks_of(const piece& p) const;
  [[nodiscard]] std::vector<piece> pieces_of(const std::vector<part_of_run>& chosen) const;
  /// Several threads read, and append what they have read in the order of the runs.
  void load(const std::vector<part_of_run>& chosen, row_pool& pool);

  const stream_sort_parts& parts_;
  table_spill& spill_;
  std::vector<spilled_run> runs_;
  std::vector<block_name> sequence_;        ///< in which blocks are read
  std::uint64_t num_read_ = 0;              ///< of the sequence
  std::vector<std::uint64_t> next_blocks_;  ///< by run
  row_pool pools_[2];
  std::size_t current_pool_ = 0;
  bool is_last_ = false;  ///< nothing comes behind the current rows
  ordered_rows current_;
  std::vector<std::uint64_t> run_ends_;  ///< in the current pool, whose rows stand run by run
  ordered_rows prepared_;
  std::vector<std::uint64_t> prepared_run_ends_;
  external::io_pool readers_;
  background_work work_;
};

}  // namespace spansort::table
