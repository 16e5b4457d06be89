// SPDX-License-Identifier: Apache-2.0
// A part of a file that several processes write together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "files/io/file_descriptor.hpp"
#include "files/io/output_target.hpp"

namespace spansort::files {

/// A file that exists at `path` and is to become `target`, of `size_bytes` bytes, when all its parts are written.
struct shared_file {
  std::string path;
  const output_target& target;
  std::uint64_t size_bytes = 0;
  bool is_synced = true;  ///< else the system writes it to the disk when it sees fit
};

/// Writes bytes one after the other from `offset` on.
class file_part {
 public:
  /// Throws io_error naming the target, as the others do.
  file_part(shared_file whole, std::uint64_t offset);

  /// Has the disk begin with what is written while more comes, and drops that from the page cache: for parts that would
  /// fill it.
  void drop_written_pages() noexcept { drops_pages_ = true; }
  void write(std::span<const std::byte> bytes);
  /// Syncs the part, if the file is to be, and closes it.
  void finish();

 private:
  [[noreturn]] void fail(const char* action, int code) const;
  void drop_pages_behind();

  shared_file whole_;
  file_descriptor file_;
  std::uint64_t end_bytes_;      ///< of what has been written, in the file
  std::uint64_t dropped_bytes_;  ///< up to where pages have been dropped
  std::uint64_t started_bytes_;  ///< up to where the disk has been told of pages
  bool drops_pages_ = false;
};

}  // namespace spansort::files
