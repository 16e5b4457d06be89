// SPDX-License-Identifier: Apache-2.0
// Blocks in temporary files, one file a folder. Consecutive batches of blocks lie in the folders in turn. Each block
// has a checksum, kept in memory, so that what comes back is what was written or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/external/spill_files.hpp"

namespace spansort::external {

/// Sizes that a store is made with: multiples of direct_alignment_bytes, a batch is whole blocks.
struct block_sizes {
  std::uint64_t block_bytes = 0;
  std::uint64_t batch_bytes = 0;
};

class spill_store {
 public:
  /// Opens a file in each of `folders`. `expected_bytes` is for messages. Throws io_error.
  spill_store(const std::vector<std::string>& folders, const block_sizes& sizes, std::uint64_t expected_bytes);

  [[nodiscard]] std::uint64_t block_bytes() const noexcept { return sizes_.block_bytes; }
  [[nodiscard]] std::uint64_t blocks_of_a_batch() const noexcept { return sizes_.batch_bytes / sizes_.block_bytes; }

  /// Room for `num_blocks` more, at the begin of a batch; returns the first one's number. Not while others read or
  /// write.
  [[nodiscard]] std::uint64_t append(std::uint64_t num_blocks);
  /// Writes blocks of one batch; `bytes` is aligned to direct_alignment_bytes. Any number of threads, for different
  /// blocks. Throws io_error naming the folder and what to do.
  void write(std::uint64_t first_block, std::span<const std::byte> bytes);
  /// Reads blocks of one batch that have been written. Throws io_error, and internal_error for a block that is not as
  /// it was written.
  void read(std::uint64_t first_block, std::span<std::byte> bytes);
  /// Gives the space of blocks back where the file system can; they are not read again.
  void discard(std::uint64_t first_block, std::uint64_t num_blocks) noexcept;

  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return files_.bytes_written(); }
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return files_.bytes_read(); }

 private:
  [[nodiscard]] spill_place place_of(std::uint64_t block) const noexcept;
  void allocate(std::uint64_t first_block, std::uint64_t end_block) noexcept;

  block_sizes sizes_;
  spill_files files_;
  std::vector<std::uint64_t> checksums_;
};

}  // namespace spansort::external
