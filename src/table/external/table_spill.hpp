// SPDX-License-Identifier: Apache-2.0
// Rows in temporary files: blocks of some hundred thousand bytes each, and sorted runs of such blocks. The blocks of a
// run lie one behind the other and are written and read several at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/external/io_pool.hpp"
#include "files/external/spill_files.hpp"
#include "table/arrow_rows.hpp"
#include "table/external/background_work.hpp"

namespace spansort::table {

struct spilled_block {
  std::uint64_t offset = 0;  ///< in its file
  std::uint64_t checksum = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t num_rows = 0;
  std::uint32_t file = 0;
};

class table_spill {
 public:
  /// Opens temporary files in `folders`. About `transfer_bytes` are written at a time. Throws io_error.
  table_spill(const std::vector<std::string>& folders, std::uint64_t transfer_bytes);

  /// Appends rows, which are a copy that take_rows() made, with views of their own. They may be read when flush() has
  /// returned. Throws io_error, also for what was appended before. One thread appends at a time.
  [[nodiscard]] spilled_block write(const arrow_rows& rows);
  void flush();

  /// Returns how many of the blocks, one at least, are read at once: neighbours of `transfer_bytes` at most.
  [[nodiscard]] std::uint64_t num_readable(std::span<const spilled_block> blocks) const noexcept;
  /// Reads blocks that are read at once and calls use() with the rows of each, which are gone afterwards. Dictionaries
  /// are for the caller to set. `buffer` is used where it is large enough. Any number of threads. Throws io_error, and
  /// internal_error for a block that is damaged.
  void read(std::span<const spilled_block> blocks, const std::shared_ptr<const ArrowSchema>& schema,
            std::span<std::byte> buffer, const std::function<void(std::span<arrow_rows>)>& use);
  /// Gives the space of neighbours that will not be read again back, where they take 1 MiB or more together and the
  /// file system can. Other blocks keep it until the files are closed.
  void discard(std::span<const spilled_block> blocks) noexcept;

  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return files_.bytes_written(); }
  [[nodiscard]] std::uint64_t transfer_bytes() const noexcept { return transfer_bytes_; }

 private:
  /// Blocks that are written together.
  struct transfer {
    external::aligned_bytes bytes;
    std::uint64_t num_bytes = 0;
    external::spill_place place = {};
  };
  void make_room(std::uint64_t num_bytes);
  void send();

  std::uint64_t transfer_bytes_;
  external::spill_files files_;
  std::vector<std::uint64_t> ends_;       ///< of what is written, by file
  std::vector<std::uint64_t> allocated_;  ///< by file
  std::size_t next_file_ = 0;
  transfer filled_;
  transfer sent_;
  background_work writer_;  ///< of what was sent
};

/// Blocks of rows in order, and the keys of each block's first row, which tell when a merge has to read it.
struct spilled_run {
  std::vector<spilled_block> blocks;
  arrow_rows heads;  ///< the columns to order by alone
};

}  // namespace spansort::table
