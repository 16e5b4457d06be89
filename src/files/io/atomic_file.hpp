// SPDX-License-Identifier: Apache-2.0
// An output that appears whole or not at all: written to a file without a name in the target's directory, synced, given
// a name and at once renamed over the target, the directory synced. A process killed at any time leaves the old file
// and nothing else, but for the moment between two system calls in which the new file already has a name of its own.
// File systems without nameless files (O_TMPFILE) get a named one with random name and mode 0600 instead; it is removed
// on failure. `on_temporary` tells these names to callers who want to remove them on signals.
// Streams are written directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "files/io/file_descriptor.hpp"
#include "files/io/input.hpp"
#include "files/io/output_target.hpp"
#include "files/io/write_behind.hpp"

namespace spansort::files {

/// Called with the path of a temporary file before it gets this name, and with "" when it is gone. Must not throw.
using temporary_callback = std::function<void(const std::string& path)>;

class atomic_file {
 public:
  /// Whether the file has a name from the start, under which other processes can open it and write parts of it.
  enum class naming : std::uint8_t { at_the_end, from_the_start };

  /// Opens the target for `size_bytes` bytes, 0 where nobody knows. Throws io_error.
  atomic_file(output_target target, std::uint64_t size_bytes, temporary_callback on_temporary = {},
              naming when = naming::at_the_end);
  /// Removes what was written unless commit() succeeded.
  ~atomic_file();
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;

  /// Throws io_error naming the path, the bytes needed and what to do.
  void write(std::span<const std::byte> bytes, const transfer_progress& progress = {});
  /// Takes pages for some of the bytes to come where the file lives in memory (tmpfs), for there they are a third of
  /// the time of a write or more: 1 GiB by one thread of an AMD Zen 5 took 0.37 to 0.53 s, and 0.27 after 0.13 to 0.15
  /// for the pages. Files on disks gained nothing. Returns whether there is more to take; what the system refuses,
  /// write() will tell.
  bool take_room() noexcept;
  /// Writes once more what has been written already, from `offset` on. Throws as write(), and invalid_argument for a
  /// stream.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Has what is written from now on dropped from the page cache: for files that would fill it.
  void drop_written_pages() noexcept { behind_.drop_pages(); }
  /// Leaves it to the system when the file goes to the disk: commit() does not wait for it, and makes the file appear
  /// whole or not at all unless the machine fails.
  void leave_unsynced() noexcept {
    is_synced_ = false;
    behind_.leave_to_system();
  }
  /// Path of the file while it is not the target yet; "" where it has none.
  [[nodiscard]] std::string temporary_path() const;
  /// Makes the file appear. Throws io_error; the old file is then intact, unless the error says that only the folder
  /// could not be flushed.
  void commit();
  /// Makes two files appear, `first` before `second`, once both are whole, on their disks and have a name. No file
  /// system renames two files at once: whoever is killed between the two calls leaves the first one new and the second
  /// one old. Throws io_error; both old files are then intact unless the error says otherwise.
  static void commit_together(atomic_file& first, atomic_file& second);

 private:
  void flush();
  void give_name();
  void take_place();
  void sync_directory();
  void open_stream();
  bool open_nameless();
  void open_named();
  void start_writeback();
  void keep_access();
  void announce(const std::string& path) const;
  void remove_temporary() noexcept;
  [[noreturn]] void fail(const char* action, int code) const;

  output_target target_;
  std::uint64_t size_bytes_;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t bytes_taken_ = 0;  ///< pages there are for the file, from its begin on
  temporary_callback on_temporary_;
  file_descriptor directory_;
  file_descriptor file_;
  write_behind behind_;
  bool is_synced_ = true;
  std::string temporary_name_;  ///< in the directory; empty while the file has no name
};

}  // namespace spansort::files
