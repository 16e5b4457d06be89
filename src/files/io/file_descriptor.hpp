// SPDX-License-Identifier: Apache-2.0
// An owned file descriptor, and the read and write loops that survive short counts and interrupting signals.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace spansort::files {

class file_descriptor {
 public:
  file_descriptor() = default;
  explicit file_descriptor(int fd) noexcept : fd_(fd) {}
  ~file_descriptor() { reset(); }
  file_descriptor(file_descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  file_descriptor& operator=(file_descriptor&& other) noexcept;

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  /// Closes and returns the errno of close(), 0 when it succeeded. The descriptor is gone either way.
  int close() noexcept;
  void reset() noexcept { close(); }

 private:
  int fd_ = -1;
};

/// Result of a read or write loop: how far it came, and the errno that ended it (0: done, or end of file).
struct transfer_result {
  std::size_t num_bytes = 0;
  int error_code = 0;
};

/// open(), repeated while a signal interrupts it. Not open, with errno set, on failure.
[[nodiscard]] file_descriptor open_file(const char* path, int flags, unsigned mode = 0) noexcept;

/// Reads until `into` is full or the file ends.
[[nodiscard]] transfer_result read_fully(int fd, std::span<std::byte> into) noexcept;

/// Reads as read_fully() does, from `offset` on, wherever the descriptor stands.
[[nodiscard]] transfer_result read_fully_at(int fd, std::span<std::byte> into, std::uint64_t offset) noexcept;

/// Writes all of `from`.
[[nodiscard]] transfer_result write_fully(int fd, std::span<const std::byte> from) noexcept;

/// Writes all of `from` at `offset` of a file.
[[nodiscard]] transfer_result write_fully_at(int fd, std::uint64_t offset, std::span<const std::byte> from) noexcept;

/// Returns whether the content of a file is as it was, as far as its status tells. The time of modification can be set
/// back, that of the last change of the status cannot: who renames a file or changes its permissions while it is read
/// counts as having changed it. Who replaces or removes it does not, by which it loses a name, and that time tells no
/// more.
[[nodiscard]] bool is_unchanged(const struct stat& before, const struct stat& now) noexcept;

/// "No such file or directory".
[[nodiscard]] std::string error_text(int error_code);

}  // namespace spansort::files
