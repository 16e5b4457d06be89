// SPDX-License-Identifier: Apache-2.0
// Rows in temporary files: blocks of some hundred thousand bytes each, and sorted runs of such blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "files/external/spill_store.hpp"
#include "table/arrow_rows.hpp"

namespace spansort::table {

struct spilled_block {
  std::uint64_t first_block = 0;  ///< of the store
  std::uint64_t size_bytes = 0;
  std::uint64_t num_rows = 0;
};

class table_spill {
 public:
  /// Opens temporary files in `folders`; `block_bytes` of a block are about right. Throws io_error.
  table_spill(const std::vector<std::string>& folders, std::uint64_t block_bytes);

  /// The rows are a copy that take_rows() made, with views of their own. Throws io_error.
  [[nodiscard]] spilled_block write(const arrow_rows& rows);
  /// Reads a block, once: its space is given back where it is 1 MiB or more and the file system can; a smaller block
  /// keeps it until the files are closed. Its dictionaries are for the caller to set. Throws io_error, and
  /// internal_error for a block that is damaged.
  [[nodiscard]] arrow_rows read(const spilled_block& block, const std::shared_ptr<const ArrowSchema>& schema);

  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return store_.bytes_written(); }

 private:
  external::spill_store store_;
};

/// Blocks of rows in order, and the keys of each block's first row, which tell when a merge has to read it.
struct spilled_run {
  std::vector<spilled_block> blocks;
  arrow_rows heads;  ///< the columns to order by alone
};

}  // namespace spansort::table
