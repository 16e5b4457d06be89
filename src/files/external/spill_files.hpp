// SPDX-License-Identifier: Apache-2.0
// Temporary files, one a folder, that no other process sees and that are gone when this one ends, however it ends.
// Large transfers go past the page cache where the file system allows it: pages that are read once would only push
// others out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/io/file_descriptor.hpp"

namespace spansort::external {

struct spill_place {
  std::size_t file = 0;
  std::uint64_t offset = 0;
};

/// Fewer bytes are not worth the file system's work of giving them back.
inline constexpr std::uint64_t least_discarded_bytes = std::uint64_t{1} << 20;

[[nodiscard]] std::uint64_t spill_checksum(std::span<const std::byte> bytes) noexcept;

class spill_files {
 public:
  /// Opens a file in each of `folders`. Transfers have `transfer_bytes` mostly; `expected_bytes` is for messages.
  /// Throws io_error.
  spill_files(std::vector<std::string> folders, std::uint64_t transfer_bytes, std::uint64_t expected_bytes);

  [[nodiscard]] std::size_t num_files() const noexcept { return files_.size(); }

  /// Writes bytes that are aligned to direct_alignment_bytes, as are their number and place. Any number of threads.
  /// Throws io_error naming the folder and what to do.
  void write(const spill_place& at, std::span<const std::byte> bytes);
  /// Reads likewise. Returns how many bytes there were: a file may have lost its end. Throws io_error.
  [[nodiscard]] std::uint64_t read(const spill_place& at, std::span<std::byte> bytes);
  /// Throws internal_error for a block that does not read as it was written.
  [[noreturn]] void refuse_corrupt(std::uint64_t block, std::size_t file) const;
  /// Takes space for what will be written, where the file system can: writes that do not lengthen a file need not wait
  /// for one another, nor for the file system's journal.
  void allocate(const spill_place& at, std::uint64_t num_bytes) noexcept;
  /// Gives space back where the file system can; it is not read again.
  void discard(const spill_place& at, std::uint64_t num_bytes) noexcept;

  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_written_.load(); }
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_.load(); }

 private:
  [[noreturn]] void fail(const char* action, std::size_t file, int code) const;

  std::uint64_t expected_bytes_;
  std::vector<std::string> folders_;
  std::vector<files::file_descriptor> files_;
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
