// SPDX-License-Identifier: Apache-2.0
#include "files/io/write_behind.hpp"

#include <fcntl.h>

#include <cerrno>

namespace spansort::files {
namespace {

constexpr std::uint64_t window_bytes = std::uint64_t{8} << 20;
/// The windows between what the disk has been told of and what is waited for.
constexpr std::uint64_t lag_windows = 4;

int sync_window(int fd, std::uint64_t window, unsigned flags) noexcept {
  const int status =
      ::sync_file_range(fd, static_cast<off_t>(window * window_bytes), static_cast<off_t>(window_bytes), flags);
  return status == 0 ? 0 : errno;
}

/// fsync() tells of failures to come, too: here only those end the work that will not go away.
int start_window(int fd, std::uint64_t window) noexcept {
  const int code = sync_window(fd, window, SYNC_FILE_RANGE_WRITE);
  return code == EIO || code == ENOSPC || code == EDQUOT ? code : 0;
}

int finish_window(int fd, std::uint64_t window) noexcept {
  const int code =
      sync_window(fd, window, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  // One window more before it: the kernel keeps large pages that a range cuts.
  const std::uint64_t first = window == 0 ? 0 : window - 1;
  ::posix_fadvise(fd, static_cast<off_t>(first * window_bytes), static_cast<off_t>((window + 1 - first) * window_bytes),
                  POSIX_FADV_DONTNEED);
  // File systems without this call write when they see fit.
  const bool is_unsupported = code == ENOSYS || code == EINVAL || code == ESPIPE || code == EOPNOTSUPP;
  return is_unsupported ? 0 : code;
}

}  // namespace

int write_behind::advance(int fd, std::uint64_t end_bytes) noexcept {
  if (!is_hurried_ && !drops_pages_) return 0;
  for (; (num_started_ + 1) * window_bytes <= end_bytes; ++num_started_) {
    if (const int code = start_window(fd, num_started_); code != 0) return code;
    if (!drops_pages_ || num_started_ < lag_windows) continue;
    if (const int code = finish_window(fd, num_started_ - lag_windows); code != 0) return code;
  }
  return 0;
}

}  // namespace spansort::files
