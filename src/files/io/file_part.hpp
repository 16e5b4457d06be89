// SPDX-License-Identifier: Apache-2.0
// A part of a file that several processes write together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
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

  /// The part is of `part_bytes` bytes, which would fill the page cache: they go to the disk without it, through
  /// `buffer_bytes` bytes of memory where they do not lie as the disk wants them. Where the file system cannot do that,
  /// the disk begins with what is written while more comes, and that is dropped from the page cache. Throws
  /// out_of_memory.
  void pass_by_page_cache(std::uint64_t part_bytes, std::uint64_t buffer_bytes);
  void write(std::span<const std::byte> bytes);
  /// Syncs the part, if the file is to be, and closes it.
  void finish();

 private:
  struct releaser {
    void operator()(std::byte* p) const noexcept { std::free(p); }
  };

  [[noreturn]] void fail(const char* action, int code) const;
  void write_by_page_cache(std::uint64_t offset, std::span<const std::byte> bytes);
  void write_directly(std::uint64_t offset, std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t hold(std::span<const std::byte> bytes, std::size_t most);
  void write_held_pages();
  void drop_pages_behind();

  shared_file whole_;
  file_descriptor file_;
  file_descriptor direct_;       ///< the same file, without the page cache
  std::uint64_t end_bytes_;      ///< of what has been written or is held, in the file
  std::uint64_t dropped_bytes_;  ///< up to where pages have been dropped
  std::uint64_t started_bytes_;  ///< up to where the disk has been told of pages
  bool drops_pages_ = false;
  std::unique_ptr<std::byte, releaser> held_;  ///< from the begin of a page of the file on, up to the end
  std::uint64_t held_at_ = 0;                  ///< in the file
  std::size_t num_held_ = 0;
  std::size_t most_held_ = 0;
};

}  // namespace spansort::files
