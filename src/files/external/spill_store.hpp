// SPDX-License-Identifier: Apache-2.0
// Blocks in temporary files, one file a folder, that no other process sees and that are gone when this one ends,
// however it ends. Consecutive batches of blocks lie in the folders in turn. Each block has a checksum, kept in memory,
// so that what comes back is what was written or an error.
// Large batches go past the page cache where the file system allows it: pages that are read once would only push others
// out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/io/file_descriptor.hpp"

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

  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_written_.load(); }
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_.load(); }

 private:
  struct place {
    std::size_t file = 0;
    std::uint64_t offset = 0;
  };
  [[nodiscard]] place place_of(std::uint64_t block) const noexcept;
  [[noreturn]] void fail(const char* action, std::size_t file, int code) const;

  block_sizes sizes_;
  std::uint64_t expected_bytes_;
  std::vector<std::string> folders_;
  std::vector<files::file_descriptor> files_;
  std::vector<std::uint64_t> checksums_;
  std::atomic<std::uint64_t> bytes_written_{0};
  std::atomic<std::uint64_t> bytes_read_{0};
};

/// Opens a temporary file in `folder` for reading and writing, which has no name, or none any more, and is gone with
/// the process. Throws io_error.
[[nodiscard]] files::file_descriptor open_temporary_file(const std::string& folder);

/// Returns where temporary files go when nobody says: $TMPDIR, else /tmp.
[[nodiscard]] std::vector<std::string> default_temporary_folders();

/// Throws io_error unless each folder can be written and has room for its share of `spilled_bytes`, and the one that
/// shares a file system with `output_folder` ("" for none) for `output_bytes` besides. Unknown sizes of file systems
/// pass.
void require_spill_space(const std::vector<std::string>& folders, std::uint64_t spilled_bytes,
                         const std::string& output_folder, std::uint64_t output_bytes);

}  // namespace spansort::external
