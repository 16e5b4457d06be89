// SPDX-License-Identifier: Apache-2.0
// An input opened for reading once, from begin to end: a regular file of known size, or a stream that ends when it
// ends.
#pragma once

#include <sys/stat.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "files/io/file_descriptor.hpp"

namespace spansort::files {

/// Called between pieces of a long read or write with bytes done and bytes in all (0: not known). May throw to stop it.
using transfer_progress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

class input_file {
 public:
  /// Opens `path`; "-" is standard input. Throws io_error when it cannot be opened, bad_input for a directory or a
  /// device that never ends.
  explicit input_file(const std::string& path);

  /// Name for messages.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Bytes of a regular file from the current offset on; nothing for streams.
  [[nodiscard]] std::optional<std::uint64_t> size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] bool is_regular() const noexcept { return S_ISREG(status_.st_mode); }

  /// Drops what has been read from the page cache: for files that would fill it. No matter for streams.
  void drop_read_pages() noexcept { drops_pages_ = true; }

  /// Reads until `into` is full or the input ends; returns the bytes read. Throws io_error.
  std::size_t read(std::span<std::byte> into, const transfer_progress& progress = {});

  /// Throws bad_input unless a regular file has been read whole and is as it was when it was opened.
  void require_unchanged();
  /// Goes on at `offset` of a regular file. Throws io_error.
  void seek(std::uint64_t offset);
  /// Throws bad_input unless a regular file is as it was when it was opened, whatever has been read of it.
  void require_same_status() const;

 private:
  void classify();
  std::size_t read_parallel(std::span<std::byte> into, const transfer_progress& progress);
  void drop_pages_behind() noexcept;
  [[noreturn]] void throw_changed(const struct stat& now) const;

  std::string name_;
  file_descriptor owned_;
  int fd_ = -1;
  struct stat status_ {};
  std::optional<std::uint64_t> size_bytes_;
  std::uint64_t bytes_read_ = 0;
  bool drops_pages_ = false;
};

/// Returns the name of an input for messages: that of standard input, too, for what comes from there and lies in a file
/// without a name.
[[nodiscard]] std::string name_of_input(const std::string& path);

/// Returns whether two paths name one existing file.
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);

}  // namespace spansort::files
